/* SPDX-License-Identifier: MIT */
/**
 * summary.h - which groups may have sleepers, a bit for each group
 *
 * Each group has a word with a bit for each of its sleepers, on a line of the
 * group. The summary lets a waker find such a group without a look at the words
 * of all groups. It is written by the first sleeper of a group, and by a waker
 * that finds a group empty, but not at each sleep and wake-up (I8 in
 * core/idle/IDLE.md):
 *
 *	sleeper                              waker
 *	sets its bit in the group's word     sees the summary bit, and no sleeper
 *	summary_raise():                     summary_lower():
 *	  fence                                clears the summary bit
 *	  sets the summary bit if clear        fence
 *	                                     checks the word again; if it is not 0:
 *	                                     summary_return(), and goes on with
 *	                                     this group
 *
 * One of the two fences comes first: either the waker sees the sleeper, or the
 * sleeper sees the summary bit clear, and sets it.
 */
#ifndef SKUA_CORE_IDLE_SUMMARY_H
#define SKUA_CORE_IDLE_SUMMARY_H

#include "core/base/atomic.h"

#define SUMMARY_BITS 64u
/* The words for so many groups. */
#define SUMMARY_WORDS(groups) (((groups) + SUMMARY_BITS - 1) / SUMMARY_BITS)

static inline uint64_t summary_bit(unsigned group)
{
	return UINT64_C(1) << group % SUMMARY_BITS;
}

/* summary_raise - note that @group has a sleeper; directly after the
 * read-modify-write that set the sleeper's bit. The caller fences before it
 * checks for work. */
static inline void summary_raise(atomic_u64 *summary, unsigned group)
{
	atomic_u64 *word = &summary[group / SUMMARY_BITS];

	/* I8. Orders the sleeper's bit before the load of the summary. Pairs
	 * with the fence in summary_lower(). */
	atomic_fence_updated_seq_cst();
	/* Relaxed, both: ordered by the fence above, and by the caller's. */
	if (!(atomic_load_relaxed(word) & summary_bit(group)))
		atomic_fetch_or_relaxed(word, summary_bit(group));
}

/* summary_lower - clear the bit of @group, in which no worker seemed to sleep.
 * The caller checks the group's word again. */
static inline void summary_lower(atomic_u64 *summary, unsigned group)
{
	/* Relaxed: ordered by the fence. */
	atomic_fetch_and_relaxed(&summary[group / SUMMARY_BITS],
				 ~summary_bit(group));
	/* I8. Orders the summary bit before the load of the group's word. Pairs
	 * with the fence in summary_raise(). */
	atomic_fence_updated_seq_cst();
}

/* summary_return - set the bit again: the group has a sleeper after all */
static inline void summary_return(atomic_u64 *summary, unsigned group)
{
	/* Relaxed: ordered by the fence. */
	atomic_fetch_or_relaxed(&summary[group / SUMMARY_BITS],
				summary_bit(group));
	/* I8. A thread that saw the bit clear meanwhile has left its work to
	 * the caller. Orders the bit before everything that the caller checks
	 * from now on. */
	atomic_fence_updated_seq_cst();
}

/* summary_next - return the first group from @from on, and below @to, whose bit
 * is set; @to: there is none. The caller has fenced. */
static inline unsigned summary_next(const atomic_u64 *summary, unsigned from,
				    unsigned to)
{
	while (from < to) {
		/* Relaxed: ordered by the caller's fence. */
		uint64_t word =
			atomic_load_relaxed(&summary[from / SUMMARY_BITS]) &
			UINT64_MAX << from % SUMMARY_BITS;

		if (word != 0) {
			from = from / SUMMARY_BITS * SUMMARY_BITS +
			       (unsigned)__builtin_ctzll(word);
			break;
		}
		from = (from / SUMMARY_BITS + 1) * SUMMARY_BITS;
	}
	return from < to ? from : to;
}

#endif
