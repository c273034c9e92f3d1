/* SPDX-License-Identifier: MIT */
/**
 * stall_stack.h - ask another thread for its stack
 *
 * By a signal, whose handler notes where its thread is. One thread asks and waits,
 * but not for ever: an answer that comes later has a place until the thread that
 * gives it has ended, and nothing is asked again before.
 */
#ifndef SKUA_CORE_STALL_STALL_STACK_H
#define SKUA_CORE_STALL_STALL_STACK_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/base/atomic.h"

#define STALL_STACK_FRAMES 32u

/* Where the thread was. */
struct stall_answer {
	uint64_t at_ns;
	uint64_t words[2];
	unsigned count;
	void *frames[STALL_STACK_FRAMES];
};

struct stall_stack {
	/* Constant: of the thread, to be noted with the stack. */
	const uint64_t *words[2];
	/* How often it was asked, modulo 2^32. Writer: the watcher. Reader: the
	 * handler. */
	atomic_u32 asked;
	/* The last of those that was answered. Writer: the handler. Reader: the
	 * watcher, which sleeps on it. */
	atomic_u32 answered;
	/* The handler's from asked to answered, then the watcher's. */
	struct stall_answer answer;
};

/* stall_stack_pending - by who asks: was the last one not answered yet? */
static inline bool stall_stack_pending(const struct stall_stack *stack)
{
	/* Acquire: the answer. Pairs with stall_stack_answered(). Relaxed: its
	 * own. */
	return atomic_load_acquire(&stack->answered) !=
	       atomic_load_relaxed(&stack->asked);
}

/* stall_stack_asks - by the watcher, before the signal; returns the number */
static inline uint32_t stall_stack_asks(struct stall_stack *stack)
{
	/* Relaxed: its own. */
	uint32_t number = atomic_load_relaxed(&stack->asked) + 1;

	/* Release: what was read of the last answer. Pairs with
	 * stall_stack_asked(). */
	atomic_store_release(&stack->asked, number);
	return number;
}

/* stall_stack_asked - by the handler: is there something to answer? */
static inline bool stall_stack_asked(const struct stall_stack *stack,
				     uint32_t *number)
{
	/* Acquire: as in stall_stack_asks(). Relaxed: the thread's own. */
	*number = atomic_load_acquire(&stack->asked);
	return *number != atomic_load_relaxed(&stack->answered);
}

/* stall_stack_answered - by the handler, when it has noted all */
static inline void stall_stack_answered(struct stall_stack *stack,
					uint32_t number)
{
	/* Release: the answer. Pairs with stall_stack_pending(). */
	atomic_store_release(&stack->answered, number);
}

/**
 * stall_stack_prepare - choose the signal, and have it handled
 * @wanted: a signal; 0: the highest real-time one that nobody handles
 *
 * The handler stays, for as long as the process.
 * Return: the signal; 0: it, or all, are handled by somebody else.
 */
int stall_stack_prepare(int wanted);

/* stall_stack_usable - is it (still) handled here? */
bool stall_stack_usable(int signal);

/* stall_stack_enter - let the calling thread answer, from now on */
void stall_stack_enter(struct stall_stack *stack, int signal);

/**
 * stall_stack_ask - have @stack->answer filled in by its thread
 * @tid: the thread, which has not ended
 * @patience_ns: how long to wait for that
 *
 * Return: whether it was; not if somebody else handles the signal now.
 */
bool stall_stack_ask(struct stall_stack *stack, pid_t tid, int signal,
		     uint64_t patience_ns);

#endif
