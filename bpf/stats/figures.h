/* SPDX-License-Identifier: MIT */
/* figures.h - what is made of the counts of a debug area */
#ifndef SKUA_BPF_FIGURES_H
#define SKUA_BPF_FIGURES_H

#include "bpf/target/target.h"

/* A counter: its name in JSON, what it counts, and where it is in its struct. */
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

/* The histograms of a worker: what each is called, and where it is. */
enum figure_histogram {
	FIGURE_POLL,
	FIGURE_WAIT,
	FIGURE_STEAL,
	FIGURE_PARK,
	FIGURE_HISTOGRAMS
};

extern const char *const figure_histogram_names[FIGURE_HISTOGRAMS];

/* figure_sum - a histogram of all workers, in @sum */
void figure_sum(const struct target_snapshot *snapshot,
		enum figure_histogram which, struct probes_histogram *sum);

/* figure_since - what has come to it; all of it if some is less than before */
void figure_since(struct probes_histogram *histogram,
		  const struct probes_histogram *before);

/* figure_is_row - is that of any tasks? */
static inline bool figure_is_row(const struct area_type *row)
{
	return row->type != 0 || row->poll != 0;
}

/* figure_is_rest - is it of all tasks for which there was no other row? */
static inline bool figure_is_rest(const struct area_type *row)
{
	return row->type == 0 && row->poll == 1;
}

/* figure_total - how many there are in it */
uint64_t figure_total(const struct probes_histogram *histogram);

/* figure_quantile - a time that this part (0 to 1) of them does not exceed, within the
 * width of a bucket; 0 if there are none */
uint64_t figure_quantile(const struct probes_histogram *histogram, double part);

/* figure_over - how many of them took longer than @limit_ns, at least: a bucket
 * that the limit divides does not count */
uint64_t figure_over(const struct probes_histogram *histogram,
		     uint64_t limit_ns);

/* figure_over_limit - how many polls of a runtime took longer than its limit, about;
 * 0 without a limit */
uint64_t figure_over_limit(const struct target_snapshot *snapshot,
			   const struct area_runtime *area);

/* figure_difference - between two looks at a counter; one that is less than before
 * has begun again */
static inline uint64_t figure_difference(uint64_t now, uint64_t before)
{
	return now >= before ? now - before : now;
}

/* figure_times - the times of a worker up to @at_ns, which is in one of them */
struct area_times figure_times(const struct area_times *times, uint64_t at_ns);

/* figure_state - "running"; "?" for what is none */
const char *figure_state(uint64_t state);

#endif
