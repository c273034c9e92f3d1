/* SPDX-License-Identifier: MIT */
/**
 * group.h - the count of a group's members, and the waiter for their end
 *
 *	[ members:48 | bits:16 ]
 *
 * Each member that has not ended counts one. A cancel under way counts one, too.
 *
 * A waiter first claims the right to wait, then writes the waiter field, and then
 * sets a bit for it. The last member that ends reads the bit in the operation
 * that ends it. If the bit comes after that, the waiter sees that no member is
 * left.
 *
 * A wait can be given up while there are members: its bit and its claim are
 * removed. When no member is left and the bit of a waiter is set, the group is
 * *ending*: no wait can be given up, and the waiter field stays as it is. The
 * member that ended last reads the field, and then sets TOLD. Until then the
 * group stays in place, because the waiter does not count as ended without
 * TOLD, or without the wake-up that follows. A select may then put the right to
 * wait back instead of ending its wait (runtime/group_wait.h).
 *
 * In a group without a release function, a worker does not count each member that
 * it ends at once, because the count is shared by all workers. It counts them
 * together before it polls a task that is no member of the group, and when it has
 * no task (struct group_leaves). This delays no wait: while the worker polls another
 * member, that member keeps the group from its end.
 *
 * A cancel marks the group, so that the polls that follow see it, and then marks
 * and wakes the members that wait. So a member of a group without a release
 * function comes into a list when it waits for the first time, and stays there
 * until all members have ended. The members of a group with a release function
 * have slots (group_slots.h), and are let go one by one.
 *
 * Groups may be nested. A nested group counts as a member of its parent until a wait for it
 * returns. The links of a tree are guarded by a lock of the runtime. A cancel marks its
 * group, and then, under the lock, marks all groups below, puts them into a list, and
 * counts itself as a member of each, so that they stay. It cancels their members without
 * the lock, because that may run code of the program. A group that another cancel has in
 * its list is left to that one. Between a cancel and a group that is being nested, one sees
 * the other: both fence between their write (the mark, the link) and their read.
 *
 * Rejected: to list each member in its spawn. With two workers, spawn and end of
 * empty members then took 1.6 of the time, because all of them wrote one line.
 * Also rejected: to count spawns in another word than ends, until a wait adds the
 * two. It brings nothing beside ends that are counted together.
 */
#ifndef SKUA_CORE_TASK_GROUP_H
#define SKUA_CORE_TASK_GROUP_H

#include "core/base/atomic.h"
#include "core/task/group_slots.h"
#include "core/task/task.h"
#include "skua/group.h"

_Static_assert(offsetof(struct skua_group, runtime) >=
		       offsetof(struct skua_group, state) + CACHE_PAIR,
	       "a spawn that counts a member does not take the line from which "
	       "ends of members read the release function");

#define GROUP_CLAIMED     (UINT64_C(1) << 0)
#define GROUP_WAIT_THREAD (UINT64_C(1) << 1)
#define GROUP_WAIT_TASK   (UINT64_C(1) << 2)
#define GROUP_CANCELLED   (UINT64_C(1) << 3)
#define GROUP_TOLD        (UINT64_C(1) << 4) /* the waiter field was read */
#define GROUP_USED        (UINT64_C(1) << 5) /* it has had members */
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

/* The first error of the members. Writers: members that fail, from 0. */
static inline atomic_u32 *group_error(const struct skua_group *group)
{
	return (atomic_u32 *)&group->error;
}

/* group_ended - return true if no member is left */
static inline bool group_ended(uint64_t state)
{
	return state < GROUP_MEMBER;
}

/* group_enter - count @members more members; the caller keeps the group alive */
void group_enter(struct skua_group *group, uint64_t members);

/**
 * struct group_leaves - members that a worker has ended, and has not counted yet
 * @group: their group; NULL: there are none
 */
struct group_leaves {
	struct skua_group *group;
	uint64_t count;
};

/* group_leaves_count - count all of them less. Return: as group_leave() */
struct task_end group_leaves_count(struct group_leaves *leaves);

/* group_of_member - return the group of a task that is spawned, or NULL */
static inline struct skua_group *group_of_member(struct skua_task *task)
{
	/* Relaxed: the bit of a group is set before the spawn. */
	return atomic_load_relaxed(task_state(task)) & TASK_END_GROUP
		       ? task_end_read(task).group
		       : NULL;
}

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
 * @leaves: of the calling worker, which counts the member later; they have no
 *          members of another group. NULL: count it now
 *
 * Return: as group_leave().
 */
struct task_end group_leave_ended(struct skua_group *group,
				  struct skua_task *task,
				  struct group_leaves *leaves);

/* group_let_go - free the slot of a member that has ended, and call the release
 * function; the caller then calls group_leave() for the member */
void group_let_go(const struct skua_group *group, struct skua_task *task);

/* In member.next: a member that is in no list yet. */
#define GROUP_UNLISTED ((struct skua_task *)1)

/* group_cancelled - return true if the members are cancelled */
static inline bool group_cancelled(struct skua_group *group)
{
	/* Acquire: everything that the cancelling thread wrote before, for the
	 * polls that follow. Pairs with the release in enter_cancelled(). */
	return atomic_load_acquire(group_state(group)) & GROUP_CANCELLED;
}

/* group_list - put a member into the list of its group, so that a cancel finds it, or
 * cancel it; by its poll, of which the member counts */
void group_list(struct skua_group *group, struct skua_task *task);

/* group_before_wait - list a member of a group that is going to wait for the first time;
 * by its worker, at the end of its poll */
static inline void group_before_wait(struct skua_task *task)
{
	struct skua_group *group = group_of_member(task);

	if (group && !group->release && task->member.next == GROUP_UNLISTED)
		group_list(group, task);
}

/* group_slot - return the slot of a member; only in a group with a release
 * function */
static inline atomic_u64 *group_slot(struct skua_task *task)
{
	return (atomic_u64 *)task->member.slot;
}

/* group_member_cancelled - the slow part of group_task_cancelled(): was the group of a
 * member cancelled? */
bool group_member_cancelled(struct skua_task *task);

/* group_task_cancelled - was the task cancelled, itself or with its group? @polled: the
 * caller polls it */
static inline bool group_task_cancelled(struct skua_task *task, bool polled)
{
	/* Relaxed: a hint, or caused by the caller itself. The bit of a group is set
	 * before the spawn. */
	uint64_t state = atomic_load_relaxed(task_state(task));

	if (state & TASK_CANCELLED)
		return true;
	/* A member that has never waited learns it from its group, which stays
	 * in place during the poll. */
	return polled && (state & TASK_END_GROUP) &&
	       group_member_cancelled(task);
}

#endif
