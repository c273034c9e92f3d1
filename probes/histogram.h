/* SPDX-License-Identifier: MIT */
/**
 * histogram.h - a distribution of times; written by one thread, read by any
 *
 * Each time below 16 ns has a bucket, and each octave above has eight: times are rounded
 * down by less than 12.5 %. Times longer than about a minute count in the last bucket.
 * Part of the ABI (area.h).
 */
#ifndef SKUA_PROBES_HISTOGRAM_H
#define SKUA_PROBES_HISTOGRAM_H

#include <stdint.h>

#include "probes/counters.h"

#define PROBES_STEPS_LOG 3u
#define PROBES_STEPS     (1u << PROBES_STEPS_LOG)
/* Octaves above the first 16 buckets, up to 2^36 ns. */
#define PROBES_OCTAVES 32u
#define PROBES_BUCKETS (2 * PROBES_STEPS + PROBES_OCTAVES * PROBES_STEPS)

struct probes_histogram {
	uint64_t sum_ns;
	uint64_t longest_ns;
	uint64_t count[PROBES_BUCKETS];
};

/* probes_bucket - return the bucket for a time */
static inline unsigned probes_bucket(uint64_t ns)
{
	unsigned octave;

	if (ns < 2 * PROBES_STEPS)
		return (unsigned)ns;
	octave = 63u - (unsigned)__builtin_clzll(ns) - PROBES_STEPS_LOG;
	if (octave > PROBES_OCTAVES)
		return PROBES_BUCKETS - 1;
	return octave * PROBES_STEPS + (unsigned)(ns >> octave);
}

/* probes_bucket_ns - return the shortest time that belongs to @bucket */
static inline uint64_t probes_bucket_ns(unsigned bucket)
{
	unsigned octave;

	if (bucket < 2 * PROBES_STEPS)
		return bucket;
	octave = bucket / PROBES_STEPS - 1;
	return (uint64_t)(bucket % PROBES_STEPS + PROBES_STEPS) << octave;
}

/* probes_count_owner - add a time @n times; called only by the thread that
 * writes @h */
static inline void probes_count_owner(struct probes_histogram *h, uint64_t ns,
				      uint64_t n)
{
	counter_add_owner(&h->count[probes_bucket(ns)], n);
	counter_add_owner(&h->sum_ns, n * ns);
	if (ns > counter_read(&h->longest_ns))
		counter_set_owner(&h->longest_ns, ns);
}

#endif
