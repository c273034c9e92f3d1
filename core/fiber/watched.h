/* SPDX-License-Identifier: MIT */
/**
 * watched.h - tell sanitizers and valgrind which stack a thread is on
 *
 * AddressSanitizer knows the bounds of the stack, and ThreadSanitizer what happened
 * before, per thread: both must be told of each switch. valgrind must know that a change
 * of the stack pointer is a switch. Without these tools all functions are empty, except
 * the two that valgrind needs, which are a few instructions for each new stack.
 */
#ifndef SKUA_CORE_FIBER_WATCHED_H
#define SKUA_CORE_FIBER_WATCHED_H

#include "core/fiber/arena.h"

#if defined(SKUA_EXPLORE)
/* A model test has the calls of ThreadSanitizer, but not ThreadSanitizer. */
#elif defined(__SANITIZE_ADDRESS__)
#define WATCHED_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WATCHED_ASAN 1
#endif
#endif
#if defined(SKUA_EXPLORE)
#elif defined(__SANITIZE_THREAD__)
#define WATCHED_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WATCHED_TSAN 1
#endif
#endif

#if defined(WATCHED_ASAN) || defined(WATCHED_TSAN)
#define WATCHED_SWITCHES 1
#else
#define WATCHED_SWITCHES 0
#endif

#ifdef WATCHED_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef WATCHED_TSAN
#include <sanitizer/tsan_interface.h>
#endif
#if defined(__has_include)
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif
#endif

/* Words of struct stack.watched. */
enum watched_word {
	WATCHED_VALGRIND, /* the number of the stack */
	WATCHED_FIBER,    /* TSan: of the fiber. ASan: its fake stack */
	WATCHED_CALLER, /* TSan: the caller's fiber. ASan: the low address of its
			    * stack */
	WATCHED_CALLER_BYTES, /* ASan: of the caller's stack */
};

/* watched_register, watched_deregister - a stack begins and ceases to be one */
static inline void watched_register(struct stack *stack)
{
#ifdef VALGRIND_STACK_REGISTER
	stack->watched[WATCHED_VALGRIND] =
		VALGRIND_STACK_REGISTER(stack->low, stack);
#else
	(void)stack;
#endif
}

static inline void watched_deregister(struct stack *stack)
{
#ifdef VALGRIND_STACK_DEREGISTER
	VALGRIND_STACK_DEREGISTER(stack->watched[WATCHED_VALGRIND]);
#else
	(void)stack;
#endif
}

/* watched_begin, watched_end - a fiber begins to use a stack, and has ended */
static inline void watched_begin(struct stack *stack)
{
#ifdef WATCHED_TSAN
	stack->watched[WATCHED_FIBER] = (uintptr_t)__tsan_create_fiber(0);
#elif defined(WATCHED_ASAN)
	stack->watched[WATCHED_FIBER] = 0;
#else
	(void)stack;
#endif
}

static inline void watched_end(struct stack *stack)
{
#ifdef WATCHED_TSAN
	__tsan_destroy_fiber((void *)stack->watched[WATCHED_FIBER]);
#elif defined(WATCHED_ASAN)
	/* The frames below fiber_main() have not returned. */
	__asan_unpoison_memory_region(stack->low, stack_bytes(stack));
#else
	(void)stack;
#endif
}

/* A word that the caller of a fiber keeps while the fiber runs: on the caller's stack. */
struct watched_caller {
	void *fake;
};

/* watched_enter - just before the switch to the fiber */
static inline void watched_enter(struct stack *stack,
				 struct watched_caller *caller)
{
#ifdef WATCHED_TSAN
	stack->watched[WATCHED_CALLER] = (uintptr_t)__tsan_get_current_fiber();
	__tsan_switch_to_fiber((void *)stack->watched[WATCHED_FIBER], 0);
#elif defined(WATCHED_ASAN)
	__sanitizer_start_switch_fiber(&caller->fake, stack->low,
				       stack_bytes(stack));
#endif
	(void)stack, (void)caller;
}

/* watched_entered - on the stack of the fiber, just after the switch to it */
static inline void watched_entered(struct stack *stack)
{
#ifdef WATCHED_ASAN
	const void *low;
	size_t bytes;

	__sanitizer_finish_switch_fiber((void *)stack->watched[WATCHED_FIBER],
					&low, &bytes);
	stack->watched[WATCHED_CALLER] = (uintptr_t)low;
	stack->watched[WATCHED_CALLER_BYTES] = bytes;
#else
	(void)stack;
#endif
}

/* watched_leave - on the stack of the fiber, just before the switch away; @for_good: the
 * fiber does not come back */
static inline void watched_leave(struct stack *stack, bool for_good)
{
#ifdef WATCHED_TSAN
	__tsan_switch_to_fiber((void *)stack->watched[WATCHED_CALLER], 0);
#elif defined(WATCHED_ASAN)
	void **fake = (void **)&stack->watched[WATCHED_FIBER];

	__sanitizer_start_switch_fiber(
		for_good ? NULL : fake,
		(const void *)stack->watched[WATCHED_CALLER],
		stack->watched[WATCHED_CALLER_BYTES]);
#endif
	(void)stack, (void)for_good;
}

/* watched_left - on the stack of the caller, just after the switch back to it */
static inline void watched_left(struct watched_caller *caller)
{
#ifdef WATCHED_ASAN
	__sanitizer_finish_switch_fiber(caller->fake, NULL, NULL);
#endif
	(void)caller;
}

#endif
