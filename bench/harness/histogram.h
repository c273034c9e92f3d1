/* SPDX-License-Identifier: MIT */
/**
 * histogram.h - the distribution of many times, in little memory
 *
 * Each time below 256 ns has its own count. Above, each octave has 128 counts:
 * times are rounded down by less than 0.8 %.
 */
#ifndef SKUA_BENCH_HARNESS_HISTOGRAM_H
#define SKUA_BENCH_HARNESS_HISTOGRAM_H

#include <jansson.h>
#include <stdint.h>

#define HISTOGRAM_STEPS_LOG 7
#define HISTOGRAM_STEPS     (1 << HISTOGRAM_STEPS_LOG)
#define HISTOGRAM_BUCKETS   ((64 - HISTOGRAM_STEPS_LOG + 1) * HISTOGRAM_STEPS)

struct histogram {
	uint64_t total;
	uint64_t count[HISTOGRAM_BUCKETS];
};

/* histogram_record - count one time */
void histogram_record(struct histogram *h, uint64_t ns);

/* histogram_add - add the counts of @other */
void histogram_add(struct histogram *h, const struct histogram *other);

/**
 * histogram_percentile - return the time that @percent of all times do not exceed
 *
 * Return: the time, rounded down to its bucket; 0 if nothing was counted.
 */
uint64_t histogram_percentile(const struct histogram *h, double percent);

/**
 * histogram_json - return the percentiles of a histogram as a JSON object
 *
 * {"p50":...,"p90":...,"p99":...,"p999":...,"p9999":...,"count":...,
 * "quantiles":[[percent, time], ...]}. The quantiles rise to 100 percent, the
 * longest time, and become denser towards it. Return: a new reference; NULL if
 * there is no memory.
 */
json_t *histogram_json(const struct histogram *h);

#endif
