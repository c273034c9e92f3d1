/* SPDX-License-Identifier: MIT */
/* arrivals.h - decide when tasks arrive at which simulated workers, and how many */
#ifndef SKUA_BENCH_SIMULATOR_ARRIVALS_H
#define SKUA_BENCH_SIMULATOR_ARRIVALS_H

#include <math.h>
#include <stdint.h>

#include "bench/simulator/layout.h"

enum workload_kind {
	WORKLOAD_EVEN,    /* to any worker, all alike */
	WORKLOAD_SKEW,    /* to the first node, three times as many */
	WORKLOAD_SINGLE,  /* all to one worker */
	WORKLOAD_BURST,   /* 64 at once, to the first worker of a random node */
	WORKLOAD_OUTSIDE, /* from 64 threads, each at the queue of a group */
	WORKLOAD_TREE,    /* one task arrives; each task forks two */
	WORKLOAD_ONCE, /* one task arrives, and spawns many; the rest is idle */
	WORKLOAD_KINDS
};

enum { ARRIVALS_BURST = 64, ARRIVALS_THREADS = 64 };

/**
 * struct arrivals - the arrival that comes next, and how the later ones are drawn
 * @percent: percentage of all workers' time that the tasks take if each runs on its home
 *	     node; not used for a tree and for `once`
 * @service_ns: mean of the exponentially distributed times of tasks; for a tree and for
 *		`once`, the time of every task
 * @next_ns: time of the next arrival; UINT64_MAX: none comes
 * @count: number of tasks that arrive then
 * @worker: the worker that receives them; of tasks from outside, the first of the group
 *	    that is nearest to the thread
 * @random: state of the generator
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
	double exact_ns; /* @next_ns before rounding, because gaps are short */
};

/* arrivals_begin - draw the first arrival; @kind, @percent and @service_ns are set */
void arrivals_begin(struct arrivals *arrivals, const struct layout *layout,
		    uint64_t seed);

/* arrivals_next - draw the next arrival */
void arrivals_next(struct arrivals *arrivals);

/* arrivals_service_ns - draw the time that one of the tasks takes on its home node */
uint32_t arrivals_service_ns(struct arrivals *arrivals);

#endif
