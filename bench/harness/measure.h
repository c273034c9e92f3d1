/* SPDX-License-Identifier: MIT */
/* measure.h - run a workload for a number of rounds, and time them */
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
 * struct measure_usage - the kernel's counts for this process (getrusage())
 * @cpu_ns: CPU time of all threads, in user mode and in the kernel
 * @voluntary, @involuntary: context switches away from a thread that waited, and from
 *                           a thread that could have continued
 * @page_faults: page faults that needed no read from a disk
 */
struct measure_usage {
	uint64_t cpu_ns;
	uint64_t voluntary;
	uint64_t involuntary;
	uint64_t page_faults;
};

/**
 * struct measure_watch - an observer of timed rounds; it makes them slower
 * @begin: called before each timed round; @rt is NULL if there are no workers
 * @end: called after each timed round
 */
struct measure_watch {
	void (*begin)(struct measure_watch *watch, struct skua_runtime *rt);
	void (*end)(struct measure_watch *watch);
};

/**
 * struct measurement - the result of measure()
 * @workload: borrowed
 * @params: the workload's options as a JSON object, owned
 * @workers: number of workers; 0: the workload ran in the calling thread alone
 * @rounds: number of timed rounds
 * @ops: operations in a round
 * @median_ns, @min_ns, @max_ns: median, shortest and longest time of an operation,
 *                               over the rounds
 * @rounds_ns: time of an operation in each round, array, owned
 * @usage: the kernel's counts over the timed rounds
 * @ok: every result was right, including the warm-up's
 * @noisy: set by the caller: the machine was busy with other work
 * @figures: further measurements of the workload, as a JSON object, owned; or NULL
 * @stats: counters of the runtime, over the timed rounds
 * @counted: at least one hardware counter counted
 * @counters: hardware counters, over the timed rounds
 * @rounds_instructions: instructions for each operation, by round, array, owned; 0: not
 *                       counted
 * @counters_reason: why no counters exist, or which are missing; "" if all exist
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
 * measure - run a workload, check its results, and time it
 * @workload: the workload, borrowed for as long as @out is used
 * @options: its options struct
 * @workers: number of workers; 0: as many as the library chooses
 * @rounds: timed rounds, 1 to MEASURE_MAX_ROUNDS; a warm-up round comes first
 * @watch: observer; NULL: none
 * @out: receives the result; measurement_free() it if the call succeeds
 *
 * Return: 0, also if a result was wrong (see measurement.ok); -errno if the workload
 * could not run, with the reason printed on stderr.
 */
int measure(const struct workload *workload, const void *options,
	    unsigned workers, unsigned rounds, struct measure_watch *watch,
	    struct measurement *out);

void measurement_free(struct measurement *m);

#endif
