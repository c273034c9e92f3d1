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
 *	sets POLL_CANCEL, POLL_STACKS   stack->fiber := NULL
 *	*heavy fence*                   *light fence*
 *	locks the stacks of a node,     if POLL_STACKS: locks the stacks of the
 *	and cancels each fiber that     node, and unlocks them
 *	a stack points at               lets the fiber end
 *	clears POLL_STACKS
 *
 * The memory of a fiber may be gone once it has ended. If the heavy fence comes after the
 * worker's store, the shutdown does not find the fiber. If it comes before, the worker sees
 * POLL_STACKS, and waits until the shutdown has done with the fiber; or it sees that the
 * shutdown has cleared it, and is done with all fibers. So only fibers that end meanwhile
 * take the lock. The fences are those of lifo_slot.h: the light one costs nothing where
 * membarrier_fence() works.
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

/* fiber_cancel_begin - after pool_cancel(): let the ends of fibers wait, and *fence*. One
 * shutdown at a time. Return: false: the kernel refused the fence; call none of the next two
 * functions. */
bool fiber_cancel_begin(struct pool *pool);

/* fiber_cancel_all - cancel each fiber that has a stack of @stacks */
void fiber_cancel_all(struct stacks *stacks);

/* fiber_cancel_end - let the ends of fibers wait no longer */
void fiber_cancel_end(struct pool *pool);

/* fiber_cancel_leave - take a fiber of @pool that is about to end from its stack */
void fiber_cancel_leave(const struct pool *pool, struct stack *stack);

#endif
