/* SPDX-License-Identifier: MIT */
/**
 * group.h - the count of a group's members, and the waiter for their end
 *
 *	[ members:48 | bits:16 ]
 *
 * Each member that has not ended counts one. A cancel under way and a spawn into
 * a group without a release function also count one each.
 *
 * A waiter first claims the right to wait, then writes the waiter field, and then
 * sets a bit for it. The last member that ends reads the bit in the operation
 * that ends it. If the bit comes after that, the waiter sees that no member is
 * left.
 *
 * A wait can be given up: its bit and its claim are removed. So if there is a
 * waiter, the last member ends in two steps. The first step makes the group
 * ENDING and keeps one member: from then on no wait can be given up, and the
 * waiter field stays as it is. The second step drops that member.
 *
 * The members of a group without a release function are in a list, and stay
 * there until all have ended. The members of a group with a release function
 * have slots (group_slots.h), and are let go one by one.
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
#define GROUP_ENDING      (UINT64_C(1) << 4) /* the waiter field is being read */
#define GROUP_MEMBER      (UINT64_C(1) << 16)

#define GROUP_WAIT_MASK (GROUP_WAIT_THREAD | GROUP_WAIT_TASK)

static inline atomic_u64 *group_state(struct skua_group *group)
{
	return (atomic_u64 *)&group->state;
}

/* The list of members, in a group without a release function. */
static inline _Atomic(struct skua_task *) *
group_members(struct skua_group *group)
{
	return (_Atomic(struct skua_task *) *)&group->members;
}

/* The slots of members, in a group with a release function. */
static inline _Atomic(struct group_slots *) *
group_slots(struct skua_group *group)
{
	return (_Atomic(struct group_slots *) *)&group->members;
}

/*
 * The waiter field. A read may return a stale value while another thread
 * writes, because waits can be given up. Relaxed, both: the bit that says that
 * the field is set orders them.
 */
static inline _Atomic(void *) *group_waiter(struct skua_group *group)
{
	return (_Atomic(void *) *)&group->waiter;
}

/* group_ended - return true if no member is left */
static inline bool group_ended(uint64_t state)
{
	return state < GROUP_MEMBER;
}

/* group_enter - count @members more members; the caller keeps the group alive */
void group_enter(struct skua_group *group, uint64_t members);

/**
 * group_leave - count one member less
 *
 * Return: the waiter that the caller must wake, if this was the last member and
 * there is a waiter: a joiner (TASK_END_THREAD) or a task (TASK_END_TASK). The
 * group may be gone afterwards.
 */
struct task_end group_leave(struct skua_group *group);

/**
 * group_leave_ended - count one member less, for @task, which has ended
 *
 * In a group with a release function, the task is let go first. If another
 * thread holds the task, that thread does both instead.
 *
 * Return: as group_leave().
 */
struct task_end group_leave_ended(struct skua_group *group,
				  struct skua_task *task);

/* group_let_go - free the slot of a member that has ended, and call the release
 * function; the caller then calls group_leave() for the member */
void group_let_go(const struct skua_group *group, struct skua_task *task);

/* group_add - add a task to the list of members; the caller keeps the group
 * alive */
void group_add(struct skua_group *group, struct skua_task *task);

/* group_slot - return the slot of a member; only in a group with a release
 * function */
static inline atomic_u64 *group_slot(struct skua_task *task)
{
	return (atomic_u64 *)task->member.slot;
}

#endif
