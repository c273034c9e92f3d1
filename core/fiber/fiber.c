/* SPDX-License-Identifier: MIT */
/* fiber.c - see fiber.h */
#include "core/fiber/fiber.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/boundary.h"
#include "core/base/clock.h"
#include "core/base/hot.h"
#include "core/fiber/fiber_cancel.h"
#include "core/fiber/fiber_stacks.h"
#include "core/fiber/switch.h"
#include "core/fiber/watched.h"
#include "core/loop/current.h"
#include "core/loop/timers.h"
#include "core/os/address.h"
#include "core/os/exceptions.h"

_Static_assert(offsetof(struct skua_fiber, task) == 0, "a fiber is its task");

/* A fiber for which there is no stack tries again after this time. A guess: nothing tells
 * when the kernel has memory again. */
#define RETRY_NS (NS_PER_S / 1000)

_Thread_local struct skua_fiber *fiber_here
	__attribute__((tls_model("initial-exec")));

/* ---- on the stack of the fiber ------------------------------------------- */

/* The fiber that runs does so on its own stack, unless a longjmp() has left its function,
 * or has gone to a function of another fiber. @self: NULL: none runs. */
static void check_stack(const struct skua_fiber *self)
{
#ifndef NDEBUG
	const struct stack *stack = self ? self->stack : NULL;
	const char *here = __builtin_frame_address(0);
	char function[ADDRESS_TEXT];

	if (!self ||
	    (stack && here >= stack->low && here < (const char *)stack))
		return;
	address_print(function, self->shown);
	fprintf(stderr,
		"skua: longjmp() leaves the function of a fiber of type %s, %s: "
		"it has to return\n",
		self->task.type ? self->task.type->name : "(none)", function);
	abort();
#else
	(void)self;
#endif
}

void fiber_check_stack(void)
{
	check_stack(fiber_current());
}

static inline __attribute__((always_inline)) int
switch_away(struct skua_fiber *self, enum skua_poll result)
{
	fiber_here = self->outer;
#if WATCHED_SWITCHES
	watched_leave(self->stack, result == SKUA_DONE);
	fiber_switch(&self->context, self->caller, (int)result);
	watched_entered(self->stack);
	return 0;
#else
	struct worker *worker = current_worker;

	/* The next poll may rely on the control bits of the caller, if nothing else runs before
	 * it. See enter(). A poll within this one may have set others. */
	worker->arithmetic = fiber_context_arithmetic(self->caller);
	worker->arithmetic_poll = worker->area.counters.tasks_polled + 1;
	return fiber_switch(&self->context, self->caller, (int)result);
#endif
}

/* Leave the fiber in a program with C++. The exceptions that the thread handles are the
 * fiber's: there were none when the fiber was polled (loop_poll_within(), loop_drive()). */
static __attribute__((noinline)) int
leave_with_exceptions(struct skua_fiber *self, enum skua_poll result)
{
	struct exceptions kept;
	int value;

	if (!exceptions_any())
		return switch_away(self, result);
	kept = exceptions_set((struct exceptions){ NULL, 0 });
	value = switch_away(self, result);
	exceptions_set(kept);
	return value;
}

/* Leave the fiber. Always inlined, so that the switch is a tail call of a function that
 * reads no thread-local afterwards. */
static inline __attribute__((always_inline)) int leave(struct skua_fiber *self,
						       enum skua_poll result)
{
	check_stack(self);
	return exceptions_possible() ? leave_with_exceptions(self, result)
				     : switch_away(self, result);
}

HOT void fiber_suspend(struct skua_fiber *self)
{
	leave(self, SKUA_PENDING);
}

void fiber_yield(struct skua_fiber *self)
{
	leave(self, SKUA_YIELD);
}

static inline bool may_suspend(const struct skua_fiber *self)
{
	const struct worker *worker = current_here();

	return worker && worker->area.task == (uintptr_t)&self->task &&
	       worker->forked_at != worker->area.counters.tasks_polled;
}

HOT bool fiber_may_suspend(const struct skua_fiber *self)
{
	return may_suspend(self);
}

int fiber_try_leave(enum skua_poll poll)
{
	struct skua_fiber *self = fiber_here;

	return self && may_suspend(self) ? leave(self, poll) : -EDEADLK;
}

/* ---- the end -------------------------------------------------------------- */

static struct timer *timer_of(struct skua_fiber *self)
{
	return (struct timer *)&self->timer;
}

/* On the stack of the worker: give the stack back. */
static int end(void *arg)
{
	struct skua_fiber *self = arg;

	timers_cancel(timer_of(self));
	fiber_cancel_leave(current_worker->pool, self->stack);
	watched_end(self->stack);
	if (!(self->flags & FIBER_ON_STACK)) {
		fiber_stacks_give(current_worker, self->stack);
		self->stack = NULL;
	}
	self->context = NULL;
	self->masks = 0;
	self->label = NULL;
	/* Its context of skua_task_ctx() ends with it: a fiber that polls it
	 * within its own poll has none. */
	current_worker->forked_at = 0;
	return SKUA_DONE;
}

/* Not inlined: its caller may have begun on another thread. */
static __attribute__((noinline)) void finish(struct skua_fiber *self)
{
#if WATCHED_SWITCHES
	check_stack(self);
	switch_away(self, SKUA_DONE);
	abort(); /* a fiber that is done is not polled */
#else
	check_stack(self);
	fiber_here = self->outer;
	fiber_switch_last(self->caller, end, self);
#endif
}

/* The first function on the stack of a fiber. */
static void fiber_main(void *arg)
{
	struct skua_fiber *self = arg;

	watched_entered(self->stack);
	self->fn(self);
	BOUNDARY(fiber);
	finish(self);
}

/* ---- on the stack of the worker ------------------------------------------ */

/* Take a stack for the first poll. Return: false: no memory. Not inlined, so that the other
 * polls save no registers for it. */
static __attribute__((noinline)) bool begin(struct skua_fiber *self)
{
	struct stack *stack = self->stack;
	void *top = self; /* on top of its stack, if that is there already */

	if (!stack) {
		top = stack = fiber_stacks_take(current_worker,
						self->flags & FIBER_ORDER);
		if (!stack)
			return false;
		timers_cancel(timer_of(self)); /* of retry_later() */
		self->stack = stack;
	}
	self->context = fiber_switch_prepare(top, fiber_main, self);
	/* Release: the fiber's state. Pairs with the acquire in stacks_visit(). */
	atomic_store_release(stack_fiber(stack), self);
	watched_begin(stack);
	return true;
}

static __attribute__((noinline)) enum skua_poll
retry_later(struct skua_fiber *self)
{
	fiber_stacks_missing(current_worker);
	timers_add_exact(current_worker, timer_of(self), &self->task,
			 clock_now_ns() + RETRY_NS);
	return SKUA_PENDING;
}

#if !WATCHED_SWITCHES
/* Switch to the fiber. The last switch out of a fiber has left the control bits of arithmetic
 * as they were before the switch into it. So they need no new read, unless anything else has
 * run since. A poll should keep the bits, as each function does. But a poll that loads a library
 * made for fast arithmetic leaves other bits behind, and a fiber still keeps its own. */
static inline __attribute__((always_inline)) enum skua_poll
enter(struct skua_fiber *self, struct worker *worker)
{
	if (worker->arithmetic_poll != worker->area.counters.tasks_polled)
		worker->arithmetic = arithmetic_here();
	return (enum skua_poll)fiber_switch_enter(&self->caller, self->context,
						  worker->arithmetic);
}
#endif

HOT enum skua_poll fiber_poll(struct skua_task *task)
{
	struct skua_fiber *self = (struct skua_fiber *)task;

	if (!self->context && !begin(self))
		return retry_later(self);
	check_stack(fiber_here);
	self->outer = fiber_here;
	fiber_here = self;
#if WATCHED_SWITCHES
	struct watched_caller caller;
	enum skua_poll result;

	watched_enter(self->stack, &caller);
	result = (enum skua_poll)fiber_switch(&self->caller, self->context, 0);
	watched_left(&caller);
	if (result == SKUA_DONE)
		end(self);
	return result;
#else
	return enter(self, current_worker);
#endif
}
