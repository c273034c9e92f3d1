/* SPDX-License-Identifier: MIT */
/*
 * region.c - the case region: short calls of fib, each made by an external thread
 *
 * As in bench/workloads/fork_join/region.c, warm calls follow one another, and there is a
 * pause before each cold call, so that workers have gone to sleep.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/clock.h"
#include "bench/peers/harness/case.h"

/* The times of the calls of all timed rounds, in ns. */
static struct {
	double *warm;
	double *cold;
	size_t calls; /* number of times in each array */
} all;

static uint64_t wrong; /* number of wrong answers in this round */

static void clear_wrong(struct harness *h)
{
	(void)h;
	wrong = 0;
}

static double call(struct harness *h, void (*run)(struct harness *h))
{
	uint64_t start, ns;

	h->answer = UINT64_MAX;
	start = clock_ns();
	run(h);
	ns = clock_ns() - start;
	wrong += h->answer != harness_fib(h->n);
	return (double)ns;
}

static double *grow(double *times)
{
	times = realloc(times, (all.calls + REGION_CALLS) * sizeof(*times));
	if (times == NULL) {
		fputs("no memory\n", stderr);
		exit(1);
	}
	return times;
}

static void keep(const double *warm, const double *cold)
{
	all.warm = grow(all.warm);
	all.cold = grow(all.cold);
	memcpy(all.warm + all.calls, warm, REGION_CALLS * sizeof(*warm));
	memcpy(all.cold + all.calls, cold, REGION_CALLS * sizeof(*cold));
	all.calls += REGION_CALLS;
}

/* Make the warm and the cold calls of a round. Return: the median time of
 * the warm calls. */
static double time_calls(struct harness *h, void (*run)(struct harness *h),
			 bool timed)
{
	static double warm[REGION_CALLS], cold[REGION_CALLS];

	for (unsigned i = 0; i < REGION_CALLS; i++)
		warm[i] = call(h, run);
	for (unsigned i = 0; i < REGION_CALLS; i++) {
		clock_spin_until(clock_ns() + REGION_GAP_US * 1000);
		cold[i] = call(h, run);
	}
	if (timed)
		keep(warm, cold);
	harness_sort(warm, REGION_CALLS);
	return warm[(REGION_CALLS - 1) / 2];
}

static bool check(const struct harness *h)
{
	(void)h;
	return harness_is_right("region: wrong answers", wrong, 0);
}

static void params(const struct harness *h, FILE *file)
{
	fprintf(file, "{\"n\":%u,\"calls\":%u,\"gap\":%u}", h->n, REGION_CALLS,
		REGION_GAP_US);
}

static void print_latency(FILE *file, const char *name, double *times)
{
	static const struct {
		const char *name;
		double part;
	} of[] = { { "p50", .5 },
		   { "p90", .9 },
		   { "p99", .99 },
		   { "p999", .999 },
		   { "p9999", .9999 } };

	harness_sort(times, all.calls);
	fprintf(file, ",\"%s\":{", name);
	for (unsigned i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		fprintf(file, "%s\"%s\":%.0f", i > 0 ? "," : "", of[i].name,
			times[(size_t)(of[i].part * (double)(all.calls - 1))]);
	fputc('}', file);
}

static void figures(FILE *file)
{
	print_latency(file, "latency_ns", all.warm);
	print_latency(file, "cold_latency_ns", all.cold);
}

const struct harness_case harness_regions[] = {
	HARNESS_CASE(
		"region", "A short call that forks, from outside the workers",
		.n = REGION_N, .n_min = 2, .n_max = 40, .ops = REGION_CALLS,
		.params = params, .prepare = clear_wrong, .check = check,
		.time = time_calls, .figures = figures),
	{ .name = NULL },
};
