/* SPDX-License-Identifier: MIT */
/*
 * blocking.c - fibers that run functions on the pool of threads for calls that block
 *
 *   blocking         one fiber calls an empty function
 *   blocking_sleeps  fibers call a function that sleeps for 50 us, one call each
 *
 * An operation is a call.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench/workloads/workloads.h"
#include "bpf/cli/args.h"

struct blocking_options {
	uint64_t fibers;
	uint64_t times; /* calls of each fiber */
	uint64_t sleep_ns;
};

struct blocking_fiber {
	struct skua_fiber fiber;   /* first: it is cast back */
	struct skua_blocking call; /* its function casts back, too */
	struct blockings *shared;
	uint64_t runs;
	uint64_t wrong;
};

struct blockings {
	struct blocking_options options;
	struct skua_runtime *rt;
	struct blocking_fiber *fibers;
};

static void run_call(struct skua_blocking *self)
{
	struct blocking_fiber *f =
		SKUA_CONTAINER_OF(self, struct blocking_fiber, call);
	struct timespec time = {
		.tv_nsec = (long)f->shared->options.sleep_ns,
	};

	f->runs++;
	if (time.tv_nsec != 0)
		nanosleep(&time, NULL);
}

static void call_often(struct skua_fiber *self)
{
	struct blocking_fiber *f = (struct blocking_fiber *)self;
	struct blockings *b = f->shared;

	for (uint64_t i = 0; i < b->options.times; i++)
		f->wrong += skua_blocking_call(b->rt, &f->call,
					       SKUA_FOREVER_NS) != 0;
}

static int blockings_round(struct workload_run *run)
{
	struct blockings *b = run->state;
	int err = 0;
	int drain_err;

	for (uint64_t i = 0; err == 0 && i < b->options.fibers; i++) {
		err = skua_fiber_init(&b->fibers[i].fiber, call_often, 0);
		if (err == 0)
			err = skua_task_spawn(b->rt, &b->fibers[i].fiber.task);
	}
	drain_err = skua_runtime_drain(b->rt);
	return err != 0 ? err : drain_err;
}

static int blockings_setup(struct workload_run *run)
{
	const struct blocking_options *options = run->options;
	struct blockings *b = run->state;

	run->ops = options->fibers * options->times;
	b->options = *options;
	b->rt = run->rt;
	b->fibers = calloc(options->fibers, sizeof(*b->fibers));
	return b->fibers == NULL ? -ENOMEM : 0;
}

static void blockings_teardown(struct workload_run *run)
{
	struct blockings *b = run->state;

	free(b->fibers);
}

static void blockings_prepare(struct workload_run *run)
{
	struct blockings *b = run->state;

	for (uint64_t i = 0; i < b->options.fibers; i++)
		b->fibers[i] = (struct blocking_fiber){
			.call = SKUA_BLOCKING_INIT(run_call),
			.shared = b,
		};
}

static bool blockings_check(struct workload_run *run)
{
	const struct blockings *b = run->state;
	uint64_t runs = 0, wrong = 0;

	for (uint64_t i = 0; i < b->options.fibers; i++) {
		runs += b->fibers[i].runs;
		wrong += b->fibers[i].wrong;
	}
	if (runs == run->ops && wrong == 0)
		return true;
	fprintf(stderr, "blocking: %ju calls, not %ju; %ju wrong results\n",
		(uintmax_t)runs, (uintmax_t)run->ops, (uintmax_t)wrong);
	return false;
}

/* ---- options ------------------------------------------------------------- */

static json_t *blocking_params(const void *arg)
{
	const struct blocking_options *options = arg;

	return json_pack("{s:I, s:I, s:I}", "fibers",
			 (json_int_t)options->fibers, "times",
			 (json_int_t)options->times, "sleep_ns",
			 (json_int_t)options->sleep_ns);
}

#define BLOCKING_OPTIONS                                                      \
	ARGS_OPTIONS(                                                         \
		ARGS_NUMBER_OF(struct blocking_options, "fibers", fibers, 1,  \
			       100000, "N", "Number of fibers"),              \
		ARGS_NUMBER_OF(struct blocking_options, "times", times, 1,    \
			       1000000000, "N", "Calls of each fiber"),       \
		ARGS_NUMBER_OF(struct blocking_options, "sleep-ns", sleep_ns, \
			       0, 999999999, "N",                             \
			       "How long a call sleeps, in nanoseconds")),    \
		.options_size = sizeof(struct blocking_options),              \
		.params = blocking_params,                                    \
		.state_bytes = sizeof(struct blockings),                      \
		.setup = blockings_setup, .teardown = blockings_teardown,     \
		.prepare = blockings_prepare, .check = blockings_check,       \
		.round = blockings_round

static const struct blocking_options empty = { .fibers = 1, .times = 20000 };
static const struct blocking_options sleeps = { .fibers = 1000,
						.times = 1,
						.sleep_ns = 50000 };

WORKLOAD(blocking, "A fiber calls a function on the blocking pool",
	 BLOCKING_OPTIONS, .defaults = &empty, .report = &empty,
	 .report_count = 1);

WORKLOAD(blocking_sleeps, "Fibers call a function that sleeps for 50 us",
	 BLOCKING_OPTIONS, .defaults = &sleeps, .report = &sleeps,
	 .report_count = 1);
