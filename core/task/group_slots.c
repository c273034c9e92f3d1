/* SPDX-License-Identifier: MIT */
/* group_slots.c - see group_slots.h */
#include "core/task/group_slots.h"

#include "core/task/group.h"
#include "core/base/memory.h"

static uint64_t level_size(unsigned level)
{
	return level == 0 ? SLOTS_FIRST : (uint64_t)SLOTS_FIRST << (level - 1);
}

/* Return how many levels @count slots fill; @count is a power of two. */
static unsigned levels_of(uint64_t count)
{
	return 1 + (unsigned)__builtin_ctzll(count / SLOTS_FIRST);
}

/* Return twice @members, rounded up to the slots of whole levels. */
static uint64_t slots_for(uint64_t members)
{
	uint64_t count = SLOTS_FIRST;

	while (count < 2 * members)
		count *= 2;
	return count;
}

static struct group_slots *slots_of(_Atomic(struct group_slots *) *slots,
				    const struct skua_allocator *allocator)
{
	/* Acquire: the empty struct. Pairs with the compare-exchange below. */
	struct group_slots *old = atomic_load_acquire(slots);
	struct group_slots *new;

	if (old)
		return old;
	new = memory_alloc(allocator, alignof(struct group_slots), 1,
			   sizeof(*new));
	/* Release: publishes the empty struct. Acquire: the struct of a thread
	 * that was faster. Both pair with each other. */
	if (!new || atomic_cas_acq_rel(slots, &old, new))
		return new;
	memory_free(allocator, new, alignof(struct group_slots), 1,
		    sizeof(*new));
	return old;
}

/* Make a level. Return: false: no memory. */
static bool add_level(struct group_slots *slots,
		      const struct skua_allocator *allocator, unsigned level)
{
	uint64_t count = level_size(level);
	atomic_u64 *old = NULL;
	atomic_u64 *new =
		memory_alloc(allocator, CACHE_PAIR, count, sizeof(*new));

	/* Release: publishes the empty level, and the levels below it. Acquire:
	 * the level of a thread that was faster, as in level_of(). Both pair
	 * with each other. */
	if (!new || atomic_cas_acq_rel(&slots->levels[level], &old, new))
		return new != NULL;
	memory_free(allocator, new, CACHE_PAIR, count, sizeof(*new));
	return true;
}

static atomic_u64 *level_of(struct group_slots *slots, unsigned level)
{
	/* Acquire: the level, as add_level() or later writers left it. Pairs
	 * with add_level(). */
	return atomic_load_acquire(&slots->levels[level]);
}

/* Make the first @count levels, the lower ones first. Return: false: no memory. */
static bool make_levels(struct group_slots *slots,
			const struct skua_allocator *allocator, unsigned count)
{
	/* If the last level is there, the lower ones are there, too. */
	if (count > SLOTS_LEVELS)
		return false;
	if (level_of(slots, count - 1))
		return true;
	for (unsigned level = 0; level < count; level++) {
		if (!level_of(slots, level) &&
		    !add_level(slots, allocator, level))
			return false;
	}
	return true;
}

static atomic_u64 *slot_at(struct group_slots *slots, uint64_t index)
{
	unsigned level =
		index < SLOTS_FIRST
			? 0
			: 64 - (unsigned)__builtin_clzll(index / SLOTS_FIRST);
	uint64_t first = level == 0 ? 0 : level_size(level);

	return &level_of(slots, level)[index - first];
}

/* Return a hash for try number @probe; its low bits are the slot to try.
 * Consecutive tries are far apart, so that occupied slots do not form long
 * rows. The hash multiplies and folds twice, as the last step of MurmurHash3
 * does (A. Appleby, 2011). */
static uint64_t index_of(const struct skua_task *task, uint64_t probe)
{
	uint64_t x = ((uintptr_t)task + probe) * SLOTS_SCATTER;

	x = (x ^ x >> 32) * SLOTS_SCATTER;
	return x ^ x >> 32;
}

/* Take one of the first @count slots. Return: NULL: no try found a free slot. */
static atomic_u64 *take_of(struct group_slots *slots, struct skua_task *task,
			   uint64_t count)
{
	for (uint64_t probe = 0; probe < SLOTS_PROBES; probe++) {
		atomic_u64 *slot =
			slot_at(slots, index_of(task, probe) & (count - 1));
		uint64_t old = 0;

		/* Relaxed: no other thread accesses the task before the caller
		 * leaves the slot, and none accesses the former task of a free
		 * slot. */
		if (!atomic_load_relaxed(slot) &&
		    atomic_cas_relaxed(slot, &old,
				       (uintptr_t)task | GROUP_SLOT_HELD))
			return slot;
	}
	return NULL;
}

atomic_u64 *group_slots_take(struct skua_group *group,
			     const struct skua_allocator *allocator,
			     struct skua_task *task)
{
	struct group_slots *slots = slots_of(group_slots(group), allocator);
	atomic_u64 *slot = NULL;

	/* The loop repeats when the group has grown beyond these slots
	 * meanwhile. If there are enough slots, half are free, and all tries
	 * meet occupied ones only once in 2^64 times. */
	while (slots && !slot) {
		/* Relaxed: a number, which includes the caller's member. */
		uint64_t count = slots_for(
			atomic_load_relaxed(group_state(group)) / GROUP_MEMBER);

		if (!make_levels(slots, allocator, levels_of(count)))
			return NULL;
		slot = take_of(slots, task, count);
	}
	return slot;
}

void group_slots_free(struct group_slots *slots,
		      const struct skua_allocator *allocator)
{
	if (!slots)
		return;
	for (unsigned level = 0; level < SLOTS_LEVELS; level++)
		memory_free(allocator, level_of(slots, level), CACHE_PAIR,
			    level_size(level), sizeof(atomic_u64));
	memory_free(allocator, slots, alignof(struct group_slots), 1,
		    sizeof(*slots));
}

atomic_u64 *group_slots_level(struct group_slots *slots, unsigned level,
			      uint64_t *count)
{
	*count = level_size(level);
	return level < SLOTS_LEVELS ? level_of(slots, level) : NULL;
}

struct skua_task *group_slot_hold(atomic_u64 *slot)
{
	/* Relaxed: the compare-exchange decides. */
	uint64_t old = atomic_load_relaxed(slot);

	/* Acquire: the task, as it was spawned. Pairs with group_slot_leave().
	 * If another thread is asked to cancel, the fence in
	 * skua_group_cancel() releases the caller's earlier writes. The loop
	 * repeats when the slot has changed. */
	do {
		if (!old || (old & GROUP_SLOT_ENDED))
			return NULL;
	} while (!atomic_cas_acquire(slot, &old,
				     old | (old & GROUP_SLOT_HELD
						    ? GROUP_SLOT_ASKED
						    : GROUP_SLOT_HELD)));
	return old & GROUP_SLOT_HELD ? NULL
				     : (struct skua_task *)(uintptr_t)old;
}

bool group_slot_leave(atomic_u64 *slot, bool *asked)
{
	/* Relaxed: the compare-exchange decides. */
	uint64_t old = atomic_load_relaxed(slot);
	uint64_t bit;

	/* Release: all that the caller did with the task. Acquire: all that the
	 * task did, or the writes of a thread before it asked for the cancel.
	 * Both pair with group_slot_end() and group_slot_hold(). The loop
	 * repeats when the task ended, or a thread asked for its cancel. */
	do {
		*asked = (old & GROUP_SLOT_ASKED) && !(old & GROUP_SLOT_ENDED);
		bit = *asked ? GROUP_SLOT_ASKED : GROUP_SLOT_HELD;
	} while (!atomic_cas_acq_rel(slot, &old, old & ~bit));
	return old & GROUP_SLOT_ENDED;
}

bool group_slot_end(atomic_u64 *slot)
{
	/* Release: all that the task did. Acquire: all that earlier holders did
	 * with the task. Both pair with group_slot_leave(). */
	return !(atomic_fetch_or_acq_rel(slot, GROUP_SLOT_ENDED) &
		 GROUP_SLOT_HELD);
}

void group_slot_clear(atomic_u64 *slot)
{
	/* Relaxed: no thread accesses a task through a free slot. */
	atomic_store_relaxed(slot, 0);
}
