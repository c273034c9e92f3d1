/* SPDX-License-Identifier: MIT */
/* arrivals.h - which tasks come to simulated workers, when and where */
#ifndef SKUA_BENCH_SIMULATOR_ARRIVALS_H
#define SKUA_BENCH_SIMULATOR_ARRIVALS_H

#include <math.h>
#include <stdint.h>

#include "bench/simulator/layout.h"

enum workload_kind {
	WORKLOAD_EVEN,   /* to any worker */
	WORKLOAD_SKEW,   /* to the first node three times as many */
	WORKLOAD_SINGLE, /* all to one worker */
	WORKLOAD_BURST,  /* by 64, to one worker of each node */
	WORKLOAD_TREE,   /* one, and each forks two */
	WORKLOAD_KINDS
};

enum { ARRIVALS_BURST = 64 };

/**
 * struct arrivals
 * @percent: of the time of all workers that the tasks take, at home. Of a tree:
 *	     not used
 * @service_ns: of a task: the mean of an exponential distribution. Of a tree: of
 *		each task
 * @next_ns: time of the next arrival; UINT64_MAX: never
 * @count: its number of tasks
 * @worker: the worker that receives them
 */
struct arrivals {
	enum workload_kind kind;
	unsigned percent;
	uint64_t service_ns;
	uint64_t next_ns;
	unsigned count;
	unsigned worker;
	const struct layout *layout;
	uint64_t random;
	double exact_ns; /* @next_ns before it was rounded: gaps are short */
};

/* arrivals_begin - @arrivals has its members up to @service_ns */
void arrivals_begin(struct arrivals *arrivals, const struct layout *layout,
		    uint64_t seed);

/* arrivals_next - the following ones */
void arrivals_next(struct arrivals *arrivals);

/* arrivals_service_ns - the time that one of the tasks takes at home */
uint32_t arrivals_service_ns(struct arrivals *arrivals);

#endif
