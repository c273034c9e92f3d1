/* SPDX-License-Identifier: MIT */
/**
 * fiber_cancel.h - cancel all fibers of a runtime that have a stack
 *
 * A shutdown that cancels finds them by their stacks: each stack points at its fiber from
 * the first poll of the fiber to its last one. So a wait costs nothing for that, and no
 * list of waits exists.
 *
 *	shutdown                        the worker that ends a fiber
 *	------------------------------  -----------------------------------
 *	sets POLL_CANCEL                stack->fiber := NULL
 *	*heavy fence*                   *light fence*
 *	locks the stacks of a node,     if POLL_CANCEL: locks the stacks of the
 *	and cancels each fiber that     node, and unlocks them
 *	a stack points at               lets the fiber end
 *
 * The memory of a fiber may be gone once it has ended. If the heavy fence comes after the
 * worker's store, the shutdown does not find the fiber. If it comes before, the worker sees
 * POLL_CANCEL, and waits until the shutdown has done with the fiber. The fences are those
 * of lifo_slot.h: the light one costs nothing where membarrier_fence() works.
 *
 * A fiber that begins after the heavy fence does so in a poll that sees POLL_CANCEL itself.
 *
 * Rejected: a list of the fibers that wait, or an exchange of stack->fiber, for each wait or
 * fiber: they cost more than nothing.
 */
#ifndef SKUA_CORE_FIBER_FIBER_CANCEL_H
#define SKUA_CORE_FIBER_FIBER_CANCEL_H

#include "core/fiber/stacks.h"

struct pool;

/* fiber_cancel_all - cancel each fiber that has a stack of @stacks, after pool_cancel() and
 * fiber_cancel_fence() */
void fiber_cancel_all(struct stacks *stacks);

/* fiber_cancel_fence - the heavy fence. Return: false: the kernel refused it; call none of
 * these functions. */
bool fiber_cancel_fence(const struct pool *pool);

/* fiber_cancel_leave - take a fiber of @pool that is about to end from its stack */
void fiber_cancel_leave(const struct pool *pool, struct stack *stack);

#endif
