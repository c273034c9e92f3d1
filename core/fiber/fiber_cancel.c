/* SPDX-License-Identifier: MIT */
/* fiber_cancel.c - see fiber_cancel.h */
#include "core/fiber/fiber_cancel.h"

#include <assert.h>

#include "core/fiber/fiber.h"
#include "core/loop/pool.h"
#include "core/loop/schedule.h"
#include "core/os/membarrier.h"

bool fiber_cancel_fence(const struct pool *pool)
{
	/* Orders POLL_CANCEL before the loads of the stacks' fibers. Pairs with the
	 * fence in fiber_cancel_leave(). */
	return membarrier_or_fence(pool->membarrier);
}

/* Cancel a fiber that cannot end meanwhile. If the caller must queue it, add it to @wake:
 * it is in no queue, and does not end before. */
static void cancel(struct skua_fiber *fiber, void *wake)
{
	struct skua_task *task = &fiber->task;
	bool queue = false;
	int code = task_state_transition_to_cancelled(task_state(task), &queue);

	assert(code == 0); /* it is spawned, and not done */
	(void)code;
	if (queue)
		inject_list_append(wake, task_node(task));
}

void fiber_cancel_all(struct stacks *stacks)
{
	struct inject_list wake = { NULL, NULL, 0 };
	struct inject_node *node, *next;

	stacks_visit(stacks, cancel, &wake);
	/* Without the lock: a hook of the program may spawn a fiber. */
	for (node = wake.first; wake.count > 0; node = next, wake.count--) {
		/* Relaxed: this thread wrote it; and before the task is queued. */
		next = wake.count > 1 ? atomic_load_relaxed(&node->next) : NULL;
		schedule(task_of_node(node));
	}
}

void fiber_cancel_leave(const struct pool *pool, struct stack *stack)
{
	/* Relaxed: ordered by the fence. */
	atomic_store_relaxed(stack_fiber(stack), NULL);
	/* Orders the store before the load of POLL_CANCEL. Pairs with the fence in
	 * fiber_cancel_fence(). */
	if (pool->membarrier)
		atomic_fence_compiler();
	else
		atomic_fence_seq_cst();
	/* Relaxed: ordered by the fence. */
	if (__builtin_expect(pool_cancelling(pool), false))
		stacks_pass(stack->arena->owner);
}
