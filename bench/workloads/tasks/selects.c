/* SPDX-License-Identifier: MIT */
/*
 * selects.c - a fiber that takes the first of several items
 *
 *   select_1, select_2, select_8  a fiber waits for an item from one of so many channels, to
 *                                 which another one sends by turns, and answers it
 *
 * An item is a number of 8 bytes. An operation is a way there and back.
 */
#include <errno.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/workloads/workloads.h"
#include "bpf/cli/args.h"

#define CAPACITY  16u
#define MAX_CASES 8u

struct select_options {
	uint64_t times; /* items */
};

struct selects;

struct select_fiber {
	alignas(128) struct skua_fiber fiber; /* first: it is cast back */
	struct selects *shared;
	uint64_t sum; /* of what the fiber has received */
	uint64_t wrong;
};

struct selects {
	struct select_options options;
	uint32_t cases;
	struct skua_runtime *rt;
	struct select_fiber asker, answerer;
	alignas(128) struct skua_channel there[MAX_CASES];
	struct skua_channel back;
	uint64_t memory[MAX_CASES + 1][SKUA_CHANNEL_BYTES(CAPACITY, 8) / 8];
};

static void ask(struct skua_fiber *self)
{
	struct select_fiber *f = (struct select_fiber *)self;
	struct selects *s = f->shared;
	uint64_t sum = 0, wrong = 0;

	for (uint64_t i = 1; i <= s->options.times; i++) {
		uint64_t item = 0;

		wrong += skua_channel_send(&s->there[i % s->cases], &i,
					   SKUA_FOREVER_NS) != 0;
		wrong += skua_channel_receive(&s->back, &item,
					      SKUA_FOREVER_NS) != 0;
		sum += item;
	}
	f->sum = sum;
	f->wrong = wrong;
}

static void answer(struct skua_fiber *self)
{
	struct select_fiber *f = (struct select_fiber *)self;
	struct selects *s = f->shared;
	struct skua_select_case cases[MAX_CASES];
	uint64_t items[MAX_CASES], wrong = 0;

	for (uint32_t i = 0; i < s->cases; i++)
		cases[i] = (struct skua_select_case)SKUA_SELECT_CASE(
			SKUA_SELECT_RECEIVE, &s->there[i], &items[i], 0);
	for (uint64_t i = 1; i <= s->options.times; i++) {
		int at = skua_select(cases, s->cases, 0, SKUA_FOREVER_NS);

		if (at < 0 || cases[at].code != 0) {
			wrong++;
			continue;
		}
		wrong += skua_channel_send(&s->back, &items[at],
					   SKUA_FOREVER_NS) != 0;
	}
	f->wrong = wrong;
}

static int run_fiber(struct selects *s, struct select_fiber *f,
		     skua_fiber_fn fn)
{
	int err;

	*f = (struct select_fiber){ .shared = s };
	err = skua_fiber_init(&f->fiber, fn, 0);
	return err ? err : skua_task_spawn(s->rt, &f->fiber.task);
}

static int selects_round(struct workload_run *run)
{
	struct selects *s = run->state;
	int err = run_fiber(s, &s->answerer, answer);
	int drain_err;

	if (err == 0)
		err = run_fiber(s, &s->asker, ask);
	drain_err = skua_runtime_drain(s->rt);
	return err != 0 ? err : drain_err;
}

static int selects_setup(struct workload_run *run, uint32_t cases)
{
	struct selects *s = run->state;

	s->options = *(const struct select_options *)run->options;
	s->cases = cases;
	s->rt = run->rt;
	run->ops = s->options.times;
	return 0;
}

static int setup_1(struct workload_run *run)
{
	return selects_setup(run, 1);
}

static int setup_2(struct workload_run *run)
{
	return selects_setup(run, 2);
}

static int setup_8(struct workload_run *run)
{
	return selects_setup(run, 8);
}

static void selects_teardown(struct workload_run *run)
{
	(void)run;
}

static void selects_prepare(struct workload_run *run)
{
	struct selects *s = run->state;

	for (uint32_t i = 0; i < s->cases; i++)
		skua_channel_init(&s->there[i], s->memory[i], CAPACITY, 8);
	skua_channel_init(&s->back, s->memory[MAX_CASES], CAPACITY, 8);
}

static bool selects_check(struct workload_run *run)
{
	const struct selects *s = run->state;
	uint64_t times = s->options.times;
	uint64_t expected = times * (times + 1) / 2;
	uint64_t wrong = s->asker.wrong + s->answerer.wrong;

	if (s->asker.sum == expected && wrong == 0)
		return true;
	fprintf(stderr, "selects: received %ju, not %ju; %ju wrong results\n",
		(uintmax_t)s->asker.sum, (uintmax_t)expected, (uintmax_t)wrong);
	return false;
}

static json_t *select_params(const void *arg)
{
	const struct select_options *options = arg;

	return json_pack("{s:I}", "times", (json_int_t)options->times);
}

#define SELECT_OPTIONS                                                        \
	ARGS_OPTIONS(ARGS_NUMBER_OF(struct select_options, "times", times, 1, \
				    1000000000, "N", "Number of items")),     \
		.options_size = sizeof(struct select_options),                \
		.params = select_params,                                      \
		.state_bytes = sizeof(struct selects), .defaults = &trips,    \
		.report = &trips, .report_count = 1,                          \
		.teardown = selects_teardown, .prepare = selects_prepare,     \
		.check = selects_check, .round = selects_round

static const struct select_options trips = { .times = 100000 };

WORKLOAD(select_1, "A fiber answers items from one channel, by a select",
	 SELECT_OPTIONS, .setup = setup_1);

WORKLOAD(select_2, "A fiber answers items from 2 channels, by a select",
	 SELECT_OPTIONS, .setup = setup_2);

WORKLOAD(select_8, "A fiber answers items from 8 channels, by a select",
	 SELECT_OPTIONS, .setup = setup_8);
