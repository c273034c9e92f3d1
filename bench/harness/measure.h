/* SPDX-License-Identifier: MIT */
/* measure.h - run a workload for some rounds and time them */
#ifndef SKUA_BENCH_HARNESS_MEASURE_H
#define SKUA_BENCH_HARNESS_MEASURE_H

#include "bench/harness/workload.h"
#include "probes/perf_group.h"

#define MEASURE_MAX_ROUNDS 10000

/* The counted events, by their index in counters.event[]. */
enum {
	MEASURE_CYCLES,
	MEASURE_INSTRUCTIONS,
	MEASURE_CACHE_MISSES,
	MEASURE_BRANCH_MISSES,
	MEASURE_EVENTS
};

/**
 * struct measure_usage - the counts of the kernel for the process
 * @cpu_ns: of all threads, in user mode and in the kernel
 * @voluntary, @involuntary: switches away from a thread that waited, and from
 *                           one that could have continued
 * @page_faults: without reading from a disk
 */
struct measure_usage {
	uint64_t cpu_ns;
	uint64_t voluntary;
	uint64_t involuntary;
	uint64_t page_faults;
};

/**
 * struct measure_watch - an observer of timed rounds, which makes them slower
 * @begin, @end: before and after each timed round; @rt is NULL without workers
 */
struct measure_watch {
	void (*begin)(struct measure_watch *watch, struct skua_runtime *rt);
	void (*end)(struct measure_watch *watch);
};

/**
 * struct measurement - the result of measure()
 * @workload: borrowed
 * @params: the workload's options as a JSON object, owned
 * @workers: 0 if it ran without
 * @rounds: timed ones
 * @ops: operations in a round
 * @median_ns, @min_ns, @max_ns: time of an operation, over the rounds
 * @rounds_ns: of an operation, by round, owned
 * @usage: in the timed rounds
 * @ok: was every result right, also the warm-up's?
 * @noisy: set by the caller: was the machine busy with other work?
 * @figures: further measurements of the workload, as a JSON object, owned; or NULL
 * @stats: counters of the runtime, over the timed rounds
 * @counted: did any counter count?
 * @counters: over the timed rounds
 * @rounds_instructions: of an operation, by round, owned; 0: not counted
 * @counters_reason: why there are none, or which are missing, or ""
 */
struct measurement {
	const struct workload *workload;
	json_t *params;
	unsigned workers;
	unsigned rounds;
	uint64_t ops;
	double median_ns;
	double min_ns;
	double max_ns;
	double *rounds_ns;
	struct measure_usage usage;
	bool ok;
	bool noisy;
	json_t *figures;
	struct skua_stats stats;
	bool counted;
	struct perf_group_values counters;
	double *rounds_instructions;
	char counters_reason[200];
};

/**
 * measure - run a workload
 * @workload: the workload
 * @options: its options struct
 * @workers: 0 = as many as the library chooses
 * @rounds: 1 to MEASURE_MAX_ROUNDS, after one of warm-up
 * @watch: or NULL
 * @out: receives the result; measurement_free() it if the call succeeds
 *
 * Return: 0, also with a wrong result (see @ok); -errno if it could not run,
 * and why is printed.
 */
int measure(const struct workload *workload, const void *options,
	    unsigned workers, unsigned rounds, struct measure_watch *watch,
	    struct measurement *out);

void measurement_free(struct measurement *m);

#endif
