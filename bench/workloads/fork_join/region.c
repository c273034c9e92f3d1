/* SPDX-License-Identifier: MIT */
/*
 * region.c - time a short skua_run() call that forks, made by an external thread
 *
 * The call computes a Fibonacci number by its definition. Forks can save only a few
 * microseconds here, so that the cost of beginning and ending a call shows. Warm calls
 * follow one another at once. Before a cold call, the caller spins for longer than the
 * workers take to go to sleep. The serial call is the reference. An operation is a call.
 */
#include <stdio.h>
#include <string.h>

#include "bpf/cli/args.h"
#include "bench/harness/clock.h"
#include "bench/workloads/fork_join/fib.h"
#include "bench/harness/latencies.h"
#include "bench/kernels/kernels.h"
#include "bench/workloads/workloads.h"

struct region_options {
	uint64_t n;
	uint64_t calls;
	uint64_t gap_us;
};

struct region_round {
	struct histogram warm;
	struct histogram cold;
	struct histogram serial;
};

/* The times of all timed rounds. */
struct region_figures {
	struct latencies warm;
	struct latencies cold;
	struct latencies serial;
};

struct region {
	struct region_options options;
	uint64_t answer;
	uint64_t expected;
	uint64_t wrong; /* number of wrong answers in this round */
	struct region_round round;
	struct region_figures all;
};

/* ---- calls ---------------------------------------------------------------- */

static void root(struct skua_ctx ctx, void *arg)
{
	struct region *region = arg;

	region->answer = fib_forked(ctx, region->options.n);
}

static int call(struct region *region, struct skua_runtime *rt,
		struct histogram *histogram)
{
	uint64_t start_ns = clock_ns();
	int err = 0;

	if (rt != NULL)
		err = skua_run(rt, root, region);
	else
		region->answer = fib_serial(region->options.n);
	histogram_record(histogram, clock_ns() - start_ns);
	region->wrong += region->answer != region->expected;
	region->answer = UINT64_MAX;
	return err;
}

static int region_round(struct workload_run *run)
{
	struct region *region = run->state;
	uint64_t gap_ns = region->options.gap_us * 1000;
	uint64_t calls = region->options.calls;
	int err = 0;

	for (uint64_t i = 0; err == 0 && i < calls; i++)
		err = call(region, run->rt, &region->round.warm);
	for (uint64_t i = 0; err == 0 && i < calls; i++) {
		clock_spin_until(clock_ns() + gap_ns);
		err = call(region, run->rt, &region->round.cold);
	}
	for (uint64_t i = 0; err == 0 && i < calls; i++)
		err = call(region, NULL, &region->round.serial);
	return err;
}

/* ---- the workload --------------------------------------------------------- */

static int region_setup(struct workload_run *run)
{
	const struct region_options *options = run->options;
	struct region *region = run->state;

	region->options = *options;
	region->expected = fib_number(options->n);
	run->ops = options->calls;
	return 0;
}

static void region_prepare(struct workload_run *run)
{
	struct region *region = run->state;

	memset(&region->round, 0, sizeof(region->round));
	region->wrong = 0;
}

static bool region_check(struct workload_run *run)
{
	const struct region *region = run->state;

	if (region->wrong == 0)
		return true;
	fprintf(stderr, "region: %ju answers are wrong\n",
		(uintmax_t)region->wrong);
	return false;
}

/* Return the figure from single calls, because the round's time includes
 * gaps and serial calls. */
static double region_sample(struct workload_run *run, uint64_t round_ns)
{
	struct region *region = run->state;

	(void)round_ns;
	latencies_add(&region->all.warm, &region->round.warm, 1);
	latencies_add(&region->all.cold, &region->round.cold, 1);
	latencies_add(&region->all.serial, &region->round.serial, 1);
	return (double)histogram_percentile(&region->round.warm, 50);
}

static json_t *region_figures(struct workload_run *run)
{
	const struct region_figures *all =
		&((const struct region *)run->state)->all;

	return json_pack("{s:o, s:o, s:o}", "latency_ns",
			 latencies_json(&all->warm), "cold_latency_ns",
			 latencies_json(&all->cold), "serial_latency_ns",
			 latencies_json(&all->serial));
}

static void region_teardown(struct workload_run *run)
{
	struct region *region = run->state;

	latencies_free(&region->all.warm);
	latencies_free(&region->all.cold);
	latencies_free(&region->all.serial);
}

/* ---- options -------------------------------------------------------------- */

static json_t *region_params(const void *arg)
{
	const struct region_options *options = arg;

	return json_pack("{s:I, s:I, s:I}", "n", (json_int_t)options->n,
			 "calls", (json_int_t)options->calls, "gap",
			 (json_int_t)options->gap_us);
}

/* A larger number would take some of the peers seconds, and would measure more of the
 * computation than of the call. */
static const struct region_options report[] = {
	{ .n = REGION_N, .calls = REGION_CALLS, .gap_us = REGION_GAP_US },
	{ .n = 10, .calls = REGION_CALLS, .gap_us = REGION_GAP_US },
};

WORKLOAD(region, "A short call that forks, from outside the workers",
	 ARGS_OPTIONS(
		 ARGS_NUMBER_OF(struct region_options, "n", n, 2, 40, "N",
				"Which Fibonacci number (default 16)"),
		 ARGS_NUMBER_OF(
			 struct region_options, "calls", calls, 1, 10000000,
			 "N",
			 "Warm calls, cold ones and serial ones (default 200)"),
		 ARGS_NUMBER_OF(
			 struct region_options, "gap", gap_us, 0, 1000000, "N",
			 "Microseconds before each cold call (default 100)")),
	 .options_size = sizeof(struct region_options), .defaults = &report[0],
	 .report = report, .report_count = sizeof(report) / sizeof(report[0]),
	 .params = region_params, .latency = true, .sample = region_sample,
	 .figures = region_figures, WORKLOAD_CALLS(region, struct region));
