/* SPDX-License-Identifier: MIT */
/* fiber_calls.h - a fiber that calls a function */
#ifndef SKUA_TESTS_UNIT_FIBER_CALLS_H
#define SKUA_TESTS_UNIT_FIBER_CALLS_H

#include <fenv.h>
#include <setjmp.h>

#include "core/fiber/fiber.h"
#include "core/runtime/runtime.h"
#include "core/telemetry/track.h"
#include "skua/fiber.h"
#include "skua/fork.h"
#include "tests/unit/tasks.h"

/* Calls a function on its own stack. */
struct call {
	struct skua_fiber fiber; /* first: a fiber is its call */
	struct skua_runtime *rt;
	int (*act)(struct call *it);
	void *arg;
	unsigned count;
	int result;
};

static inline void call_act(struct skua_fiber *self)
{
	struct call *it = (struct call *)self;

	it->result = it->act(it);
}

static inline void call_init(struct call *it, int (*act)(struct call *it),
			     void *arg)
{
	it->act = act;
	it->arg = arg;
	assert_int_equal(skua_fiber_init(&it->fiber, call_act, 0), 0);
}

/* call_in_fiber - what @act returns in a fiber of @rt */
static inline int call_in_fiber(struct skua_runtime *rt,
				int (*act)(struct call *it), void *arg)
{
	struct call it = { .rt = rt };

	call_init(&it, act, arg);
	spawn(rt, &it.fiber.task);
	join(&it.fiber.task);
	return it.result;
}

static inline void do_nothing(struct skua_fiber *self)
{
	(void)self;
}

static inline int expect_self(struct call *it)
{
	assert_ptr_equal(skua_fiber_self(), &it->fiber);
	assert_ptr_equal(skua_task_self(), &it->fiber.task);
	assert_ptr_equal(skua_task_runtime(&it->fiber.task), it->rt);
	assert_int_equal((uintptr_t)__builtin_frame_address(0) % 16, 0);
	return 7;
}

static inline int yield_often(struct call *it)
{
	for (; it->count < 1000; it->count++) {
		assert_int_equal(skua_yield(), 0);
		assert_ptr_equal(skua_fiber_self(), &it->fiber);
	}
	return 0;
}

static inline int await_the_cancel(struct call *it)
{
	gate_open(it->arg);
	while (!skua_task_cancelled(&it->fiber.task))
		assert_int_equal(skua_await(), 0);
	return -ECANCELED;
}

static inline int join_child(struct call *it, struct skua_task *child)
{
	int code;

	spawn(it->rt, child);
	while ((code = skua_task_join_poll(&it->fiber.task, child)) == -EAGAIN)
		assert_int_equal(skua_await(), 0);
	assert_ptr_equal(skua_fiber_self(), &it->fiber);
	return code;
}

#endif
