/* SPDX-License-Identifier: MIT */
/* split_deque.c - see split_deque.h for the protocol and its invariants */
#include "core/queue/split_deque.h"

#include <stdint.h>

#define SPLIT_SHIFT 32

/* Tags in a slot. A pointer to a job is aligned, and has neither bit set. */
#define AWAITED   UINT64_C(1)
#define TAKEN     UINT64_C(2)
#define TAG_SHIFT 2

/* ---- the shared word ------------------------------------------------------ */

static uint64_t pack(uint32_t split, uint32_t tail)
{
	return (uint64_t)split << SPLIT_SHIFT | tail;
}

static uint32_t split_of(uint64_t shared)
{
	return (uint32_t)(shared >> SPLIT_SHIFT);
}

static uint32_t tail_of(uint64_t shared)
{
	return (uint32_t)shared;
}

/* ---- the owner ------------------------------------------------------------ */

static uint32_t position(const struct split_deque *deque, const void *slot)
{
	return (uint32_t)((const atomic_ptr *)slot - deque->slots);
}

static void set_split(struct split_deque *deque, uint32_t split)
{
	deque->inlined.split = (void **)(deque->slots + split);
}

/* The inline functions also compile as C++, where this is a plain integer. */
static atomic_u32 *wanted(struct split_deque *deque)
{
	return (atomic_u32 *)&deque->inlined.wanted;
}

/* Note that all jobs that are left, if any, were stolen: the next fork and the
 * next join take the slow path. */
static void set_all_stolen(struct split_deque *deque)
{
	deque->all_stolen = true;
	deque->inlined.split = (void **)UINTPTR_MAX;
	/* Relaxed: only the owner reads it. */
	atomic_store_relaxed(wanted(deque), 1);
}

void split_deque_init(struct split_deque *deque, atomic_ptr *slots,
		      size_t count, bool thieves)
{
	atomic_init(wanted(deque), 0);
	atomic_init(&deque->shared, 0);
	deque->slots = slots;
	deque->all_stolen = false;
	deque->inlined.split = NULL;
	deque->inlined.end = (void **)(slots + count);
	deque->inlined.room = (void **)(slots + count / 2);
	deque->inlined.top = (void **)slots;
	if (thieves)
		set_all_stolen(deque);
}

void split_deque_publish_owner(struct split_deque *deque, void **head)
{
	uint32_t end = position(deque, head);
	uint32_t split, more;

	/* Relaxed: the releases below order it before the publication, so that
	 * the thief of the last public job asks again (J4). */
	atomic_store_relaxed(wanted(deque), 0);
	if (deque->all_stolen) {
		/* Release: publishes the slot and the job. Pairs with the
		 * acquire in split_deque_steal(). A store suffices: no thief
		 * claims a job while split is not past tail. */
		atomic_store_release(&deque->shared, pack(end, end - 1));
		set_split(deque, end);
		deque->all_stolen = false;
		return;
	}
	/* Publish half of the private jobs, at least one. */
	split = position(deque, deque->inlined.split);
	more = (end - split + 1) / 2;
	/* Release: as in the store above. */
	atomic_fetch_add_release(&deque->shared, (uint64_t)more << SPLIT_SHIFT);
	set_split(deque, split + more);
}

/* Make the younger half of the public jobs private again, and with it the job
 * at @last, the newest of all. Return: false if that job was stolen. */
static bool take_back(struct split_deque *deque, uint32_t last)
{
	/* Relaxed: the compare-exchange decides. */
	uint64_t shared = atomic_load_relaxed(&deque->shared);
	uint32_t tail, left;

	/* Lower split in a single step. With several steps, jobs that were
	 * private in between would become public again without F1, and the
	 * thief of the last public job would not have asked for more (J4). The
	 * loop repeats when a thief has taken a job. */
	do {
		tail = tail_of(shared);
		if (tail > last)
			return false;
		left = tail + (last - tail + 1) / 2;
		/* Relaxed: the owner itself wrote the jobs. Jobs that were
		 * published before stay published, because this is a
		 * read-modify-write. */
	} while (
		!atomic_cas_relaxed(&deque->shared, &shared, pack(left, tail)));
	set_split(deque, left);
	/* That was the last job: only stolen ones are left. */
	if (left == last && tail == last)
		set_all_stolen(deque);
	return true;
}

bool split_deque_reclaim_owner(struct split_deque *deque, atomic_ptr *slot)
{
	if (deque->all_stolen)
		return false;
	if (take_back(deque, position(deque, slot)))
		return true;
	set_all_stolen(deque);
	return false;
}

/* ---- thieves -------------------------------------------------------------- */

/* Record in the slot which thief has the job. */
static void take(atomic_ptr *slot, void *job, unsigned thief)
{
	uintptr_t taken = (uintptr_t)thief << TAG_SHIFT | TAKEN;
	void *seen = job;

	/* Relaxed, both: the number of the thief is a hint, and the same thread
	 * reads AWAITED again in split_deque_done(). If the compare-exchange
	 * fails, the owner has added AWAITED (J2). */
	if (!atomic_cas_relaxed(slot, &seen, (void *)taken))
		atomic_store_relaxed(slot, (void *)(taken | AWAITED));
}

struct split_deque_steal split_deque_steal(struct split_deque *deque,
					   unsigned thief)
{
	struct split_deque_steal steal = { .outcome = SKUA_STEAL_EMPTY };
	/* Relaxed: the compare-exchange acquires. */
	uint64_t shared = atomic_load_relaxed(&deque->shared);
	uint32_t tail = tail_of(shared);

	if (tail >= split_of(shared))
		return steal;
	/* Acquire: the slots before split. Pairs with the releases in
	 * split_deque_publish_owner(). The word that it replaces may be a newer
	 * one with the same value. */
	if (!atomic_cas_acquire(&deque->shared, &shared, shared + 1)) {
		steal.outcome = SKUA_STEAL_RETRY;
		return steal;
	}
	steal.outcome = SKUA_STEAL_SUCCESS;
	steal.slot = &deque->slots[tail];
	/* Relaxed: the read comes after the claim (J2). */
	steal.job =
		(struct skua_job *)((uintptr_t)atomic_load_relaxed(steal.slot) &
				    ~(uintptr_t)AWAITED);
	steal.more = tail + 1 < split_of(shared);
	take(steal.slot, steal.job, thief);
	/* Relaxed: thieves find public jobs without @wanted (J4). */
	if (!steal.more)
		atomic_store_relaxed(wanted(deque), 1);
	return steal;
}

bool split_deque_done(atomic_ptr *slot)
{
	/* Release: all that the job wrote. Pairs with the acquire in
	 * split_deque_is_done_owner(). */
	uintptr_t before = (uintptr_t)atomic_exchange_release(slot, NULL);

	return before & AWAITED;
}

/* ---- waiting -------------------------------------------------------------- */

int split_deque_thief_owner(const atomic_ptr *slot)
{
	/* Relaxed: a hint. */
	uintptr_t value = (uintptr_t)atomic_load_relaxed(slot);

	return value & TAKEN ? (int)(value >> TAG_SHIFT) : -1;
}

bool split_deque_await_owner(atomic_ptr *slot)
{
	/* Relaxed, all: the caller checks again with
	 * split_deque_is_done_owner(), which acquires. The loop repeats when
	 * the thief has recorded its number, or has finished the job. */
	void *value = atomic_load_relaxed(slot);

	while (value != NULL && !((uintptr_t)value & AWAITED)) {
		if (atomic_cas_relaxed(slot, &value,
				       (void *)((uintptr_t)value | AWAITED)))
			break;
	}
	return value != NULL;
}

bool split_deque_visible(const struct split_deque *deque)
{
	/* Relaxed: the caller fences before this call, or needs only a hint. */
	uint64_t shared = atomic_load_relaxed(&deque->shared);

	return tail_of(shared) < split_of(shared);
}
