/* SPDX-License-Identifier: MIT */
/* group.c - see group.h */
#include "core/group.h"

void group_enter(struct skua_group *group, uint64_t members)
{
	/* Relaxed: the group is alive, and nobody waits for this member before
	 * the caller has returned. */
	atomic_fetch_add_relaxed(group_state(group), members * GROUP_MEMBER);
}

struct task_end group_leave(struct skua_group *group)
{
	/* Acquire: the waiter field, whose bit may be set already. Pairs with
	 * the release in group_api.c. */
	uint64_t state = atomic_load_acquire(group_state(group));
	struct task_end end;

	/* A further round means that another member ended, or a waiter came. */
	do {
		end = (struct task_end){ 0, { NULL } };
		if (state & GROUP_WAIT_THREAD) {
			end.bit = TASK_END_THREAD;
			end.what.joiner = group->waiter.joiner;
		} else if (state & GROUP_WAIT_TASK) {
			end.bit = TASK_END_TASK;
			end.what.task = group->waiter.task;
		}
		/* Release: all that the member did. Acquire: as above. Pairs
		 * with itself and with the waiter's in group_api.c. */
	} while (!atomic_cas_acq_rel(group_state(group), &state,
				     state - GROUP_MEMBER));
	if (!group_ended(state - GROUP_MEMBER))
		end.bit = 0;
	return end;
}

void group_add(struct skua_group *group, struct skua_task *task)
{
	/* Relaxed: only the compare-exchange counts. */
	struct skua_task *first = atomic_load_relaxed(group_members(group));

	/* A further round means that another task was added. Release: the
	 * link. Pairs with the acquire in skua_group_cancel(). */
	do {
		task->group_next = first;
	} while (!atomic_cas_release(group_members(group), &first, task));
}
