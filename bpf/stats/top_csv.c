/* SPDX-License-Identifier: MIT */
/* top_csv.c - print an interval as a line of comma-separated values */
#include <inttypes.h>
#include <time.h>

#include "bpf/cli/clock.h"
#include "bpf/stats/top.h"

#define SECOND UINT64_C(1000000000)

void top_csv_titles(FILE *file)
{
	fputs("time,pid,runtime,workers,busy,on_cpu,polls_per_s,spawns_per_s,"
	      "steals_per_s,parks_per_s,queued,injection_queued,stalls,"
	      "over_limit,poll_p50_ns,poll_p99_ns,wait_p50_ns,wait_p99_ns,"
	      "busiest_type,busiest_share,rank\n",
	      file);
}

/* Print a time of CLOCK_MONOTONIC as a time of day:
 * 2026-11-23T08:30:00.123Z. */
static void print_time(FILE *file, uint64_t at_ns)
{
	struct tm tm;
	char text[32];
	uint64_t ns;
	time_t seconds;

	ns = clock_read_ns(CLOCK_REALTIME) - (now_ns() - at_ns);
	seconds = (time_t)(ns / SECOND);
	gmtime_r(&seconds, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	fprintf(file, "%s.%03uZ", text, (unsigned)(ns % SECOND / 1000000));
}

static void print_quantiles(FILE *file, const struct top_runtime *runtime,
			    enum figure_histogram which)
{
	struct probes_histogram sum, before;

	figure_sum(&runtime->after, which, &sum);
	figure_sum(&runtime->before, which, &before);
	figure_since(&sum, &before);
	fprintf(file, ",%" PRIu64 ",%" PRIu64, figure_quantile(&sum, 0.5),
		figure_quantile(&sum, 0.99));
}

/* Print a name in quotes. Names may contain any character, but only quotes need
 * doubling. */
static void print_quoted(FILE *file, const char *text)
{
	fputc('"', file);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', file);
		fputc(*text, file);
	}
	fputc('"', file);
}

void top_csv(FILE *file, struct target *target, const struct target_runtime *at,
	     const struct top_runtime *runtime)
{
	struct top_rates all = top_rates_all(runtime);
	char name[TARGET_NAME] = "";
	double share = 0;

	if (runtime->kind_count > 0) {
		top_kind_name(target, &runtime->kinds[0], name);
		share = top_share(runtime, &runtime->kinds[0]);
	}
	print_time(file, runtime->after.at_ns);
	fprintf(file, ",%d,%#" PRIx64 ",%u,%.3f,", target_pid(target),
		at->address, runtime->worker_count, all.busy);
	if (all.on_cpu >= 0)
		fprintf(file, "%.3f", all.on_cpu);
	fprintf(file, ",%.0f,%.0f,%.0f,%.0f", all.polls, all.spawns, all.steals,
		all.parks);
	fprintf(file, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64,
		runtime->after.queue_depth,
		runtime->after.injection_depth + runtime->after.urgent_depth,
		figure_difference(runtime->after.total.stalls,
				  runtime->before.total.stalls),
		top_over(at, runtime));
	print_quantiles(file, runtime, FIGURE_POLL);
	print_quantiles(file, runtime, FIGURE_WAIT);
	fputc(',', file);
	print_quoted(file, name);
	fprintf(file, ",%.3f,", share);
	if (target_rank(target) != TARGET_NO_RANK)
		fprintf(file, "%" PRIu32, target_rank(target));
	fputc('\n', file);
}
