/* SPDX-License-Identifier: MIT */
/*
 * values.c - fibers that send a value once, an item to all, and the latest value
 *
 *   oneshot    one fiber makes a oneshot, sends a number, and receives it
 *   broadcast  one fiber sends numbers, and several receive each of them. After a batch
 *              of half the capacity, the sender waits for all (a semaphore)
 *   watch      two fibers set a number to and fro, and wait for the other's change
 *
 * An operation is a number; in broadcast, with all its receipts; in watch, a way there and
 * back.
 */
#include <errno.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/workloads/workloads.h"
#include "bpf/cli/args.h"

#define CAPACITY 128u
#define BATCH    (CAPACITY / 2)

struct value_options {
	uint64_t receivers;
	uint64_t times; /* numbers */
};

struct value_fiber {
	alignas(128) struct skua_fiber fiber; /* first: it is cast back */
	struct values *shared;
	struct skua_subscription subscription;
	uint64_t sum; /* of what the fiber has received */
	uint64_t wrong;
};

struct values {
	struct value_options options;
	struct skua_runtime *rt;
	struct value_fiber *fibers; /* a sender, and the receivers */
	uint64_t numbers[CAPACITY * 2];
	uint64_t number_of[2][16]; /* of the watches, a line pair each */
	alignas(128) struct skua_broadcast broadcast;
	alignas(128) struct skua_semaphore caught_up;
	alignas(128) struct skua_watch there;
	alignas(128) struct skua_watch back;
};

_Static_assert(SKUA_CHANNEL_BYTES(CAPACITY, 8) ==
		       sizeof(((struct values *)0)->numbers),
	       "the memory of the broadcast");

static int run_fiber(struct values *v, uint64_t i, skua_fiber_fn fn)
{
	int err = skua_fiber_init(&v->fibers[i].fiber, fn, 0);

	return err ? err : skua_task_spawn(v->rt, &v->fibers[i].fiber.task);
}

/* Run a sender and the receivers, and wait for all. */
static int run_fibers(struct values *v, skua_fiber_fn sender,
		      skua_fiber_fn receiver)
{
	int err = run_fiber(v, 0, sender);
	int drain_err;

	for (uint64_t i = 1; err == 0 && i <= v->options.receivers; i++)
		err = run_fiber(v, i, receiver);
	drain_err = skua_runtime_drain(v->rt);
	return err != 0 ? err : drain_err;
}

/* ---- oneshot ------------------------------------------------------------- */

static void send_once(struct skua_fiber *self)
{
	struct value_fiber *f = (struct value_fiber *)self;
	uint64_t times = f->shared->options.times;
	uint64_t sum = 0, wrong = 0;

	for (uint64_t i = 1; i <= times; i++) {
		struct skua_oneshot oneshot = SKUA_ONESHOT_INIT;
		uintptr_t number = 0;

		wrong += skua_oneshot_send(&oneshot, i) != 0;
		wrong += skua_oneshot_receive(&oneshot, &number,
					      SKUA_FOREVER_NS) != 0;
		sum += number;
	}
	f->sum = sum;
	f->wrong = wrong;
}

static int oneshot_round(struct workload_run *run)
{
	return run_fibers(run->state, send_once, NULL);
}

/* ---- broadcast ----------------------------------------------------------- */

static void send_to_all(struct skua_fiber *self)
{
	struct value_fiber *f = (struct value_fiber *)self;
	struct values *v = f->shared;
	uint64_t wrong = 0;

	for (uint64_t i = 1; i <= v->options.times; i++) {
		wrong += skua_broadcast_send(&v->broadcast, &i) != 0;
		if (i % BATCH == 0)
			wrong += skua_semaphore_acquire(&v->caught_up,
							v->options.receivers,
							SKUA_FOREVER_NS) != 0;
	}
	f->wrong = wrong;
}

static void receive_each(struct skua_fiber *self)
{
	struct value_fiber *f = (struct value_fiber *)self;
	struct values *v = f->shared;
	uint64_t sum = 0, wrong = 0;

	for (uint64_t i = 1; i <= v->options.times; i++) {
		uint64_t number = 0;

		wrong += skua_subscription_receive(&f->subscription, &number,
						   NULL, SKUA_FOREVER_NS) != 0;
		sum += number;
		if (i % BATCH == 0)
			wrong += skua_semaphore_release(&v->caught_up, 1) != 0;
	}
	f->sum = sum;
	f->wrong = wrong;
}

static int broadcast_round(struct workload_run *run)
{
	return run_fibers(run->state, send_to_all, receive_each);
}

/* ---- watch --------------------------------------------------------------- */

static void set_and_see(struct skua_fiber *self)
{
	struct value_fiber *f = (struct value_fiber *)self;
	struct values *v = f->shared;
	uint64_t sum = 0, wrong = 0, version = 1;

	for (uint64_t i = 1; i <= v->options.times; i++) {
		uint64_t number = 0;

		wrong += skua_watch_set(&v->there, &i) != 0;
		wrong += skua_watch_changed(&v->back, &version, &number,
					    SKUA_FOREVER_NS) != 0;
		sum += number;
	}
	f->sum = sum;
	f->wrong = wrong;
}

static void see_and_set(struct skua_fiber *self)
{
	struct value_fiber *f = (struct value_fiber *)self;
	struct values *v = f->shared;
	uint64_t wrong = 0, version = 1;

	for (uint64_t i = 1; i <= v->options.times; i++) {
		uint64_t number = 0;

		wrong += skua_watch_changed(&v->there, &version, &number,
					    SKUA_FOREVER_NS) != 0;
		wrong += skua_watch_set(&v->back, &number) != 0;
	}
	f->wrong = wrong;
}

static int watch_round(struct workload_run *run)
{
	return run_fibers(run->state, set_and_see, see_and_set);
}

/* ---- for all ------------------------------------------------------------- */

static int values_setup(struct workload_run *run)
{
	const struct value_options *options = run->options;
	struct values *v = run->state;

	run->ops = options->times;
	v->options = *options;
	v->rt = run->rt;
	v->fibers =
		aligned_alloc(alignof(struct value_fiber),
			      (1 + options->receivers) * sizeof(*v->fibers));
	return v->fibers == NULL ? -ENOMEM : 0;
}

static void values_teardown(struct workload_run *run)
{
	struct values *v = run->state;

	free(v->fibers);
}

static void values_prepare(struct workload_run *run)
{
	struct values *v = run->state;

	skua_broadcast_init(&v->broadcast, v->numbers, CAPACITY, 8);
	skua_semaphore_init(&v->caught_up, 0);
	skua_watch_init(&v->there, v->number_of[0], 8);
	skua_watch_init(&v->back, v->number_of[1], 8);
	for (uint64_t i = 0; i <= v->options.receivers; i++) {
		v->fibers[i] = (struct value_fiber){ .shared = v };
		skua_broadcast_subscribe(&v->broadcast,
					 &v->fibers[i].subscription);
	}
}

/* Has each number been received as often as it should, and nothing gone wrong? */
static bool check(const struct values *v, uint64_t receivers)
{
	uint64_t times = v->options.times;
	uint64_t expected = receivers * (times * (times + 1) / 2);
	uint64_t sum = 0, wrong = 0;

	for (uint64_t i = 0; i <= v->options.receivers; i++) {
		sum += v->fibers[i].sum;
		wrong += v->fibers[i].wrong;
	}
	if (sum == expected && wrong == 0)
		return true;
	fprintf(stderr, "values: received %ju, not %ju; %ju wrong results\n",
		(uintmax_t)sum, (uintmax_t)expected, (uintmax_t)wrong);
	return false;
}

static bool check_one(struct workload_run *run)
{
	return check(run->state, 1);
}

static bool check_all(struct workload_run *run)
{
	const struct values *v = run->state;

	return check(v, v->options.receivers);
}

/* ---- options ------------------------------------------------------------- */

static json_t *value_params(const void *arg)
{
	const struct value_options *options = arg;

	return json_pack("{s:I, s:I}", "receivers",
			 (json_int_t)options->receivers, "times",
			 (json_int_t)options->times);
}

#define TIMES                                                               \
	ARGS_NUMBER_OF(struct value_options, "times", times, 1, 1000000000, \
		       "N", "Numbers to send")

#define VALUE_OPTIONS                                                         \
	.options_size = sizeof(struct value_options), .params = value_params, \
	.report_count = 1, .state_bytes = sizeof(struct values),              \
	.setup = values_setup, .teardown = values_teardown,                   \
	.prepare = values_prepare

static const struct value_options alone = { .receivers = 0, .times = 1000000 };
static const struct value_options four = { .receivers = 4, .times = 200000 };
static const struct value_options trips = { .receivers = 1, .times = 100000 };

WORKLOAD(oneshot, "A fiber sends a number once, and receives it",
	 ARGS_OPTIONS(TIMES), VALUE_OPTIONS, .defaults = &alone,
	 .report = &alone, .round = oneshot_round, .check = check_one);

WORKLOAD(broadcast, "A fiber sends numbers, and four receive each",
	 ARGS_OPTIONS(TIMES, ARGS_NUMBER_OF(struct value_options, "receivers",
					    receivers, 1, 1000, "N",
					    "Number of receivers")),
	 VALUE_OPTIONS, .defaults = &four, .report = &four,
	 .round = broadcast_round, .check = check_all);

WORKLOAD(watch, "Two fibers set a number, and wait for the other's",
	 ARGS_OPTIONS(TIMES), VALUE_OPTIONS, .defaults = &trips,
	 .report = &trips, .round = watch_round, .check = check_one);
