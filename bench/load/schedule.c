/* SPDX-License-Identifier: MIT */
/* schedule.c - see schedule.h */
#include "bench/load/schedule.h"

#include <math.h>

void schedule_start(struct schedule *schedule, uint64_t seed, double rate,
		    uint64_t start_ns)
{
	*schedule = (struct schedule){
		.random.state = seed,
		.gap_ns = 1e9 / rate,
		.start_ns = start_ns,
	};
}

uint64_t schedule_next(struct schedule *schedule)
{
	/* 53 bits, and never 0, of which there is no logarithm. */
	double uniform =
		((double)(random_next(&schedule->random) >> 11) + 1) * 0x1p-53;

	schedule->since_ns -= log(uniform) * schedule->gap_ns;
	return schedule->start_ns + (uint64_t)schedule->since_ns;
}
