/* SPDX-License-Identifier: MIT */
/**
 * group.h - how many members a group has, and who waits for them (L2)
 *
 *	[ members:48 | bits:16 ]
 *
 * Each member that has not ended counts one, and so does each spawn under way.
 * Who waits claims that right, sets the waiter field, and then says so with a
 * bit; whoever ends the last member looks at the bit in the same operation. If
 * the bit comes after that, the waiter sees that there is no member.
 */
#ifndef SKUA_CORE_GROUP_H
#define SKUA_CORE_GROUP_H

#include "core/atomic.h"
#include "core/task.h"
#include "skua/group.h"

#define GROUP_CLAIMED     (UINT64_C(1) << 0)
#define GROUP_WAIT_THREAD (UINT64_C(1) << 1)
#define GROUP_WAIT_TASK   (UINT64_C(1) << 2)
#define GROUP_CANCELLED   (UINT64_C(1) << 3)
#define GROUP_MEMBER      (UINT64_C(1) << 16)

static inline atomic_u64 *group_state(struct skua_group *group)
{
	return (atomic_u64 *)&group->state;
}

static inline _Atomic(struct skua_task *) *
group_members(struct skua_group *group)
{
	return (_Atomic(struct skua_task *) *)&group->members;
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
 * Return: whom to wake if it was the last one and somebody waits: a joiner, as
 * TASK_END_THREAD, or a task, as TASK_END_TASK. The group may be gone.
 */
struct task_end group_leave(struct skua_group *group);

/* group_add - add a task to the list of members, while it is counted */
void group_add(struct skua_group *group, struct skua_task *task);

#endif
