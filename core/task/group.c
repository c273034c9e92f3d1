/* SPDX-License-Identifier: MIT */
/* group.c - see group.h */
#include "core/task/group.h"

#include "core/base/boundary.h"

void group_enter(struct skua_group *group, uint64_t members)
{
	/* Relaxed: the caller keeps the group alive, and no thread waits for
	 * this member before the caller has returned. */
	atomic_fetch_add_relaxed(group_state(group), members * GROUP_MEMBER);
}

struct task_end group_leave(struct skua_group *group)
{
	/* Relaxed: the compare-exchange decides. */
	uint64_t state = atomic_load_relaxed(group_state(group));
	struct task_end end = { 0, { NULL } };
	uint64_t next;

	/* Release: all that the member did. Pairs with itself in another
	 * member, and with wait_by() and skua_group_wait_poll(). Acquire: all
	 * that the other members did, and the waiter field. Pairs with itself
	 * and with wait_by(). The loop repeats when another thread changed the
	 * count or the bits. */
	do {
		next = state - GROUP_MEMBER;
		if (group_ended(next) && (state & GROUP_WAIT_MASK))
			next = state | GROUP_ENDING;
	} while (!atomic_cas_acq_rel(group_state(group), &state, next));
	if (!(next & GROUP_ENDING))
		return end;
	end.bit = next & GROUP_WAIT_THREAD ? TASK_END_THREAD : TASK_END_TASK;
	end.what.joiner = atomic_load_relaxed(group_waiter(group));
	/* Release: the read of the waiter field above, and all that the members
	 * did. Pairs with the acquire in skua_group_wait_poll(). */
	atomic_fetch_sub_release(group_state(group),
				 GROUP_ENDING + GROUP_MEMBER);
	return end;
}

void group_let_go(const struct skua_group *group, struct skua_task *task)
{
	group_slot_clear(group_slot(task));
	group->release(task);
	BOUNDARY(release);
}

struct task_end group_leave_ended(struct skua_group *group,
				  struct skua_task *task)
{
	if (group->release) {
		if (!group_slot_end(group_slot(task)))
			return (struct task_end){ 0, { NULL } };
		group_let_go(group, task);
	}
	return group_leave(group);
}

void group_add(struct skua_group *group, struct skua_task *task)
{
	/* Relaxed: the compare-exchange decides. */
	struct skua_task *first = atomic_load_relaxed(group_members(group));

	/* The loop repeats when another task was added. Release: the link.
	 * Pairs with the acquire in cancel_kept(). */
	do {
		task->member.next = first;
	} while (!atomic_cas_release(group_members(group), &first, task));
}
