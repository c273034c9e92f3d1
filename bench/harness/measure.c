/* SPDX-License-Identifier: MIT */
/*
 * measure.c - see measure.h
 *
 * The runtime and the counters exist for the whole measurement, so that starting
 * threads is not timed. The counters are opened first, because they count only in
 * threads that are created later.
 */
#include "bench/harness/measure.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bpf/cli/args.h"
#include "bench/harness/clock.h"
#include "probes/counter_list.h"

/* A pair of cache lines. */
#define STATE_ALIGN 128u

/* The state of one measurement. */
struct bench {
	const struct workload *workload;
	struct workload_run run;
	struct perf_group *group; /* NULL: no counters */
	struct perf_group_values last;
	struct measure_watch *watch;
	struct measurement *out;
};

static const char *const event_names[MEASURE_EVENTS] = {
	[MEASURE_CYCLES] = "cycles",
	[MEASURE_INSTRUCTIONS] = "instructions",
	[MEASURE_CACHE_MISSES] = "cache-misses",
	[MEASURE_BRANCH_MISSES] = "branch-misses",
};

static int complain(const struct bench *b, const char *what, int err)
{
	fprintf(stderr, ARGS_PROGRAM " %s: %s: %s\n", b->workload->name, what,
		strerror(-err));
	return err;
}

/* ---- rounds -------------------------------------------------------------- */

static struct skua_stats stats_now(const struct workload_run *run)
{
	struct skua_stats stats = { 0 };

	if (run->rt != NULL)
		skua_runtime_stats(run->rt, &stats);
	return stats;
}

/* Add the difference of two snapshots. */
static void add_stats(struct skua_stats *sum, const struct skua_stats *before,
		      const struct skua_stats *after)
{
	const struct skua_worker_stats *b = &before->total;
	const struct skua_worker_stats *a = &after->total;
	struct skua_worker_stats *s = &sum->total;

	sum->jobs_stolen_outside +=
		after->jobs_stolen_outside - before->jobs_stolen_outside;
	sum->tasks_spawned += after->tasks_spawned - before->tasks_spawned;
#define ADD(name, ...) s->name += a->name - b->name;
	COUNTER_LIST(ADD)
#undef ADD
}

static uint64_t time_ns(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * UINT64_C(1000000000) +
	       (uint64_t)time->tv_usec * 1000;
}

static struct measure_usage usage_now(void)
{
	struct rusage now = { 0 };

	getrusage(RUSAGE_SELF, &now);
	return (struct measure_usage){
		.cpu_ns = time_ns(&now.ru_utime) + time_ns(&now.ru_stime),
		.voluntary = (uint64_t)now.ru_nvcsw,
		.involuntary = (uint64_t)now.ru_nivcsw,
		.page_faults = (uint64_t)now.ru_minflt,
	};
}

static void add_usage(struct measure_usage *sum,
		      const struct measure_usage *before,
		      const struct measure_usage *after)
{
	sum->cpu_ns += after->cpu_ns - before->cpu_ns;
	sum->voluntary += after->voluntary - before->voluntary;
	sum->involuntary += after->involuntary - before->involuntary;
	sum->page_faults += after->page_faults - before->page_faults;
}

/* Run the workload's round() once; @ns receives the time that it took. */
static int run_round(struct bench *b, uint64_t *ns)
{
	uint64_t start;
	int err;

	start = clock_ns();
	err = b->workload->round(&b->run);
	*ns = clock_ns() - start;
	if (err != 0)
		return complain(b, "the round failed", err);
	return 0;
}

static int warm_up(struct bench *b)
{
	uint64_t ns;
	int err;

	if (b->workload->prepare != NULL)
		b->workload->prepare(&b->run);
	err = run_round(b, &ns);
	if (err == 0)
		b->out->ok = b->workload->check(&b->run);
	return err;
}

/* Store the instructions for each operation of the round that has just
 * ended. The counts of all rounds together are read at the end
 * (sum_up_counters()). */
static void note_instructions(struct bench *b, unsigned round)
{
	const struct perf_group_event *event;
	struct perf_group_values now, of_round;

	if (b->group == NULL || perf_group_read(b->group, &now) != 0)
		return;
	perf_group_between(&b->last, &now, &of_round);
	b->last = now;
	event = &of_round.event[MEASURE_INSTRUCTIONS];
	if (event->counted)
		b->out->rounds_instructions[round] =
			(double)event->value / (double)b->run.ops;
}

/* Run one round, and add the counts of the kernel and of the runtime. */
static int counted_round(struct bench *b, unsigned round, uint64_t *ns)
{
	struct measure_usage usage_before, usage_after;
	struct skua_stats before = stats_now(&b->run), after;
	int err;

	usage_before = usage_now();
	if (b->group != NULL)
		perf_group_start(b->group);
	err = run_round(b, ns);
	if (b->group != NULL)
		perf_group_stop(b->group);
	usage_after = usage_now();
	note_instructions(b, round);
	after = stats_now(&b->run);
	add_usage(&b->out->usage, &usage_before, &usage_after);
	add_stats(&b->out->stats, &before, &after);
	return err;
}

static int timed_round(struct bench *b, unsigned round)
{
	uint64_t ns;
	int err;

	if (b->workload->prepare != NULL)
		b->workload->prepare(&b->run);
	if (b->watch != NULL)
		b->watch->begin(b->watch, b->run.rt);
	err = counted_round(b, round, &ns);
	if (b->watch != NULL)
		b->watch->end(b->watch);
	if (err != 0)
		return err;
	if (!b->workload->check(&b->run))
		b->out->ok = false;
	b->out->rounds_ns[round] = b->workload->sample != NULL
					   ? b->workload->sample(&b->run, ns)
					   : (double)ns / (double)b->run.ops;
	return 0;
}

/* ---- sums ---------------------------------------------------------------- */

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int sum_up_times(struct bench *b)
{
	struct measurement *out = b->out;
	unsigned n = out->rounds;
	double *sorted = calloc(n, sizeof(*sorted));

	if (sorted == NULL)
		return complain(b, "no result", -ENOMEM);
	memcpy(sorted, out->rounds_ns, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare_doubles);
	out->min_ns = sorted[0];
	out->max_ns = sorted[n - 1];
	out->median_ns = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
	free(sorted);
	return 0;
}

static void sum_up_counters(struct bench *b)
{
	struct measurement *out = b->out;
	int err;

	if (b->group == NULL)
		return;
	err = perf_group_read(b->group, &out->counters);
	for (unsigned i = 0; err == 0 && i < out->counters.count; i++)
		out->counted |= out->counters.event[i].counted;
	if (!out->counted)
		snprintf(out->counters_reason, sizeof(out->counters_reason),
			 "no hardware counters: %s",
			 err != 0 ? strerror(-err) : "none was free");
}

/* ---- set-up -------------------------------------------------------------- */

static int create_runtime(struct bench *b, unsigned workers)
{
	const struct skua_config config = { .size = sizeof(config),
					    .workers = workers };
	struct skua_error error;
	int err = skua_runtime_create(&b->run.rt, &config, &error);

	if (err != 0) {
		fprintf(stderr, ARGS_PROGRAM " %s: no runtime: %s\n",
			b->workload->name, error.text);
		return err;
	}
	b->run.workers = skua_runtime_workers(b->run.rt);
	return 0;
}

static int start_runtime(struct bench *b, unsigned workers)
{
	int err = create_runtime(b, workers);

	if (err != 0 || workers != 0 || !b->workload->busy_caller ||
	    b->run.workers == 1)
		return err;
	skua_runtime_destroy(b->run.rt);
	return create_runtime(b, b->run.workers - 1);
}

static int run_all(struct bench *b)
{
	int err = warm_up(b);

	for (unsigned i = 0; err == 0 && i < b->out->rounds; i++)
		err = timed_round(b, i);
	if (err == 0)
		err = sum_up_times(b);
	if (err != 0)
		return err;
	sum_up_counters(b);
	if (b->workload->figures != NULL) {
		b->out->figures = b->workload->figures(&b->run);
		if (b->out->figures == NULL)
			return complain(b, "no result", -ENOMEM);
	}
	b->out->workers = b->run.workers;
	b->out->ops = b->run.ops;
	return 0;
}

static int set_up(struct bench *b)
{
	size_t bytes = b->workload->state_bytes;

	bytes = (bytes + STATE_ALIGN - 1) / STATE_ALIGN * STATE_ALIGN;
	if (bytes > 0) {
		b->run.state = aligned_alloc(STATE_ALIGN, bytes);
		if (b->run.state == NULL)
			return -ENOMEM;
		memset(b->run.state, 0, bytes);
	}
	return b->workload->setup(&b->run);
}

static void tear_down(struct bench *b)
{
	if (b->run.state != NULL)
		b->workload->teardown(&b->run);
	if (b->workload->state_bytes > 0)
		free(b->run.state);
}

/* Start the workers, run all rounds, and stop the workers. The counters must
 * be open already. */
static int run_with_workers(struct bench *b, unsigned workers)
{
	const struct workload *workload = b->workload;
	bool serial = workload->serial && workload->serial(b->run.options);
	int err = serial ? 0 : start_runtime(b, workers);

	if (err != 0)
		return err;
	err = set_up(b);
	if (err == 0)
		err = run_all(b);
	else
		complain(b, "cannot be set up", err);
	tear_down(b);
	if (b->run.rt != NULL)
		skua_runtime_destroy(b->run.rt);
	return err;
}

int measure(const struct workload *workload, const void *options,
	    unsigned workers, unsigned rounds, struct measure_watch *watch,
	    struct measurement *out)
{
	struct bench b = { .workload = workload,
			   .run.options = options,
			   .watch = watch,
			   .out = out };
	int err;

	*out = (struct measurement){ .workload = workload, .rounds = rounds };
	out->params = workload->params(options);
	out->rounds_ns = calloc(rounds, sizeof(*out->rounds_ns));
	out->rounds_instructions =
		calloc(rounds, sizeof(*out->rounds_instructions));
	if (out->params == NULL || out->rounds_ns == NULL ||
	    out->rounds_instructions == NULL) {
		err = complain(&b, "cannot be set up", -ENOMEM);
	} else {
		perf_group_open(&b.group, PERF_GROUP_OWN, event_names,
				MEASURE_EVENTS, out->counters_reason,
				sizeof(out->counters_reason));
		err = run_with_workers(&b, workers);
		perf_group_close(b.group);
	}
	if (err != 0)
		measurement_free(out);
	return err;
}

void measurement_free(struct measurement *m)
{
	json_decref(m->params);
	json_decref(m->figures);
	free(m->rounds_ns);
	free(m->rounds_instructions);
	m->params = NULL;
	m->figures = NULL;
	m->rounds_ns = NULL;
	m->rounds_instructions = NULL;
}
