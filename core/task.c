/* SPDX-License-Identifier: MIT */
/* task.c - see task.h */
#include "core/task.h"

#include "core/futex.h"

atomic_u64 task_shortest_limit_ns = UINT64_MAX;

void task_joiner_wait(struct task_joiner *joiner)
{
	/* Acquire: pairs with the release in task_joiner_wake(). A round more
	 * means a wake-up without cause. */
	while (atomic_load_acquire(&joiner->done) == 0)
		futex_wait(&joiner->done, 0);
}

void task_joiner_wake(struct task_joiner *joiner)
{
	/* Release: all that the task did. Pairs with the acquire above. The
	 * joiner may be gone after this; futex_wake() uses its address only. */
	atomic_store_release(&joiner->done, 1);
	futex_wake(&joiner->done, 1);
}
