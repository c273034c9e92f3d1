/* SPDX-License-Identifier: MIT */
/*
 * channels.c - fibers that send and receive
 *
 *   channel             one fiber sends an item, and receives it
 *   channel_mpmc        fibers send, and as many others receive
 *   channel_round_trip  two fibers send an item to and fro
 *   spsc                one fiber sends, and another receives, through an spsc
 *
 * An item is a number of 8 bytes. An operation is an item; in channel_round_trip, a way
 * there and back.
 */
#include <errno.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/workloads/workloads.h"
#include "bpf/cli/args.h"

#define CAPACITY 128u

struct channel_options {
	uint64_t pairs; /* of a sender and a receiver */
	uint64_t times; /* items of each sender */
};

struct channel_fiber {
	alignas(128) struct skua_fiber fiber; /* first: it is cast back */
	struct channels *shared;
	uint64_t index;
	uint64_t sum; /* of what the fiber has received */
	uint64_t wrong;
};

struct channels {
	struct channel_options options;
	struct skua_runtime *rt;
	struct channel_fiber *fibers; /* two for each pair */
	struct skua_channel *answers; /* there or back */
	alignas(128) struct skua_channel there, back;
	alignas(128) struct skua_spsc spsc;
	uint64_t memory[2][SKUA_CHANNEL_BYTES(CAPACITY, 8) / 8];
	alignas(128) uint64_t spsc_memory[SKUA_SPSC_BYTES(CAPACITY, 8) / 8];
};

static int run_fiber(struct channels *c, uint64_t i, skua_fiber_fn fn)
{
	struct channel_fiber *fiber = &c->fibers[i];
	int err;

	*fiber = (struct channel_fiber){ .shared = c, .index = i };
	err = skua_fiber_init(&fiber->fiber, fn, 0);
	return err ? err : skua_task_spawn(c->rt, &fiber->fiber.task);
}

/* Run the pairs, and wait for all. @other: NULL: there is one fiber alone. */
static int run_pairs(struct channels *c, skua_fiber_fn one, skua_fiber_fn other)
{
	int err = 0;
	int drain_err;

	for (uint64_t i = 0; err == 0 && i < c->options.pairs; i++) {
		err = run_fiber(c, 2 * i, one);
		if (err == 0 && other != NULL)
			err = run_fiber(c, 2 * i + 1, other);
	}
	drain_err = skua_runtime_drain(c->rt);
	return err != 0 ? err : drain_err;
}

/* ---- channel ------------------------------------------------------------- */

/* Send each number, and receive the answer. */
static void ask(struct skua_fiber *self)
{
	struct channel_fiber *f = (struct channel_fiber *)self;
	struct channels *c = f->shared;
	uint64_t sum = 0, wrong = 0;

	for (uint64_t i = 1; i <= c->options.times; i++) {
		uint64_t item = 0;

		wrong += skua_channel_send(&c->there, &i, SKUA_FOREVER_NS) != 0;
		wrong += skua_channel_receive(c->answers, &item,
					      SKUA_FOREVER_NS) != 0;
		sum += item;
	}
	f->sum = sum;
	f->wrong = wrong;
}

static int channel_round(struct workload_run *run)
{
	struct channels *c = run->state;

	c->answers = &c->there;
	return run_pairs(c, ask, NULL);
}

/* ---- channel_mpmc -------------------------------------------------------- */

static void send_all(struct skua_fiber *self)
{
	struct channel_fiber *f = (struct channel_fiber *)self;
	struct channels *c = f->shared;
	uint64_t wrong = 0;

	for (uint64_t i = 1; i <= c->options.times; i++)
		wrong += skua_channel_send(&c->there, &i, SKUA_FOREVER_NS) != 0;
	f->wrong = wrong;
}

static void receive_as_many(struct skua_fiber *self)
{
	struct channel_fiber *f = (struct channel_fiber *)self;
	struct channels *c = f->shared;
	uint64_t sum = 0, wrong = 0;

	for (uint64_t i = 1; i <= c->options.times; i++) {
		uint64_t item = 0;

		wrong += skua_channel_receive(&c->there, &item,
					      SKUA_FOREVER_NS) != 0;
		sum += item;
	}
	f->sum = sum;
	f->wrong = wrong;
}

static int mpmc_round(struct workload_run *run)
{
	return run_pairs(run->state, send_all, receive_as_many);
}

/* ---- channel_round_trip -------------------------------------------------- */

static void answer(struct skua_fiber *self)
{
	struct channel_fiber *f = (struct channel_fiber *)self;
	struct channels *c = f->shared;
	uint64_t wrong = 0;

	for (uint64_t i = 1; i <= c->options.times; i++) {
		uint64_t item = 0;

		wrong += skua_channel_receive(&c->there, &item,
					      SKUA_FOREVER_NS) != 0;
		wrong += skua_channel_send(&c->back, &item, SKUA_FOREVER_NS) !=
			 0;
	}
	f->wrong = wrong;
}

static int round_trip_round(struct workload_run *run)
{
	struct channels *c = run->state;

	c->answers = &c->back;
	return run_pairs(c, ask, answer);
}

/* ---- spsc ---------------------------------------------------------------- */

static void send_to_one(struct skua_fiber *self)
{
	struct channel_fiber *f = (struct channel_fiber *)self;
	struct channels *c = f->shared;
	uint64_t wrong = 0;

	for (uint64_t i = 1; i <= c->options.times; i++)
		wrong += skua_spsc_send(&c->spsc, &i, SKUA_FOREVER_NS) != 0;
	f->wrong = wrong;
}

static void receive_from_one(struct skua_fiber *self)
{
	struct channel_fiber *f = (struct channel_fiber *)self;
	struct channels *c = f->shared;
	uint64_t sum = 0, wrong = 0;

	for (uint64_t i = 1; i <= c->options.times; i++) {
		uint64_t item = 0;

		wrong += skua_spsc_receive(&c->spsc, &item, SKUA_FOREVER_NS) !=
			 0;
		wrong += item != i;
		sum += item;
	}
	f->sum = sum;
	f->wrong = wrong;
}

static int spsc_round(struct workload_run *run)
{
	return run_pairs(run->state, send_to_one, receive_from_one);
}

/* ---- for all ------------------------------------------------------------- */

static int channels_setup(struct workload_run *run)
{
	const struct channel_options *options = run->options;
	struct channels *c = run->state;

	run->ops = options->pairs * options->times;
	c->options = *options;
	c->rt = run->rt;
	c->fibers = aligned_alloc(alignof(struct channel_fiber),
				  2 * options->pairs * sizeof(*c->fibers));
	return c->fibers == NULL ? -ENOMEM : 0;
}

static void channels_teardown(struct workload_run *run)
{
	struct channels *c = run->state;

	free(c->fibers);
}

static void channels_prepare(struct workload_run *run)
{
	struct channels *c = run->state;

	for (uint64_t i = 0; i < 2 * c->options.pairs; i++)
		c->fibers[i] = (struct channel_fiber){ .shared = c };
	skua_channel_init(&c->there, c->memory[0], CAPACITY, 8);
	skua_channel_init(&c->back, c->memory[1], CAPACITY, 8);
	skua_spsc_init(&c->spsc, c->spsc_memory, CAPACITY, 8);
}

/* Has each number been received once from each sender, and nothing gone wrong? */
static bool channels_check(struct workload_run *run)
{
	const struct channels *c = run->state;
	uint64_t times = c->options.times;
	uint64_t expected = c->options.pairs * (times * (times + 1) / 2);
	uint64_t sum = 0, wrong = 0;

	for (uint64_t i = 0; i < 2 * c->options.pairs; i++) {
		sum += c->fibers[i].sum;
		wrong += c->fibers[i].wrong;
	}
	if (sum == expected && wrong == 0)
		return true;
	fprintf(stderr, "channels: received %ju, not %ju; %ju wrong results\n",
		(uintmax_t)sum, (uintmax_t)expected, (uintmax_t)wrong);
	return false;
}

/* ---- options ------------------------------------------------------------- */

static json_t *channel_params(const void *arg)
{
	const struct channel_options *options = arg;

	return json_pack("{s:I, s:I}", "pairs", (json_int_t)options->pairs,
			 "times", (json_int_t)options->times);
}

#define TIMES                                                                 \
	ARGS_NUMBER_OF(struct channel_options, "times", times, 1, 1000000000, \
		       "N", "Items of each sender")

#define PAIRS                                                                \
	ARGS_NUMBER_OF(struct channel_options, "pairs", pairs, 1, 1000, "N", \
		       "Number of senders, and of receivers")

#define CHANNEL_OPTIONS                                                   \
	.options_size = sizeof(struct channel_options),                   \
	.params = channel_params, .state_bytes = sizeof(struct channels), \
	.setup = channels_setup, .teardown = channels_teardown,           \
	.prepare = channels_prepare, .check = channels_check

static const struct channel_options alone = { .pairs = 1, .times = 1000000 };
static const struct channel_options trips = { .pairs = 1, .times = 100000 };
static const struct channel_options many[] = {
	{ .pairs = 2, .times = 200000 },
	{ .pairs = 1, .times = 200000 },
	{ .pairs = 4, .times = 100000 },
	{ .pairs = 8, .times = 50000 },
};

WORKLOAD(channel, "A fiber sends an item, and receives it",
	 ARGS_OPTIONS(PAIRS, TIMES), CHANNEL_OPTIONS, .defaults = &alone,
	 .report = &alone, .report_count = 1, .round = channel_round);

WORKLOAD(channel_mpmc, "Fibers send, and as many others receive",
	 ARGS_OPTIONS(PAIRS, TIMES), CHANNEL_OPTIONS, .defaults = &many[0],
	 .report = many, .report_count = sizeof(many) / sizeof(many[0]),
	 .round = mpmc_round);

WORKLOAD(channel_round_trip, "Two fibers send an item to and fro",
	 ARGS_OPTIONS(PAIRS, TIMES), CHANNEL_OPTIONS, .defaults = &trips,
	 .report = &trips, .report_count = 1, .round = round_trip_round);

WORKLOAD(spsc, "A fiber sends, and another one receives", ARGS_OPTIONS(TIMES),
	 CHANNEL_OPTIONS, .defaults = &alone, .report = &alone,
	 .report_count = 1, .round = spsc_round);
