/* SPDX-License-Identifier: MIT */
/**
 * fiber_stacks.h - the free stacks of a worker, and their way back to the kernel
 *
 * Warm stacks are trimmed by a task of the library, one for each worker, which waits for
 * a timer while its worker keeps warm stacks. So an idle runtime wakes up twice or three
 * times after its last fiber has ended, and then no more. This task never ends and is not
 * counted as spawned, so that a drain does not wait for it.
 *
 * A thread that is no worker, or a worker of another node, starts no timer when it gives a
 * stack: that stack stays warm until a worker of its node gives one.
 *
 * Rejected: to trim in the loop of the worker. A parked worker would not do it.
 */
#ifndef SKUA_CORE_FIBER_FIBER_STACKS_H
#define SKUA_CORE_FIBER_FIBER_STACKS_H

#include "core/fiber/stacks.h"
#include "core/task/task.h"
#include "skua/timer.h"

struct worker;

/* Zeroed until the worker takes or gives its first stack. Used by that worker alone. */
struct fiber_stacks {
	struct stack_cache cache;
	struct skua_task trim;
	struct skua_timer timer;
	uint64_t said_ns; /* when that was logged last */
	bool trims; /* the timer is pending, or the task is about to run */
};

/* fiber_stacks_take - take a stack of at least 2^@order bytes; 0: of the default size.
 * @worker is the calling worker. Return: NULL: no memory. */
struct stack *fiber_stacks_take(struct worker *worker, unsigned order);

/* fiber_stacks_give - give a stack back, which no thread uses; @worker: the calling
 * worker, of any pool; NULL: none */
void fiber_stacks_give(struct worker *worker, struct stack *stack);

/* fiber_stacks_missing - count a poll that found no memory for a stack, and log that, but
 * not more often than once a second */
void fiber_stacks_missing(struct worker *worker);

#endif
