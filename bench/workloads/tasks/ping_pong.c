/* SPDX-License-Identifier: MIT */
/*
 * ping_pong.c - tasks that each exchange two messages with a partner
 *
 * A driver task spawns all pings. Each ping spawns its pong, sends it a number, and waits
 * for the answer. An operation is a ping with its pong: two tasks and two one-shot
 * channels.
 */
#include <errno.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/workloads/batch.h"
#include "bench/workloads/oneshot.h"
#include "bench/workloads/workloads.h"

struct ping_pong {
	struct skua_task driver; /* first: it is cast back */
	struct skua_runtime *rt;
	struct batch_options options;
	struct pair *pairs;
	int err; /* of the driver */
};

/* A ping and its pong. Each is on cache lines of its own, with the channel
 * from which it receives. */
struct pair {
	alignas(64) struct skua_task ping; /* first: it is cast back */
	struct ping_pong *all;
	struct oneshot to_ping;
	bool asked;
	uint64_t number;
	uint64_t answers; /* right answers in this round */
	int err;          /* of the ping */

	alignas(64) struct skua_task pong;
	struct oneshot to_pong;
};

static uint64_t answer_to(uint64_t number)
{
	return ~number;
}

static enum skua_poll poll_pong(struct skua_task *self)
{
	struct pair *p =
		(struct pair *)((char *)self - offsetof(struct pair, pong));
	uint64_t number;

	if (!oneshot_receive_poll(&p->to_pong, self, &number))
		return SKUA_PENDING;
	oneshot_send(&p->to_ping, answer_to(number));
	return SKUA_DONE;
}

static void ask(struct pair *p)
{
	oneshot_init(&p->to_ping);
	oneshot_init(&p->to_pong);
	skua_task_init(&p->pong, poll_pong);
	p->err = skua_task_spawn(p->all->rt, &p->pong);
	oneshot_send(&p->to_pong, p->number);
	p->asked = true;
}

static enum skua_poll poll_ping(struct skua_task *self)
{
	struct pair *p = (struct pair *)self;
	uint64_t answer;

	if (!p->asked)
		ask(p);
	if (p->err != 0)
		return SKUA_DONE;
	if (!oneshot_receive_poll(&p->to_ping, self, &answer))
		return SKUA_PENDING;
	p->answers += answer == answer_to(p->number);
	return SKUA_DONE;
}

static enum skua_poll poll_driver(struct skua_task *self)
{
	struct ping_pong *all = (struct ping_pong *)self;
	int err = 0;

	for (uint64_t i = 0; err == 0 && i < all->options.tasks; i++) {
		all->pairs[i].asked = false;
		skua_task_init(&all->pairs[i].ping, poll_ping);
		err = skua_task_spawn(all->rt, &all->pairs[i].ping);
	}
	all->err = err;
	return SKUA_DONE;
}

static int run_batch(struct ping_pong *all)
{
	int err = batch_run(all->rt, &all->driver, poll_driver);

	return err == 0 ? all->err : err;
}

/* ---- the workload -------------------------------------------------------- */

static int ping_pong_setup(struct workload_run *run)
{
	const struct batch_options *options = run->options;
	struct ping_pong *all = run->state;

	run->ops = batch_ops(options);
	all->rt = run->rt;
	all->options = *options;
	all->pairs = aligned_alloc(alignof(struct pair),
				   options->tasks * sizeof(*all->pairs));
	if (all->pairs == NULL)
		return -ENOMEM;
	for (uint64_t i = 0; i < options->tasks; i++) {
		all->pairs[i].all = all;
		all->pairs[i].number = i;
	}
	return 0;
}

static void ping_pong_teardown(struct workload_run *run)
{
	struct ping_pong *all = run->state;

	free(all->pairs);
}

static void ping_pong_prepare(struct workload_run *run)
{
	struct ping_pong *all = run->state;

	for (uint64_t i = 0; i < all->options.tasks; i++)
		all->pairs[i].answers = 0;
}

static int ping_pong_round(struct workload_run *run)
{
	struct ping_pong *all = run->state;
	int err = 0;

	for (uint64_t i = 0; err == 0 && i < all->options.repeat; i++)
		err = run_batch(all);
	return err;
}

static bool ping_pong_check(struct workload_run *run)
{
	const struct ping_pong *all = run->state;

	for (uint64_t i = 0; i < all->options.tasks; i++) {
		uint64_t answers = all->pairs[i].answers;

		if (answers == all->options.repeat)
			continue;
		fprintf(stderr,
			"ping_pong: ping %ju got %ju right answers, not %ju\n",
			(uintmax_t)i, (uintmax_t)answers,
			(uintmax_t)all->options.repeat);
		return false;
	}
	return true;
}

static const struct batch_options defaults = { .tasks = 1000, .repeat = 50 };

WORKLOAD(ping_pong, "1,000 tasks exchange two messages with a partner each",
	 ARGS_OPTIONS(BATCH_OPTIONS),
	 .options_size = sizeof(struct batch_options), .defaults = &defaults,
	 .report = &defaults, .report_count = 1, .params = batch_params,
	 WORKLOAD_CALLS(ping_pong, struct ping_pong));
