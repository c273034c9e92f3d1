/* SPDX-License-Identifier: MIT */
/*
 * histogram.c - see histogram.h
 *
 * A time's bucket is given by its highest HISTOGRAM_STEPS_LOG + 1 bits, the first of
 * which is 1, and by the number of lower bits that are dropped. The lowest octaves
 * drop no bits: there each nanosecond has a bucket of its own.
 */
#include "bench/harness/histogram.h"

static unsigned bucket_of(uint64_t ns)
{
	unsigned bits = 64 - (unsigned)__builtin_clzll(ns | 1);
	unsigned shift = 0;

	if (bits > HISTOGRAM_STEPS_LOG + 1)
		shift = bits - HISTOGRAM_STEPS_LOG - 1;
	return shift * HISTOGRAM_STEPS + (unsigned)(ns >> shift);
}

/* The shortest time in the bucket. */
static uint64_t time_of(unsigned bucket)
{
	unsigned shift = 0;

	if (bucket >= 2 * HISTOGRAM_STEPS)
		shift = bucket / HISTOGRAM_STEPS - 1;
	return (uint64_t)(bucket - shift * HISTOGRAM_STEPS) << shift;
}

void histogram_record(struct histogram *h, uint64_t ns)
{
	h->count[bucket_of(ns)]++;
	h->total++;
}

void histogram_add(struct histogram *h, const struct histogram *other)
{
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		h->count[i] += other->count[i];
	h->total += other->total;
}

uint64_t histogram_percentile(const struct histogram *h, double percent)
{
	double needed = (double)h->total * percent / 100;
	uint64_t seen = 0;

	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		seen += h->count[i];
		if (seen > 0 && (double)seen >= needed)
			return time_of(i);
	}
	return 0;
}

/* The [percent, time] points of a plot. They become denser towards 100 percent, and
 * more than one time lies above the last point before 100. */
static json_t *quantiles_json(const struct histogram *h)
{
	json_t *points = json_array();
	double step = 5, end = 90, percent = 0;

	while ((100 - percent) / 100 * (double)h->total > 1) {
		json_array_append_new(
			points, json_pack("[f, I]", percent,
					  (json_int_t)histogram_percentile(
						  h, percent)));
		percent += step;
		if (percent > end - step / 2) {
			percent = end;
			step = step > 1 ? 1 : step / 10;
			end = 100 - step;
		}
	}
	json_array_append_new(
		points, json_pack("[f, I]", 100.0,
				  (json_int_t)histogram_percentile(h, 100)));
	return points;
}

json_t *histogram_json(const struct histogram *h)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "p50",
			 (json_int_t)histogram_percentile(h, 50), "p90",
			 (json_int_t)histogram_percentile(h, 90), "p99",
			 (json_int_t)histogram_percentile(h, 99), "p999",
			 (json_int_t)histogram_percentile(h, 99.9), "p9999",
			 (json_int_t)histogram_percentile(h, 99.99), "count",
			 (json_int_t)h->total, "quantiles", quantiles_json(h));
}
