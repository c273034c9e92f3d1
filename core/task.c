/* SPDX-License-Identifier: MIT */
/* task.c - see task.h */
#include "core/task.h"

#include "core/futex.h"

struct task_end task_drop(struct skua_task *task, struct task_state_drop drop)
{
	/* Acquire: the end field, whose bit may be set already. Pairs with
	 * task_state_transition_to_ended_by(). */
	uint64_t state = atomic_load_acquire(task_state(task));
	struct task_end end;

	/* A further round means that somebody else changed the state. */
	do {
		end.bit = state & TASK_END_MASK;
		end.what.joiner = NULL;
		if (end.bit)
			end.what = task->end;
	} while (!task_state_transition_to_dropped(task_state(task), &state,
						   drop));

	if (!task_state_ended(task_state_less(state, drop)))
		end.bit = 0;
	return end;
}

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
