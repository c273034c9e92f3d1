/* SPDX-License-Identifier: MIT */
/* task.c - see task.h */
#include "core/task.h"

#include "core/futex.h"

void task_finish(struct skua_task *task)
{
	/* Acquire: the joiner or release field, whose bit may be set already.
	 * Pairs with task_state_transition_to_ended_by(). */
	uint64_t state = atomic_load_acquire(task_state(task));
	struct task_joiner *joiner;
	skua_release_fn release;

	/* A further round means that a joiner or a detach came. */
	do {
		joiner = state & TASK_JOIN_WAITING ? task->joiner : NULL;
		release = state & TASK_DETACHED ? task->release : NULL;
	} while (!task_state_transition_to_complete(task_state(task), &state));

	if (joiner) {
		/* Release: all that the task wrote. Pairs with the acquire in
		 * task_wait(). The joiner may be gone after this; futex_wake()
		 * uses its address only. */
		atomic_store_release(&joiner->done, 1);
		futex_wake(&joiner->done, 1);
	}
	if (release)
		release(task);
}

void task_wait(struct skua_task *task)
{
	struct task_joiner joiner;

	atomic_init(&joiner.done, 0);
	task->joiner = &joiner;
	if (!task_state_transition_to_ended_by(task_state(task),
					       TASK_JOIN_WAITING))
		return;
	/* Acquire: pairs with the release in task_finish(). A round more means
	 * a wake-up without cause. */
	while (atomic_load_acquire(&joiner.done) == 0)
		futex_wait(&joiner.done, 0);
}
