/* SPDX-License-Identifier: MIT */
/**
 * group_slots.h - the live members of a group with a release function
 *
 * Each member has a slot, which is one word:
 *
 *	[ address of the task:61 | ASKED | ENDED | HELD ]
 *
 * The owner of a task may free it when it has ended. So a thread accesses a
 * member only through its slot, and only while it holds the slot (HELD). The
 * holder is the thread that spawns the member, or a thread that cancels it. If
 * the task ends meanwhile, it is marked ENDED, and the holder lets it go later.
 * If another thread wants a held member cancelled, it marks the slot as ASKED,
 * and the holder cancels the member.
 *
 * A free slot is searched for at random places, which depend on the address of
 * the task, among at least twice as many slots as there are members. Slots come
 * in levels, each as large as all lower ones together, so that no slot ever
 * moves.
 */
#ifndef SKUA_CORE_TASK_GROUP_SLOTS_H
#define SKUA_CORE_TASK_GROUP_SLOTS_H

#include "core/base/atomic.h"
#include "core/task/task.h"
#include "skua/group.h"
#include "skua/runtime.h"

#define GROUP_SLOT_HELD  UINT64_C(1)
#define GROUP_SLOT_ENDED UINT64_C(2)
#define GROUP_SLOT_ASKED UINT64_C(4) /* the holder must cancel it */
#define GROUP_SLOT_BITS  (GROUP_SLOT_HELD | GROUP_SLOT_ENDED | GROUP_SLOT_ASKED)

#ifndef SLOTS_FIRST
#define SLOTS_FIRST 64u /* slots of the first level; a power of two */
#endif
#define SLOTS_LEVELS 40u
#define SLOTS_PROBES 64u
#ifndef SLOTS_SCATTER
#define SLOTS_SCATTER \
	UINT64_C(0x9e3779b97f4a7c15) /* 2^64 divided by the golden ratio */
#endif

struct group_slots {
	/* Writers: spawns that need a level, once for each, from NULL. Readers:
	 * spawns and cancels. */
	_Atomic(atomic_u64 *) levels[SLOTS_LEVELS];
};

/**
 * group_slots_take - take a slot for @task, HELD by the caller
 * @group: the task already counts as its member
 *
 * Return: the slot; NULL: no memory.
 */
atomic_u64 *group_slots_take(struct skua_group *group,
			     const struct skua_allocator *allocator,
			     struct skua_task *task);

/* group_slots_free - free all slots, which no thread uses any more; NULL is
 * ignored */
void group_slots_free(struct group_slots *slots,
		      const struct skua_allocator *allocator);

/* group_slots_level - return the slots of a level, and their number in @count;
 * NULL: there is no such level yet */
atomic_u64 *group_slots_level(struct group_slots *slots, unsigned level,
			      uint64_t *count);

/**
 * group_slot_hold - hold a member, to cancel it
 *
 * Return: the member. NULL: the slot is free, the member has ended, or another
 * thread holds it and was asked to cancel it.
 */
struct skua_task *group_slot_hold(atomic_u64 *slot);

/**
 * group_slot_leave - hold a member no more, unless a thread asked to cancel it
 * @asked: receives true if so: the caller still holds the member, cancels it,
 *         and calls this again
 *
 * Return: true if the member has ended, and the caller must let it go.
 */
bool group_slot_leave(atomic_u64 *slot, bool *asked);

/**
 * group_slot_end - note that the member has ended
 *
 * Return: true if the caller must let it go; false if the thread that holds it
 * does.
 */
bool group_slot_end(atomic_u64 *slot);

/* group_slot_clear - free the slot; its task is no longer a member */
void group_slot_clear(atomic_u64 *slot);

#endif
