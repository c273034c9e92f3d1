/* SPDX-License-Identifier: MIT */
/* idle.c - see core/IDLE.md for the protocol and its proof */
#include "core/idle.h"

#include <assert.h>

void idle_init(struct idle *idle, unsigned workers,
	       struct idle_sleeper *sleepers)
{
	assert(workers > 0 && workers <= IDLE_MAX_WORKERS);
	atomic_init(&idle->searching, 0);
	idle->workers = workers;
	idle->words = (workers + IDLE_WORD_BITS - 1) / IDLE_WORD_BITS;
	idle->sleepers = sleepers;
	for (unsigned w = 0; w < idle->words; w++)
		atomic_init(&idle->parked[w], 0);
	for (unsigned i = 0; i < workers; i++)
		parker_init(&sleepers[i].parker);
}

static inline atomic_u64 *parked_word(struct idle *idle, unsigned i)
{
	assert(i < idle->workers);
	return &idle->parked[i / IDLE_WORD_BITS];
}

static inline uint64_t parked_bit(unsigned i)
{
	return UINT64_C(1) << i % IDLE_WORD_BITS;
}

bool idle_try_search(struct idle *idle)
{
	/* Relaxed: the limit is a matter of cost. Two that pass it together
	 * exceed it by one. */
	if (2 * atomic_load_relaxed(&idle->searching) >= idle->workers)
		return false;
	/* Relaxed: a producer that does not see it yet wakes one too many. */
	atomic_fetch_add_relaxed(&idle->searching, 1);
	return true;
}

bool idle_leave_search(struct idle *idle)
{
	/* Release: what the caller moved into its own queue, to the searchers
	 * that it leaves it to. Acquire: the same of those that left before.
	 * Pairs with itself and with the one in idle_park_begin(). */
	uint64_t before = atomic_fetch_sub_acq_rel(&idle->searching, 1);

	assert(before > 0);
	if (before != 1)
		return false;
	/* Orders the count before the caller's look at the queues. Pairs with
	 * the fence in idle_notify(): either the caller sees the push, or the
	 * producer sees that nobody searches any more. */
	atomic_fence_seq_cst();
	return true;
}

void idle_park_begin(struct idle *idle, unsigned i, bool searching)
{
	/* Relaxed: ordered by the fence. The bit comes first, so that whoever
	 * sees no searcher finds somebody to wake. */
	atomic_fetch_or_relaxed(parked_word(idle, i), parked_bit(i));
	/* Acquire: what searchers that left before moved into their queues.
	 * Pairs with the release in idle_leave_search(). */
	if (searching)
		atomic_fetch_sub_acq_rel(&idle->searching, 1);
	/* Orders the two before the caller's look at the queues. Pairs with the
	 * fences in idle_notify() and idle_leave_search(). */
	atomic_fence_seq_cst();
}

void idle_park_cancel(struct idle *idle, unsigned i)
{
	uint64_t bit = parked_bit(i);

	/* Acquire: if a waker was faster, it has counted this worker as a
	 * searcher before; pairs with the release in wake_claim(). */
	if (atomic_fetch_and_acq_rel(parked_word(idle, i), ~bit) & bit)
		atomic_fetch_add_relaxed(&idle->searching, 1);
	/* Otherwise the waker's notification is still to come, and ends one of
	 * the next parks without cause. */
}

void idle_park_wait(struct idle *idle, unsigned i)
{
	/* Acquire: as in idle_park_cancel(). A round more means that the park
	 * ended by the notification of an earlier claim. */
	while (atomic_load_acquire(parked_word(idle, i)) & parked_bit(i))
		parker_park(&idle->sleepers[i].parker);
}

/* Clear one parked bit and wake its worker; false if none was found. */
static bool wake_claim(struct idle *idle)
{
	for (unsigned w = 0; w < idle->words; w++) {
		/* Relaxed: a hint; the read-modify-write decides. */
		uint64_t word = atomic_load_relaxed(&idle->parked[w]);

		/* A further round means that somebody else cleared the bit. */
		while (word != 0) {
			uint64_t bit = word & -word;
			unsigned i = w * IDLE_WORD_BITS +
				     (unsigned)__builtin_ctzll(word);

			/* Release: the count in idle_wake() comes first. Pairs
			 * with the acquires of idle_park_cancel() and
			 * idle_park_wait(). */
			word = atomic_fetch_and_acq_rel(&idle->parked[w], ~bit);
			if (word & bit) {
				parker_unpark(&idle->sleepers[i].parker);
				return true;
			}
		}
	}
	return false;
}

static bool anyone_parked(const struct idle *idle)
{
	for (unsigned w = 0; w < idle->words; w++) {
		/* Relaxed: ordered by the caller's fence. */
		if (atomic_load_relaxed(&idle->parked[w]) != 0)
			return true;
	}
	return false;
}

void idle_wake(struct idle *idle)
{
	uint64_t none = 0;

	/* A further round means that a bit that was seen was gone. */
	for (;;) {
		/* Relaxed, all: ordered by the caller's fence. */
		if (atomic_load_relaxed(&idle->searching) != 0 ||
		    !anyone_parked(idle))
			return;
		/*
		 * The count first, on behalf of the worker that wakes, so that
		 * whoever comes next wakes no second one, and the worker can
		 * give the count back at any time. Only from 0: one wake-up is
		 * under way at a time (I3).
		 */
		if (!atomic_cas_relaxed(&idle->searching, &none, 1))
			return;
		if (wake_claim(idle))
			return;
		/*
		 * Nobody to wake. Others may have relied on the count
		 * meanwhile: take it back, and look again on their behalf (I4).
		 * Release and acquire: as in idle_leave_search(), so that the
		 * chain of decrements has no gap.
		 */
		atomic_fetch_sub_acq_rel(&idle->searching, 1);
		atomic_fence_seq_cst();
	}
}

void idle_wake_all(struct idle *idle)
{
	/* Relaxed: a producer that does not see it wakes one too many. */
	do {
		atomic_fetch_add_relaxed(&idle->searching, 1);
	} while (wake_claim(idle));
	atomic_fetch_sub_relaxed(&idle->searching, 1);
}
