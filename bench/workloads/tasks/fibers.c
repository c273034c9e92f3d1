/* SPDX-License-Identifier: MIT */
/*
 * fibers.c - fibers that yield, and fibers that end at once
 *
 *   fiber_yield   as yield_many, with fibers: an operation is a yield
 *   fiber_spawn   as spawn_many_worker, with fibers: a task spawns, and joins each
 */
#include <errno.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>

#include "bpf/cli/args.h"
#include "bench/workloads/batch.h"
#include "bench/workloads/workloads.h"

struct fiber_options {
	struct batch_options batch; /* first: BATCH_OPTIONS sets it */
	uint64_t yields;            /* 0 in fiber_spawn */
};

struct bench_fiber {
	alignas(64) struct skua_fiber fiber; /* first: it is cast back */
	uint64_t yields;
	uint64_t runs; /* parts of the round between two yields */
};

struct fibers {
	struct skua_runtime *rt;
	struct fiber_options options;
	struct bench_fiber *fibers;
	uint64_t joined; /* fibers of this batch, by the task of fiber_spawn */
};

static void run_fiber(struct skua_fiber *self)
{
	struct bench_fiber *f = (struct bench_fiber *)self;

	f->runs++;
	for (uint64_t i = 0; i < f->yields; i++) {
		if (skua_yield() == 0)
			f->runs++;
	}
}

static int spawn_all(struct fibers *s)
{
	int err = 0;

	for (uint64_t i = 0; err == 0 && i < s->options.batch.tasks; i++) {
		struct bench_fiber *f = &s->fibers[i];

		f->yields = s->options.yields;
		err = skua_fiber_init(&f->fiber, run_fiber, 0);
		if (err == 0)
			err = skua_task_spawn(s->rt, &f->fiber.task);
	}
	return err;
}

/* ---- fiber_yield --------------------------------------------------------- */

static int yield_round(struct workload_run *run)
{
	struct fibers *s = run->state;
	int err = 0;

	for (uint64_t i = 0; err == 0 && i < s->options.batch.repeat; i++) {
		int drain_err;

		err = spawn_all(s);
		drain_err = skua_runtime_drain(s->rt);
		err = err != 0 ? err : drain_err;
	}
	return err;
}

/* ---- fiber_spawn --------------------------------------------------------- */

static int spawn_batch(void *state)
{
	struct fibers *s = state;

	s->joined = 0;
	return spawn_all(s);
}

static int join_batch(struct skua_task *self, void *state)
{
	struct fibers *s = state;
	int err = 0;

	while (err == 0 && s->joined < s->options.batch.tasks) {
		struct bench_fiber *f = &s->fibers[s->joined];

		err = skua_task_join_poll(self, &f->fiber.task);
		s->joined += err == 0;
	}
	return err;
}

static int spawn_round(struct workload_run *run)
{
	struct fibers *s = run->state;
	struct batch_driver driver = {
		.spawn = spawn_batch,
		.join = join_batch,
		.state = s,
	};

	return batch_drive(s->rt, &driver, s->options.batch.repeat);
}

/* ---- for both ------------------------------------------------------------ */

static void fibers_teardown(struct workload_run *run)
{
	struct fibers *s = run->state;

	free(s->fibers);
}

static int fibers_setup(struct workload_run *run)
{
	const struct fiber_options *options = run->options;
	struct fibers *s = run->state;

	run->ops = batch_ops(&options->batch);
	if (options->yields != 0)
		run->ops *= options->yields;
	s->rt = run->rt;
	s->options = *options;
	s->fibers = aligned_alloc(alignof(struct bench_fiber),
				  options->batch.tasks * sizeof(*s->fibers));
	return s->fibers == NULL ? -ENOMEM : 0;
}

static void fibers_prepare(struct workload_run *run)
{
	struct fibers *s = run->state;

	for (uint64_t i = 0; i < s->options.batch.tasks; i++)
		s->fibers[i].runs = 0;
}

static bool fibers_check(struct workload_run *run)
{
	const struct fibers *s = run->state;
	uint64_t expected = (s->options.yields + 1) * s->options.batch.repeat;

	for (uint64_t i = 0; i < s->options.batch.tasks; i++) {
		if (s->fibers[i].runs == expected)
			continue;
		fprintf(stderr, "fibers: fiber %ju ran %ju times, not %ju\n",
			(uintmax_t)i, (uintmax_t)s->fibers[i].runs,
			(uintmax_t)expected);
		return false;
	}
	return true;
}

/* ---- options ------------------------------------------------------------- */

static json_t *yield_params(const void *arg)
{
	const struct fiber_options *options = arg;

	return json_pack("{s:I, s:I, s:I}", "tasks",
			 (json_int_t)options->batch.tasks, "yields",
			 (json_int_t)options->yields, "repeat",
			 (json_int_t)options->batch.repeat);
}

static const struct fiber_options yield_defaults = {
	.batch = { .tasks = 200, .repeat = 5 },
	.yields = 1000,
};

WORKLOAD(fiber_yield, "200 fibers yield 1,000 times each",
	 ARGS_OPTIONS(ARGS_NUMBER_OF(struct fiber_options, "yields", yields, 1,
				     10000000, "N", "Yields of each fiber"),
		      BATCH_OPTIONS),
	 .options_size = sizeof(struct fiber_options),
	 .defaults = &yield_defaults, .report = &yield_defaults,
	 .report_count = 1, .params = yield_params,
	 .state_bytes = sizeof(struct fibers), .setup = fibers_setup,
	 .prepare = fibers_prepare, .round = yield_round, .check = fibers_check,
	 .teardown = fibers_teardown);

static const struct fiber_options spawn_defaults = {
	.batch = { .tasks = 10000, .repeat = 20 },
};

WORKLOAD(fiber_spawn, "Spawn 10,000 empty fibers from inside a task, join all",
	 ARGS_OPTIONS(BATCH_OPTIONS),
	 .options_size = sizeof(struct fiber_options),
	 .defaults = &spawn_defaults, .report = &spawn_defaults,
	 .report_count = 1, .params = batch_params,
	 .state_bytes = sizeof(struct fibers), .setup = fibers_setup,
	 .prepare = fibers_prepare, .round = spawn_round, .check = fibers_check,
	 .teardown = fibers_teardown);
