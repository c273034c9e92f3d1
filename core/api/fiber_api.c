/* SPDX-License-Identifier: MIT */
/* fiber_api.c - the public functions on fibers */
#include <errno.h>

#include "core/fiber/fiber.h"
#include "core/fiber/stacks.h"
#include "core/fiber/switch.h"

/* Return the order of the smallest stack of at least @bytes. */
static unsigned order_for(size_t bytes)
{
	unsigned order = STACK_ORDER_MIN;

	while (((size_t)1 << order) < bytes)
		order++;
	return order;
}

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
		.flags = stack_bytes ? order_for(stack_bytes) : 0,
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
