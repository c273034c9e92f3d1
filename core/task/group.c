/* SPDX-License-Identifier: MIT */
/* group.c - see group.h */
#include "core/task/group.h"

#include <assert.h>

#include "core/base/boundary.h"

void group_enter(struct skua_group *group, uint64_t members)
{
	/* Relaxed, both: for skua_group_set_release(), beside which there are no
	 * other calls. */
	if (!(atomic_load_relaxed(group_state(group)) & GROUP_USED))
		atomic_fetch_or_relaxed(group_state(group), GROUP_USED);
	/* Relaxed: the caller keeps the group alive, and no thread waits for
	 * this member before the caller has returned. */
	atomic_fetch_add_relaxed(group_state(group), members * GROUP_MEMBER);
}

/* Count @members members less. */
static struct task_end leave_by(struct skua_group *group, uint64_t members)
{
	/* Release: all that the member did. Pairs with itself in another
	 * member, and with group_wait_arm(). Acquire: all that the other members did,
	 * and the waiter field. Pairs with itself and with group_wait_arm(). */
	uint64_t state = atomic_fetch_sub_acq_rel(group_state(group),
						  members * GROUP_MEMBER);
	struct task_end end = { 0, { NULL } };

	if (!group_ended(state - members * GROUP_MEMBER) ||
	    !(state & GROUP_WAIT_MASK))
		return end;
	end.bit = state & GROUP_WAIT_THREAD ? TASK_END_THREAD : TASK_END_TASK;
	end.what.joiner = atomic_load_relaxed(group_waiter(group));
	/* Release: the read of the waiter field above, and all that the members
	 * did. Pairs with the acquire in skua_group_wait_poll(). */
	atomic_fetch_add_release(group_state(group), GROUP_TOLD);
	return end;
}

struct task_end group_leave(struct skua_group *group)
{
	return leave_by(group, 1);
}

struct task_end group_leaves_count(struct group_leaves *leaves)
{
	struct group_leaves all = *leaves;

	leaves->group = NULL;
	leaves->count = 0;
	return leave_by(all.group, all.count);
}

void group_let_go(const struct skua_group *group, struct skua_task *task)
{
	group_slot_clear(group_slot(task));
	group->release(task);
	BOUNDARY(release);
}

struct task_end group_leave_ended(struct skua_group *group,
				  struct skua_task *task,
				  struct group_leaves *leaves)
{
	if (group->release) {
		if (!group_slot_end(group_slot(task)))
			return (struct task_end){ 0, { NULL } };
		group_let_go(group, task);
		/* At once: the number of slots follows the count. */
		leaves = NULL;
	}
	if (!leaves)
		return group_leave(group);
	assert(!leaves->group || leaves->group == group);
	leaves->group = group;
	leaves->count++;
	return (struct task_end){ 0, { NULL } };
}

void group_list(struct skua_group *group, struct skua_task *task)
{
	/* Relaxed: the compare-exchange decides. */
	struct skua_task *first = atomic_load_relaxed(group_members(group));
	bool wake;

	/* The loop repeats when another task was added. Release: the link.
	 * Pairs with the acquire in cancel_kept(). */
	do {
		task->member.next = first;
	} while (!atomic_cas_release(group_members(group), &first, task));
	/* Orders the list before the load of the mark. Pairs with the fence in
	 * skua_group_cancel(): either this sees the mark, or the cancel finds
	 * the task. */
	atomic_fence_updated_seq_cst();
	if (group_cancelled(group))
		/* The poll is under way, so that this queues no task. */
		task_state_transition_to_cancelled(task_state(task), &wake);
}

bool group_member_cancelled(struct skua_task *task)
{
	if (!group_cancelled(task_end_read(task).group))
		return false;
	/* Relaxed: for later calls. */
	atomic_fetch_or_relaxed(task_state(task), TASK_CANCELLED);
	return true;
}
