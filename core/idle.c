/* SPDX-License-Identifier: MIT */
/* idle.c - see core/IDLE.md for the protocol and its proof */
#include "core/idle.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include "core/clock.h"
#include "probes/probes.h"

/* Before the first measurement: a guess, between bare metal and a guest. */
#define WAKE_COST_FIRST_NS UINT64_C(5000)
/* A sleeper whose CPU was busy says nothing of what a wake-up takes. */
#define WAKE_COST_MAX_NS UINT64_C(50000)

void idle_init(struct idle *idle, unsigned workers,
	       struct idle_sleeper *sleepers)
{
	assert(workers > 0 && workers <= IDLE_MAX_WORKERS);
	atomic_init(&idle->searching, 0);
	atomic_init(&idle->last_choice, 0);
	atomic_init(&idle->first_choice, 0);
	atomic_init(&idle->wake_cost_ns, WAKE_COST_FIRST_NS);
	idle->workers = workers;
	idle->words = (workers + IDLE_WORD_BITS - 1) / IDLE_WORD_BITS;
	idle->sleepers = sleepers;
	for (unsigned w = 0; w < idle->words; w++)
		atomic_init(&idle->parked[w], 0);
	for (unsigned i = 0; i < workers; i++) {
		parker_init(&sleepers[i].parker);
		atomic_init(&sleepers[i].claimed_ns, 0);
		atomic_init(&sleepers[i].claimed_by, 0);
		atomic_init(&sleepers[i].cpu, 0);
	}
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

/* The CPU that the caller is on, + 1; 0 if that cannot be known. */
static uint32_t cpu_here(void)
{
#ifdef SKUA_EXPLORE
	return 0;
#else
	int saved = errno; /* the library never sets it */
	int cpu = sched_getcpu();

	errno = saved;
	return (uint32_t)(cpu + 1);
#endif
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
	atomic_u64 *word = parked_word(idle, i);

	/* Relaxed, all: before the bit; for a tracer alone, and hints. */
	atomic_store_relaxed(&idle->sleepers[i].claimed_by, 0);
	atomic_store_relaxed(&idle->sleepers[i].cpu, cpu_here());
	atomic_store_relaxed(&idle->first_choice, i + 1);
	/* Relaxed: ordered by the fence. The bit comes first, so that whoever
	 * sees no searcher finds somebody to wake. */
	atomic_fetch_or_relaxed(word, parked_bit(i));
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
	 * searcher before; pairs with the release in wake_one(). */
	if (atomic_fetch_and_acq_rel(parked_word(idle, i), ~bit) & bit)
		atomic_fetch_add_relaxed(&idle->searching, 1);
	/* Otherwise the waker's notification is still to come, and ends one of
	 * the next parks without cause. */

	/* I7. Orders the cleared bit before all that the worker does from now
	 * on. Pairs with the fences in give_role() and sentinel_summon(). */
	atomic_fence_seq_cst();
}

/* Clear the parked bit of worker @i and wake it; false if it was clear. */
static bool wake_one(struct idle *idle, unsigned i)
{
	uint64_t bit = parked_bit(i);

	/* Release: the count comes first. Pairs with the acquires of
	 * idle_park_cancel() and idle_parked(). */
	if (!(atomic_fetch_and_acq_rel(parked_word(idle, i), ~bit) & bit))
		return false;
	/* Relaxed, also below: the notification publishes them. */
	atomic_store_relaxed(&idle->sleepers[i].claimed_ns, clock_now_ns());
	if (probe_unpark_enabled())
		atomic_store_relaxed(&idle->sleepers[i].claimed_by,
				     (uint32_t)gettid());
	parker_unpark(&idle->sleepers[i].parker);
	return true;
}

static bool seems_parked(struct idle *idle, unsigned i)
{
	/* Relaxed: a hint; the read-modify-write decides. */
	return atomic_load_relaxed(parked_word(idle, i)) & parked_bit(i);
}

void idle_woken(struct idle *idle, unsigned i, uint64_t now_ns)
{
	/* Relaxed, all: a statistic, and one of two that write it at once may
	 * be lost. */
	uint64_t claimed_ns =
		atomic_load_relaxed(&idle->sleepers[i].claimed_ns);
	uint64_t mean_ns = atomic_load_relaxed(&idle->wake_cost_ns);
	uint64_t cost_ns = now_ns - claimed_ns;

	if (cost_ns <= WAKE_COST_MAX_NS)
		atomic_store_relaxed(&idle->wake_cost_ns,
				     (cost_ns + 7 * mean_ns) / 8);
}

uint32_t idle_waker(const struct idle *idle, unsigned i)
{
	/* Relaxed: as in idle_woken(). */
	return atomic_load_relaxed(&idle->sleepers[i].claimed_by);
}

/* Would worker @i wake up on CPU @cpu? */
static bool sleeps_on(const struct idle *idle, unsigned i, uint32_t cpu)
{
	/* Relaxed: a hint. */
	return cpu != 0 && atomic_load_relaxed(&idle->sleepers[i].cpu) == cpu;
}

/* Clear one parked bit and wake its worker, unless it is @spared or sleeps on
 * @cpu; false if none was found. */
static bool wake_any(struct idle *idle, unsigned spared, uint32_t cpu)
{
	for (unsigned w = 0; w < idle->words; w++) {
		/* Relaxed: a hint; the read-modify-write decides. */
		uint64_t word = atomic_load_relaxed(&idle->parked[w]);

		/* A further round means that somebody else cleared the bit. */
		for (; word != 0; word &= word - 1) {
			unsigned i = w * IDLE_WORD_BITS +
				     (unsigned)__builtin_ctzll(word);

			if (i != spared && !sleeps_on(idle, i, cpu) &&
			    wake_one(idle, i))
				return true;
		}
	}
	return false;
}

/* Clear one parked bit and wake its worker, but neither the last choice nor one
 * that sleeps on @cpu; false if none was found. */
static bool wake_first(struct idle *idle, uint32_t cpu)
{
	/* Relaxed, all: a matter of cost. */
	uint32_t first = atomic_load_relaxed(&idle->first_choice);
	uint32_t last = atomic_load_relaxed(&idle->last_choice);

	if (first != 0 && first != last && seems_parked(idle, first - 1) &&
	    !sleeps_on(idle, first - 1, cpu) && wake_one(idle, first - 1))
		return true;
	return wake_any(idle, last - 1, cpu);
}

/* The same, whoever it is. */
static bool wake_last(struct idle *idle)
{
	return wake_first(idle, 0) || wake_any(idle, idle->workers, 0);
}

/* Clear one parked bit and wake its worker; false if none was found. */
static bool wake_claim(struct idle *idle)
{
	/* For the time being this CPU is busy with the caller. */
	uint32_t here = cpu_here();

	return (here != 0 && wake_first(idle, here)) || wake_last(idle);
}

int idle_first_parked(const struct idle *idle)
{
	for (unsigned w = 0; w < idle->words; w++) {
		/* Relaxed: ordered by the caller's fence. */
		uint64_t word = atomic_load_relaxed(&idle->parked[w]);

		if (word != 0)
			return (int)(w * IDLE_WORD_BITS) +
			       __builtin_ctzll(word);
	}
	return -1;
}

bool idle_sleeps_elsewhere(const struct idle *idle)
{
	uint32_t here;

	if (idle_first_parked(idle) < 0)
		return false;
	here = cpu_here();
	for (unsigned w = 0; w < idle->words; w++) {
		/* Relaxed: ordered by the caller's fence. */
		uint64_t word = atomic_load_relaxed(&idle->parked[w]);

		for (; word != 0; word &= word - 1) {
			if (!sleeps_on(idle,
				       w * IDLE_WORD_BITS +
					       (unsigned)__builtin_ctzll(word),
				       here))
				return true;
		}
	}
	return false;
}

bool idle_all_parked(const struct idle *idle)
{
	unsigned parked = 0;

	for (unsigned w = 0; w < idle->words; w++)
		/* Relaxed: as above. */
		parked += (unsigned)__builtin_popcountll(
			atomic_load_relaxed(&idle->parked[w]));
	return parked == idle->workers;
}

void idle_wake_worker(struct idle *idle, unsigned i)
{
	/* Ordered by the caller's fence. A worker that is awake looks at its
	 * inbox before it sleeps (I2). */
	if (!seems_parked(idle, i))
		return;
	/* Relaxed, and as in idle_wake(): the count comes first. */
	atomic_fetch_add_relaxed(&idle->searching, 1);
	if (wake_one(idle, i))
		return;
	/* I4, as in idle_wake(). */
	atomic_fetch_sub_acq_rel(&idle->searching, 1);
	atomic_fence_seq_cst();
	idle_wake(idle);
}

void idle_wake(struct idle *idle)
{
	uint64_t none = 0;

	/* A further round means that a bit that was seen was gone. */
	for (;;) {
		/* Relaxed, all: ordered by the caller's fence. */
		if (atomic_load_relaxed(&idle->searching) != 0 ||
		    idle_first_parked(idle) < 0)
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
	} while (wake_last(idle));
	atomic_fetch_sub_relaxed(&idle->searching, 1);
}
