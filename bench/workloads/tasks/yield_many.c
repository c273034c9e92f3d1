/* SPDX-License-Identifier: MIT */
/* yield_many.c - run tasks that yield again and again; an operation is a yield */
#include <errno.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>

#include "bpf/cli/args.h"
#include "bench/workloads/batch.h"
#include "bench/workloads/workloads.h"

struct yield_options {
	struct batch_options batch; /* first: BATCH_OPTIONS sets it */
	uint64_t yields;
};

struct yield_task {
	alignas(64) struct skua_task task; /* first: it is cast back */
	uint64_t left;                     /* yields that remain */
	uint64_t runs;                     /* polls in the round */
};

struct yield_many {
	struct yield_options options;
	struct skua_runtime *rt;
	struct yield_task *tasks;
};

static enum skua_poll poll_yielding(struct skua_task *self)
{
	struct yield_task *t = (struct yield_task *)self;

	t->runs++;
	if (t->left == 0)
		return SKUA_DONE;
	t->left--;
	return SKUA_YIELD;
}

/* Spawn a batch, and wait for it. */
static int run_batch(struct yield_many *y)
{
	int err = 0;
	int drain_err;

	for (uint64_t i = 0; err == 0 && i < y->options.batch.tasks; i++) {
		y->tasks[i].left = y->options.yields;
		skua_task_init(&y->tasks[i].task, poll_yielding);
		err = skua_task_spawn(y->rt, &y->tasks[i].task);
	}
	drain_err = skua_runtime_drain(y->rt);
	return err != 0 ? err : drain_err;
}

/* ---- the workload -------------------------------------------------------- */

static int yield_setup(struct workload_run *run)
{
	const struct yield_options *options = run->options;
	struct yield_many *y = run->state;

	run->ops = batch_ops(&options->batch) * options->yields;
	y->options = *options;
	y->rt = run->rt;
	y->tasks = aligned_alloc(alignof(struct yield_task),
				 options->batch.tasks * sizeof(*y->tasks));
	if (y->tasks == NULL)
		return -ENOMEM;
	return 0;
}

static void yield_teardown(struct workload_run *run)
{
	struct yield_many *y = run->state;

	free(y->tasks);
}

static void yield_prepare(struct workload_run *run)
{
	struct yield_many *y = run->state;

	for (uint64_t i = 0; i < y->options.batch.tasks; i++)
		y->tasks[i].runs = 0;
}

static int yield_round(struct workload_run *run)
{
	struct yield_many *y = run->state;
	int err = 0;

	for (uint64_t i = 0; err == 0 && i < y->options.batch.repeat; i++)
		err = run_batch(y);
	return err;
}

static bool yield_check(struct workload_run *run)
{
	const struct yield_many *y = run->state;
	/* In each batch a task has one poll more than yields: the last one
	 * ends it. */
	uint64_t expected = (y->options.yields + 1) * y->options.batch.repeat;

	for (uint64_t i = 0; i < y->options.batch.tasks; i++) {
		if (y->tasks[i].runs == expected)
			continue;
		fprintf(stderr,
			"yield_many: task %ju was polled %ju times, not %ju\n",
			(uintmax_t)i, (uintmax_t)y->tasks[i].runs,
			(uintmax_t)expected);
		return false;
	}
	return true;
}

/* ---- options ------------------------------------------------------------- */

static json_t *yield_params(const void *arg)
{
	const struct yield_options *options = arg;

	return json_pack("{s:I, s:I, s:I}", "tasks",
			 (json_int_t)options->batch.tasks, "yields",
			 (json_int_t)options->yields, "repeat",
			 (json_int_t)options->batch.repeat);
}

static const struct yield_options defaults = {
	.batch = { .tasks = 200, .repeat = 5 },
	.yields = 1000,
};

WORKLOAD(yield_many, "200 tasks yield 1,000 times each", .defaults = &defaults,
	 .report = &defaults, .report_count = 1,
	 ARGS_OPTIONS(ARGS_NUMBER_OF(struct yield_options, "yields", yields, 1,
				     10000000, "N", "Yields of each task"),
		      BATCH_OPTIONS),
	 .options_size = sizeof(struct yield_options), .params = yield_params,
	 WORKLOAD_CALLS(yield, struct yield_many));
