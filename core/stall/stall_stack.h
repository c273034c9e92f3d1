/* SPDX-License-Identifier: MIT */
/**
 * stall_stack.h - ask another thread for its stack
 *
 * A signal is sent to the thread, and its handler records the stack. The watcher asks and
 * waits, but not for ever. A late answer may still be written to the struct until the
 * thread has ended, so the watcher does not ask again before it has come.
 */
#ifndef SKUA_CORE_STALL_STALL_STACK_H
#define SKUA_CORE_STALL_STALL_STACK_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/base/atomic.h"

#define STALL_STACK_FRAMES 32u

/* The answer: where the thread was. */
struct stall_answer {
	uint64_t at_ns;
	uint64_t words[2];
	unsigned count;
	void *frames[STALL_STACK_FRAMES];
};

struct stall_stack {
	/* Constant: two words of the thread that are recorded with the stack. */
	const uint64_t *words[2];
	/* The number of requests, modulo 2^32. Writer: the watcher. Reader: the
	 * handler. */
	atomic_u32 asked;
	/* The number of the last request that was answered; also a futex. Writers: the
	 * handler; the watcher, if it could not send the signal. Reader: the watcher,
	 * which sleeps on it. */
	atomic_u32 answered;
	/* Owned by the handler from the request to the answer, otherwise by the
	 * watcher. */
	struct stall_answer answer;
};

/* stall_stack_pending - tell the watcher whether its last request is unanswered */
static inline bool stall_stack_pending(const struct stall_stack *stack)
{
	/* Acquire: the answer. Pairs with the release in stall_stack_answered().
	 * Relaxed: only the watcher writes it. */
	return atomic_load_acquire(&stack->answered) !=
	       atomic_load_relaxed(&stack->asked);
}

/* stall_stack_asks - record a request, before the signal; return its number */
static inline uint32_t stall_stack_asks(struct stall_stack *stack)
{
	/* Relaxed: only the watcher writes it. */
	uint32_t number = atomic_load_relaxed(&stack->asked) + 1;

	/* Release: the watcher's reads of the last answer come first. Pairs with the
	 * acquire in stall_stack_asked(). */
	atomic_store_release(&stack->asked, number);
	return number;
}

/* stall_stack_asked - tell the handler whether a request is pending, and its @number */
static inline bool stall_stack_asked(const struct stall_stack *stack,
				     uint32_t *number)
{
	/* Acquire: pairs with the release in stall_stack_asks(). Relaxed:
	 * that acquire covers a store by the watcher, too; all other stores are this
	 * thread's own. */
	*number = atomic_load_acquire(&stack->asked);
	return *number != atomic_load_relaxed(&stack->answered);
}

/* stall_stack_answered - publish the handler's answer to request @number */
static inline void stall_stack_answered(struct stall_stack *stack,
					uint32_t number)
{
	/* Release: the answer. Pairs with the acquire in stall_stack_pending(). */
	atomic_store_release(&stack->answered, number);
}

/**
 * stall_stack_prepare - choose a signal and install its handler
 * @wanted: a signal; 0: the highest real-time signal without a handler
 *
 * The handler stays installed until the process ends.
 * Return: the signal; 0 if @wanted, or each real-time signal, has another handler.
 */
int stall_stack_prepare(int wanted);

/* stall_stack_usable - tell whether our handler is (still) installed for @signal */
bool stall_stack_usable(int signal);

/* stall_stack_enter - from now on, let the calling thread answer requests in @stack; if
 * @signal is not 0, unblock it */
void stall_stack_enter(struct stall_stack *stack, int signal);

/**
 * stall_stack_ask - ask a thread to fill in @stack->answer
 * @tid: the thread, which has not ended
 * @patience_ns: how long to wait for the answer
 *
 * Return: true if the answer came in time. False also if an earlier request is unanswered,
 * or if our handler of the signal was replaced.
 */
bool stall_stack_ask(struct stall_stack *stack, pid_t tid, int signal,
		     uint64_t patience_ns);

#endif
