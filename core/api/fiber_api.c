/* SPDX-License-Identifier: MIT */
/* fiber_api.c - the public functions on fibers */
#include <errno.h>

#include "core/fiber/fiber.h"
#include "core/fiber/fiber_stacks.h"
#include "core/fiber/overflow.h"
#include "core/fiber/switch.h"
#include "core/base/boundary.h"
#include "core/runtime/runtime.h"

int skua_fiber_init(struct skua_fiber *fiber, skua_fiber_fn fn,
		    size_t stack_bytes)
{
	if (!fiber || !fn ||
	    (stack_bytes &&
	     (stack_bytes < SKUA_MIN_STACK || stack_bytes > SKUA_MAX_STACK)))
		return -EINVAL;
	if (!fiber_switch_allowed())
		return -ENOTSUP;
	*fiber = (struct skua_fiber){
		.task = SKUA_TASK_INIT(fiber_poll),
		.fn = fn,
		.shown = (const void *)(uintptr_t)fn,
		.flags = stack_bytes ? stack_order(stack_bytes) : 0,
	};
	fiber->task.flags = TASK_FIBER;
	return 0;
}

struct skua_fiber *skua_fiber_self(void)
{
	return fiber_current();
}

int skua_await(void)
{
	return fiber_try_leave(SKUA_PENDING);
}

int skua_yield(void)
{
	return fiber_try_leave(SKUA_YIELD);
}

/* ---- cancels ------------------------------------------------------------- */

int skua_cancel_mask(void)
{
	struct skua_fiber *self = fiber_current();

	if (!self)
		return -EPERM;
	if (self->masks == UINT32_MAX)
		return -EOVERFLOW;
	self->masks++;
	return 0;
}

int skua_cancel_unmask(void)
{
	struct skua_fiber *self = fiber_current();

	if (!self)
		return -EPERM;
	if (self->masks == 0)
		return -EINVAL;
	self->masks--;
	return 0;
}

size_t skua_fiber_stack_used(const struct skua_fiber *fiber)
{
	const struct stack *stack;

	if (!fiber)
		return 0;
	/* Relaxed: the caller keeps the fiber, and so its stack, from its end. */
	stack = atomic_load_relaxed((_Atomic(struct stack *) *)&fiber->stack);
	return stack ? stack_used(stack) : 0;
}

int skua_fiber_report_overflow(void)
{
	return overflow_install();
}

/* ---- fibers of the library ------------------------------------------------ */

/* A fiber at the top of its own stack. */
struct call_fiber {
	alignas(64) struct skua_fiber fiber; /* first: it is cast back */
	void (*fn)(void *arg);
	void *arg;
};

static void call(struct skua_fiber *self)
{
	struct call_fiber *it = (struct call_fiber *)self;

	it->fn(it->arg);
	BOUNDARY(call);
}

static void give_back(struct skua_task *task)
{
	fiber_stacks_give(current_here(), ((struct skua_fiber *)task)->stack);
}

/* Take a stack for a thread that is no worker of @rt. */
static struct stack *take_outside(struct skua_runtime *rt)
{
	struct stacks *stacks =
		&node_allocs_here(&rt->worker_memory.allocs)->stacks;

	return stacks_take(stacks, NULL, stacks->default_order);
}

int skua_fiber_spawn(struct skua_runtime *rt, const struct skua_task_type *type,
		     void (*fn)(void *arg), void *arg)
{
	struct call_fiber *it;
	struct worker *worker;
	struct stack *stack;
	int code;

	if (!rt || !fn)
		return -EINVAL;
	if (!runtime_alive(rt))
		return -EOWNERDEAD;
	worker = runtime_worker(rt);
	stack = worker ? fiber_stacks_take(worker, 0) : take_outside(rt);
	if (!stack)
		return -ENOMEM;
	it = (struct call_fiber *)stack - 1;
	it->fn = fn;
	it->arg = arg;
	code = skua_fiber_init(&it->fiber, call, 0);
	it->fiber.shown = (const void *)(uintptr_t)fn;
	it->fiber.stack = stack;
	it->fiber.flags = FIBER_ON_STACK;
	if (!code)
		code = skua_task_set_type(&it->fiber.task, type);
	if (!code)
		code = skua_task_detach(&it->fiber.task, give_back);
	if (!code)
		code = runtime_spawn(rt, &it->fiber.task, 0,
				     __builtin_return_address(0));
	if (code)
		fiber_stacks_give(worker, stack);
	return code;
}
