/* SPDX-License-Identifier: MIT */
/* figures.h - compute figures from the counts of a debug area */
#ifndef SKUA_BPF_FIGURES_H
#define SKUA_BPF_FIGURES_H

#include "bpf/target/target.h"

/* A counter: its name in JSON, its help text, and its offset in struct
 * area_counters. */
struct figure_counter {
	const char *name;
	const char *help;
	size_t offset;
};

extern const struct figure_counter figure_counters[];
extern const unsigned figure_counter_count;

static inline uint64_t figure_value(const struct area_counters *counters,
				    const struct figure_counter *counter)
{
	uint64_t value;

	__builtin_memcpy(&value, (const char *)counters + counter->offset,
			 sizeof(value));
	return value;
}

/* The histograms of a worker. */
enum figure_histogram {
	FIGURE_POLL,
	FIGURE_WAIT,
	FIGURE_STEAL,
	FIGURE_PARK,
	FIGURE_HISTOGRAMS
};

extern const char *const figure_histogram_names[FIGURE_HISTOGRAMS];

/* figure_runtime - if a process has several runtimes, write which one this is, as
 * ", runtime 0x5581e0 of 2", to @text; otherwise nothing. Return: @text */
#define FIGURE_RUNTIME 48u
const char *figure_runtime(const struct target *target,
			   const struct target_runtime *runtime, char *text);

/* figure_sum - add up one histogram of all workers, into @sum */
void figure_sum(const struct target_snapshot *snapshot,
		enum figure_histogram which, struct probes_histogram *sum);

/* figure_since - subtract @before from @histogram. A count below its earlier
 * value has restarted from 0 and stays as it is */
void figure_since(struct probes_histogram *histogram,
		  const struct probes_histogram *before);

/* figure_is_row - return whether the row belongs to any tasks */
static inline bool figure_is_row(const struct area_type *row)
{
	return row->type != 0 || row->poll != 0;
}

/* figure_is_rest - return whether the row counts all tasks for which the table
 * had no row */
static inline bool figure_is_rest(const struct area_type *row)
{
	return row->type == 0 && row->poll == 1;
}

/* figure_total - return the number of values in the histogram */
uint64_t figure_total(const struct probes_histogram *histogram);

/* figure_quantile - return the quantile @part (0 to 1) in ns, rounded down to
 * the start of its bucket; 0 if the histogram is empty */
uint64_t figure_quantile(const struct probes_histogram *histogram, double part);

/* figure_over - return a lower bound of the number of values above @limit_ns:
 * the bucket that contains the limit is left out */
uint64_t figure_over(const struct probes_histogram *histogram,
		     uint64_t limit_ns);

/* figure_over_limit - return about how many polls of a runtime exceeded its
 * stall limit; 0 without a limit */
uint64_t figure_over_limit(const struct target_snapshot *snapshot,
			   const struct area_runtime *area);

/* figure_difference - return the increase of a counter between two readings. If
 * it is below its earlier value, it has restarted from 0 */
static inline uint64_t figure_difference(uint64_t now, uint64_t before)
{
	return now >= before ? now - before : now;
}

/* figure_times - return the times of a worker up to @at_ns. The time since
 * times->since_ns counts for the current state */
struct area_times figure_times(const struct area_times *times, uint64_t at_ns);

/* figure_state - return the name of a state, as "running"; "?" if there is no
 * such state */
const char *figure_state(uint64_t state);

#endif
