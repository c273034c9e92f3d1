/* SPDX-License-Identifier: MIT */
/**
 * schedule.h - random numbers, and the arrivals of a Poisson process
 *
 * The same seed gives the same numbers and the same arrivals.
 */
#ifndef SKUA_BENCH_LOAD_SCHEDULE_H
#define SKUA_BENCH_LOAD_SCHEDULE_H

#include <stdint.h>

struct random {
	uint64_t state;
};

/* random_next - return 64 random bits (splitmix64) */
static inline uint64_t random_next(struct random *random)
{
	uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* random_below - return a random number below @bound, which is not 0 */
static inline uint64_t random_below(struct random *random, uint64_t bound)
{
	return (uint64_t)((unsigned __int128)random_next(random) * bound >> 64);
}

/**
 * struct schedule - when requests should be sent
 * @gap_ns: mean time between two arrivals
 * @start_ns: CLOCK_MONOTONIC at the start
 * @since_ns: time from the start to the last arrival
 */
struct schedule {
	struct random random;
	double gap_ns;
	uint64_t start_ns;
	double since_ns;
};

/* schedule_start - start a schedule at @start_ns with @rate arrivals a second */
void schedule_start(struct schedule *schedule, uint64_t seed, double rate,
		    uint64_t start_ns);

/* schedule_next - return the time of the next arrival; the times between arrivals are
 * exponentially distributed */
uint64_t schedule_next(struct schedule *schedule);

#endif
