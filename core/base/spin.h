/* SPDX-License-Identifier: MIT */
/**
 * spin.h - how long a worker searches for work before it sleeps
 *
 * A search that lasts until work comes costs the time of the gap: CPU time. A
 * sleep costs the time of a wake-up: the work waits, and threads use CPU time. A
 * worker that knew when work comes would pay the smaller of the two. The worker knows only its recent gaps,
 * and takes the budget that would have cost least over these: searches for as
 * long as work probably comes soon, and none if it probably does not.
 *
 *	cost of a gap = gap             if gap <= budget
 *	                budget + cost   otherwise
 *
 * For gaps that are independent and alike, the best budget costs at most
 * e / (e - 1) = 1.58 times as much as if the worker knew the future (Karlin et
 * al., "Competitive randomized algorithms for nonuniform problems", 1990), and
 * the gaps of the past give nearly the best one. Without gaps, and where the
 * gaps do not tell, the budget is the cost of a sleep, which costs at most
 * twice as much, whatever comes. tests/unit/test_spin.c measures both.
 *
 * A gap begins when a search has found nothing at first, and ends when work
 * comes, not when the worker has woken up.
 *
 * Rejected: a limit that doubles after each gap below 50 us, and falls back to
 * the cost after a longer one. With gaps of 60 us it searched in vain each time:
 * a runtime that is woken so often took 19 % to 40 % of a CPU.
 */
#ifndef SKUA_CORE_BASE_SPIN_H
#define SKUA_CORE_BASE_SPIN_H

#include <stdint.h>

/* The gaps that a worker remembers. A guess: with 16, gaps of 1 us to 200 us
 * cost up to 1.07 times as much as with the best budget, with 64 up to 1.03
 * times. When the gaps change, a few of the new ones decide. */
#define SPIN_GAPS 64u
/* The buckets of gaps: two for each power of two. The last one has all gaps from
 * SPIN_MAX_NS on. */
#define SPIN_BUCKETS 16u
#define SPIN_FIRST   8u /* bucket 0 ends at 3/2 of 2^SPIN_FIRST ns */
/* The longest search. A guess; the benchmark `rpc` retunes it. With calls of
 * 10 us at 60 % load, the tail latency was 1.7 times that of a queue without
 * overhead while the limit was constant, 1.5 times with 20 us here, and 1.2
 * times with 50 us. */
#define SPIN_MAX_NS UINT64_C(49152)
/* The cost of a sleep, in wake-ups: the delay of the work counts twice, and the
 * CPU time of waker and sleeper once. A guess; the benchmarks `rpc` and `wake`
 * retune it, and the simulator: with 1, a worker that gets calls every 17 us
 * sleeps half of the times; with 2, more tasks of a tree leave their node. */
#define SPIN_SLEEP_WAKES 3u

/* The recent gaps of a worker. All zero at first. Accessed by it only. */
struct spin {
	uint8_t recent[SPIN_GAPS];    /* their buckets, a ring */
	uint8_t counts[SPIN_BUCKETS]; /* how many are in each bucket */
	uint8_t next;                 /* where the next gap goes in the ring */
	uint8_t total;                /* gaps in the ring */
};

/* spin_bucket - return the bucket of a gap */
static inline unsigned spin_bucket(uint64_t gap_ns)
{
	unsigned power;

	if (gap_ns >= SPIN_MAX_NS)
		return SPIN_BUCKETS - 1;
	if (gap_ns >> SPIN_FIRST == 0)
		return 0;
	power = 63 - (unsigned)__builtin_clzll(gap_ns);
	return 2 * (power - SPIN_FIRST) + (gap_ns >> (power - 1) & 1);
}

/* spin_bucket_end - return the time at which a bucket ends, in ns; not for the
 * last one */
static inline uint64_t spin_bucket_end(unsigned bucket)
{
	return (UINT64_C(3) + bucket % 2) << (SPIN_FIRST - 1 + bucket / 2);
}

/* spin_learn - remember a gap instead of the oldest one */
static inline void spin_learn(struct spin *spin, uint64_t gap_ns)
{
	uint8_t bucket = (uint8_t)spin_bucket(gap_ns);

	if (spin->total < SPIN_GAPS)
		spin->total++;
	else
		spin->counts[spin->recent[spin->next]]--;
	spin->counts[bucket]++;
	spin->recent[spin->next] = bucket;
	spin->next = (spin->next + 1) % SPIN_GAPS;
}

/**
 * spin_budget - return how long the next search may last, in ns
 * @cost_ns: the cost of a sleep: delay and CPU time
 *
 * Takes a gap to be as long as the middle of its bucket. Of several budgets that
 * would have cost the same, it returns the longest one up to @cost_ns: no gap
 * shows yet that so long a search would be in vain.
 */
static inline uint64_t spin_budget(const struct spin *spin, uint64_t cost_ns)
{
	uint64_t left = spin->total; /* gaps longer than the budget */
	uint64_t least_ns = left * cost_ns;
	uint64_t found_ns = 0; /* the sum of the other gaps */
	uint64_t begin_ns = 0;
	uint64_t budget_ns = 0;

	if (spin->total == 0)
		return cost_ns < SPIN_MAX_NS ? cost_ns : SPIN_MAX_NS;
	for (unsigned i = 0; i < SPIN_BUCKETS - 1; i++) {
		uint64_t end_ns = spin_bucket_end(i);
		uint64_t ns;

		found_ns += spin->counts[i] * (begin_ns + end_ns) / 2;
		left -= spin->counts[i];
		ns = found_ns + left * (end_ns + cost_ns);
		if (ns < least_ns || (ns == least_ns && end_ns <= cost_ns)) {
			least_ns = ns;
			budget_ns = end_ns;
		}
		begin_ns = end_ns;
	}
	return budget_ns;
}

/* spin_far_ns - return after how long a search with a budget tries other nodes:
 * after half of the budget, or half of a wake-up if the budget is shorter, but
 * at most after @delay_ns */
static inline uint64_t spin_far_ns(uint64_t budget_ns, uint64_t wake_ns,
				   uint64_t delay_ns)
{
	uint64_t half_ns = (budget_ns > wake_ns ? budget_ns : wake_ns) / 2;

	return half_ns < delay_ns ? half_ns : delay_ns;
}

#endif
