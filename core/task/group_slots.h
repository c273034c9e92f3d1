/* SPDX-License-Identifier: MIT */
/**
 * group_slots.h - the live members of a group that lets them go
 *
 * A slot is a word for one member:
 *
 *	[ address of the task:61 | ASKED | ENDED | HELD ]
 *
 * A task that has ended may be freed by its owner. So nobody looks at a member but
 * by its slot, and while it is HELD: by the thread that spawns it, or one that
 * cancels. If it ends meanwhile, it is marked ENDED, and the holder lets it go
 * instead. A further thread that wants it cancelled asks the one that holds it.
 *
 * A slot is looked for at random, by the address of the task, among at least twice as
 * many as there are members. They come in levels, each as large as all before it, so
 * that none ever moves.
 */
#ifndef SKUA_CORE_TASK_GROUP_SLOTS_H
#define SKUA_CORE_TASK_GROUP_SLOTS_H

#include "core/base/atomic.h"
#include "core/task/task.h"
#include "skua/group.h"
#include "skua/runtime.h"

#define SLOT_HELD  UINT64_C(1)
#define SLOT_ENDED UINT64_C(2)
#define SLOT_ASKED UINT64_C(4) /* to cancel it */
#define SLOT_BITS  (SLOT_HELD | SLOT_ENDED | SLOT_ASKED)

#ifndef SLOTS_FIRST
#define SLOTS_FIRST 64u /* in the first level; a power of two */
#endif
#define SLOTS_LEVELS 40u
#define SLOTS_PROBES 64u
#ifndef SLOTS_SCATTER
#define SLOTS_SCATTER \
	UINT64_C(0x9e3779b97f4a7c15) /* 2^64 by the golden ratio */
#endif

struct group_slots {
	/* Writers: spawns that need a level, from NULL once. */
	_Atomic(atomic_u64 *) levels[SLOTS_LEVELS];
};

/**
 * group_slots_take - a slot for @task, HELD by the caller
 * @group: of which it is counted as a member
 *
 * Return: NULL: no memory.
 */
atomic_u64 *group_slots_take(struct skua_group *group,
			     const struct skua_allocator *allocator,
			     struct skua_task *task);

/* group_slots_free - all memory; nobody uses any more */
void group_slots_free(struct group_slots *slots,
		      const struct skua_allocator *allocator);

/* group_slots_level - the slots of a level, and how many; NULL: none so far */
atomic_u64 *group_slots_level(struct group_slots *slots, unsigned level,
			      uint64_t *count);

/**
 * group_slot_hold - hold a member to cancel it
 *
 * Return: NULL if there is none, or it has ended, or another thread holds it, and has
 * been asked to cancel it.
 */
struct skua_task *group_slot_hold(atomic_u64 *slot);

/**
 * group_slot_leave - hold it no more, unless somebody asked to cancel it
 * @asked: receives whether somebody did: the caller cancels it, and calls again
 *
 * Return: has it ended? The caller lets it go.
 */
bool group_slot_leave(atomic_u64 *slot, bool *asked);

/**
 * group_slot_end - note that the member has ended
 *
 * Return: false: the thread that holds it lets it go.
 */
bool group_slot_end(atomic_u64 *slot);

/* group_slot_clear - the slot is free; the task is nobody's member any more */
void group_slot_clear(atomic_u64 *slot);

#endif
