/* SPDX-License-Identifier: MIT */
/**
 * group.h - the count of a group's members, and the waiter for them
 *
 *	[ members:48 | bits:16 ]
 *
 * Each member that has not ended counts one; each spawn or cancel under way also counts
 * one. A waiter claims that right, sets the waiter field, and then says so with a bit;
 * the last member that ends looks at the bit in the same operation. If the bit comes
 * after that, the waiter sees that there is no member.
 *
 * A wait can be given up: its bit and its claim go. So the last member ends in two
 * steps if somebody waits: with the first the group is ENDING, and keeps a member:
 * from then on no wait is given up, and the waiter field stays as it is; the
 * second drops that member.
 *
 * The members of a group without a release function are a list, and stay there until
 * all have ended. Those of a group with one have slots (group_slots.h), and are let
 * go one by one.
 */
#ifndef SKUA_CORE_TASK_GROUP_H
#define SKUA_CORE_TASK_GROUP_H

#include "core/base/atomic.h"
#include "core/task/group_slots.h"
#include "core/task/task.h"
#include "skua/group.h"

#define GROUP_CLAIMED     (UINT64_C(1) << 0)
#define GROUP_WAIT_THREAD (UINT64_C(1) << 1)
#define GROUP_WAIT_TASK   (UINT64_C(1) << 2)
#define GROUP_CANCELLED   (UINT64_C(1) << 3)
#define GROUP_ENDING      (UINT64_C(1) << 4) /* its end is being told */
#define GROUP_MEMBER      (UINT64_C(1) << 16)

#define GROUP_WAIT_MASK (GROUP_WAIT_THREAD | GROUP_WAIT_TASK)

static inline atomic_u64 *group_state(struct skua_group *group)
{
	return (atomic_u64 *)&group->state;
}

/* The list of members, of a group that keeps them. */
static inline _Atomic(struct skua_task *) *
group_members(struct skua_group *group)
{
	return (_Atomic(struct skua_task *) *)&group->members;
}

/* The slots of members, of a group that lets them go. */
static inline _Atomic(struct group_slots *) *
group_slots(struct skua_group *group)
{
	return (_Atomic(struct group_slots *) *)&group->members;
}

/*
 * The waiter field, of which a stale value may be read while another is written, as
 * waits can be given up. Relaxed, both: the bit that says that it is set orders them.
 */
static inline _Atomic(void *) *group_waiter(struct skua_group *group)
{
	return (_Atomic(void *) *)&group->waiter;
}

/* group_ended - no members? */
static inline bool group_ended(uint64_t state)
{
	return state < GROUP_MEMBER;
}

/* group_enter - count @members more; by somebody who keeps the group alive */
void group_enter(struct skua_group *group, uint64_t members);

/**
 * group_leave - count one member less
 *
 * Return: the waiter to wake, if this was the last member and one waits: a joiner, as
 * TASK_END_THREAD, or a task, as TASK_END_TASK. The group may be gone.
 */
struct task_end group_leave(struct skua_group *group);

/**
 * group_leave_ended - the same for a member that has ended
 *
 * In a group with a release function the task is let go first; if somebody holds
 * it, that is left to them.
 */
struct task_end group_leave_ended(struct skua_group *group,
				  struct skua_task *task);

/* group_let_go - free the slot of a member that has ended, and release it; before
 * its group_leave() */
void group_let_go(const struct skua_group *group, struct skua_task *task);

/* group_add - add a task to the list of members, while it is counted */
void group_add(struct skua_group *group, struct skua_task *task);

/* group_slot - the slot of a member, in a group with a release function */
static inline atomic_u64 *group_slot(struct skua_task *task)
{
	return (atomic_u64 *)task->member.slot;
}

#endif
