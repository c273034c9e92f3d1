/* SPDX-License-Identifier: MIT */
/* fiber_cancel.c - see fiber_cancel.h */
#include "core/fiber/fiber_cancel.h"

#include <assert.h>

#include "core/fiber/fiber.h"
#include "core/loop/pool.h"
#include "core/loop/schedule.h"
#include "core/os/membarrier.h"

static atomic_u32 *flags_of(struct pool *pool)
{
	return &pool->telemetry.poll_flags;
}

bool fiber_cancel_begin(struct pool *pool)
{
	/* Relaxed: ordered by the fence. */
	atomic_fetch_or_relaxed(flags_of(pool), POLL_STACKS);
	/* Orders POLL_CANCEL and POLL_STACKS before the loads of the stacks' fibers.
	 * Pairs with the fence in fiber_cancel_leave(). */
	if (membarrier_or_fence(pool->membarrier))
		return true;
	fiber_cancel_end(pool);
	return false;
}

void fiber_cancel_end(struct pool *pool)
{
	/* Release: all that was done with fibers. Pairs with
	 * fiber_cancel_leave(). */
	atomic_fetch_and_release(flags_of(pool), ~POLL_STACKS);
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
	/* Orders the store before the load of POLL_STACKS. Pairs with the fence in
	 * fiber_cancel_begin(). */
	if (pool->membarrier)
		atomic_fence_compiler();
	else
		atomic_fence_seq_cst();
	/* Acquire: what the shutdown did with this fiber. Pairs with
	 * fiber_cancel_end(). */
	if (__builtin_expect(atomic_load_acquire(&pool->telemetry.poll_flags) &
				     POLL_STACKS,
			     false))
		stacks_pass(stack->arena->owner);
}
