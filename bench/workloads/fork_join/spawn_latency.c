/* SPDX-License-Identifier: MIT */
/*
 * spawn_latency.c - measure how long a spawned task waits while fork-join calls use all
 *                   workers
 *
 * The calls follow one another without a pause. Meanwhile an external thread spawns
 * tasks, one at a time. The latency is the time from just before the spawn to the first
 * instruction of the poll. The calls come from an external thread (skua_run()), and then
 * leave one of two or more workers to tasks; or from a task (skua_task_ctx()), and then
 * may occupy all workers; or there are no calls, as a reference. An operation is a task.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "bpf/cli/args.h"
#include "bench/harness/clock.h"
#include "bench/workloads/fork_join/fib.h"
#include "bench/harness/latencies.h"
#include "bench/workloads/workloads.h"

#define ROOTS "outside, task, none"

struct spawn_latency_options {
	uint64_t n;
	uint64_t tasks;
	uint64_t gap_us;
	const char *root;
};

struct probe {
	struct skua_task task; /* first: it is cast back */
	uint64_t polled_ns;
};

struct computer {
	struct skua_task task; /* first: it is cast back */
	struct skua_runtime *rt;
	uint64_t n;
	uint64_t expected;
	/* Writer: the measuring thread, to 1. Reader: the computing thread. */
	uint32_t stop;
	/* Written by the computing thread or task; the measuring thread
	 * reads them after its end. */
	uint64_t calls;
	uint64_t answer;
	bool wrong;
	int err;
};

struct spawn_latency {
	struct spawn_latency_options options;
	struct computer computer;
	struct probe probe;
	uint64_t computed_ns; /* time spent in calls, in the timed rounds */
	uint64_t calls;
	struct histogram round; /* latencies of this round */
	struct latencies all;   /* latencies of all timed rounds */
	uint64_t round_ns;
};

/* ---- the computation ------------------------------------------------------ */

static bool stopped(const struct computer *it)
{
	/* Relaxed: the flag publishes no other data. */
	return __atomic_load_n(&it->stop, __ATOMIC_RELAXED) != 0;
}

static void count_call(struct computer *it)
{
	it->calls++;
	it->wrong |= it->answer != it->expected;
}

static void root(struct skua_ctx ctx, void *arg)
{
	struct computer *it = arg;

	it->answer = fib_forked(ctx, it->n);
}

static void *compute_outside(void *arg)
{
	struct computer *it = arg;

	/* Make at least one call: on a busy machine, all tasks may be done before
	 * this thread has run at all. */
	do {
		it->err = skua_run(it->rt, root, it);
		count_call(it);
	} while (!stopped(it) && it->err == 0);
	return NULL;
}

static enum skua_poll poll_computer(struct skua_task *self)
{
	struct computer *it = (struct computer *)self;

	if (stopped(it) && it->calls > 0) /* at least one call, as above */
		return SKUA_DONE;
	root(skua_task_ctx(self), it);
	count_call(it);
	return SKUA_YIELD;
}

/* ---- the tasks ------------------------------------------------------------ */

static enum skua_poll poll_probe(struct skua_task *self)
{
	((struct probe *)self)->polled_ns = clock_ns();
	return SKUA_DONE;
}

static void sleep_us(uint64_t us)
{
	const struct timespec time = { (time_t)(us / 1000000),
				       (long)(us % 1000000) * 1000 };

	nanosleep(&time, NULL);
}

static int measure(struct spawn_latency *it, struct skua_runtime *rt)
{
	for (uint64_t i = 0; i < it->options.tasks; i++) {
		uint64_t start_ns;
		int err;

		sleep_us(it->options.gap_us);
		skua_task_init(&it->probe.task, poll_probe);
		start_ns = clock_ns();
		err = skua_task_spawn(rt, &it->probe.task);
		if (err == 0)
			err = skua_task_join(&it->probe.task);
		if (err != 0)
			return err;
		histogram_record(&it->round, it->probe.polled_ns - start_ns);
	}
	return 0;
}

static void stop(struct spawn_latency *it)
{
	/* Relaxed: as the load in stopped(). */
	__atomic_store_n(&it->computer.stop, 1, __ATOMIC_RELAXED);
}

static int round_outside(struct spawn_latency *it, struct skua_runtime *rt)
{
	pthread_t thread;
	int err =
		-pthread_create(&thread, NULL, compute_outside, &it->computer);

	if (err != 0)
		return err;
	err = measure(it, rt);
	stop(it);
	pthread_join(thread, NULL);
	return err != 0 ? err : it->computer.err;
}

static int round_task(struct spawn_latency *it, struct skua_runtime *rt)
{
	int err;
	int joined;

	skua_task_init(&it->computer.task, poll_computer);
	err = skua_task_spawn(rt, &it->computer.task);
	if (err != 0)
		return err;
	err = measure(it, rt);
	stop(it);
	joined = skua_task_join(&it->computer.task);
	return err != 0 ? err : joined;
}

static int spawn_latency_round(struct workload_run *run)
{
	struct spawn_latency *it = run->state;
	uint64_t start_ns = clock_ns();
	int err;

	if (strcmp(it->options.root, "outside") == 0)
		err = round_outside(it, run->rt);
	else if (strcmp(it->options.root, "task") == 0)
		err = round_task(it, run->rt);
	else
		err = measure(it, run->rt);
	it->round_ns = clock_ns() - start_ns;
	return err;
}

/* ---- the workload --------------------------------------------------------- */

static int spawn_latency_setup(struct workload_run *run)
{
	const struct spawn_latency_options *options = run->options;
	struct spawn_latency *it = run->state;

	it->options = *options;
	it->computer.rt = run->rt;
	it->computer.n = options->n;
	it->computer.expected = fib_number(options->n);
	run->ops = options->tasks;
	return 0;
}

static void spawn_latency_prepare(struct workload_run *run)
{
	struct spawn_latency *it = run->state;

	memset(&it->round, 0, sizeof(it->round));
	it->computer.calls = 0;
	it->computer.stop = 0;
}

static bool spawn_latency_check(struct workload_run *run)
{
	const struct spawn_latency *it = run->state;

	if (it->computer.wrong)
		fputs("spawn_latency: the computation is wrong\n", stderr);
	return !it->computer.wrong;
}

/* Return the median latency, because the round's time is mostly gaps. */
static double spawn_latency_sample(struct workload_run *run, uint64_t round_ns)
{
	struct spawn_latency *it = run->state;

	(void)round_ns;
	latencies_add(&it->all, &it->round, 1);
	it->calls += it->computer.calls;
	it->computed_ns += it->round_ns;
	return (double)histogram_percentile(&it->round, 50);
}

static json_t *spawn_latency_figures(struct workload_run *run)
{
	const struct spawn_latency *it = run->state;
	json_t *figures =
		json_pack("{s:o}", "latency_ns", latencies_json(&it->all));

	if (figures != NULL && it->calls > 0)
		json_object_set_new(
			figures, "call_ns",
			json_real((double)it->computed_ns / (double)it->calls));
	return figures;
}

static void spawn_latency_teardown(struct workload_run *run)
{
	struct spawn_latency *it = run->state;

	latencies_free(&it->all);
}

/* ---- options -------------------------------------------------------------- */

static error_t parse_root(void *input, char *text)
{
	struct spawn_latency_options *options = input;

	if (strcmp(text, "outside") != 0 && strcmp(text, "task") != 0 &&
	    strcmp(text, "none") != 0)
		return args_refuse("--root is '%s'; allowed: %s", text, ROOTS);
	options->root = text;
	return 0;
}

static json_t *spawn_latency_params(const void *arg)
{
	const struct spawn_latency_options *options = arg;

	return json_pack("{s:I, s:I, s:I, s:s}", "n", (json_int_t)options->n,
			 "tasks", (json_int_t)options->tasks, "gap",
			 (json_int_t)options->gap_us, "root", options->root);
}

static const struct spawn_latency_options report[] = {
	{ .n = 28, .tasks = 500, .gap_us = 200, .root = "outside" },
	{ .n = 28, .tasks = 500, .gap_us = 200, .root = "task" },
	{ .n = 28, .tasks = 500, .gap_us = 200, .root = "none" },
};

WORKLOAD(spawn_latency, "How long a task waits while calls fork and join",
	 ARGS_OPTIONS(
		 ARGS_NUMBER_OF(
			 struct spawn_latency_options, "n", n, 2, 40, "N",
			 "Which Fibonacci number a call computes (default 28)"),
		 ARGS_NUMBER_OF(struct spawn_latency_options, "tasks", tasks, 1,
				10000000, "N", "Tasks (default 500)"),
		 ARGS_NUMBER_OF(struct spawn_latency_options, "gap", gap_us, 0,
				1000000, "N",
				"Microseconds before each task (default 200)"),
		 ARGS_PARSED("root", parse_root, "WORD",
			     "Origin of the calls: " ROOTS
			     " (default outside)")),
	 .options_size = sizeof(struct spawn_latency_options),
	 .defaults = &report[0], .report = report,
	 .report_count = sizeof(report) / sizeof(report[0]),
	 .params = spawn_latency_params, .latency = true,
	 .sample = spawn_latency_sample, .figures = spawn_latency_figures,
	 WORKLOAD_CALLS(spawn_latency, struct spawn_latency));
