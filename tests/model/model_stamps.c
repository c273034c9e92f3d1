/* SPDX-License-Identifier: MIT */
/**
 * model_stamps.c - core/loop/stamps.c: tasks that share a stamp
 *
 * One is timed while it waits, the other is not; each is polled once, by its own
 * function. What is put into the stamp for one is not read for another.
 */
#include "core/loop/stamps.c"
#include "tests/model/workers.h"

/* Of a table of 256 some share a place, wherever the tasks are. */
#define MANY 1000

struct handed {
	struct skua_task *task;
	atomic_u32 there; /* writer: who makes it runnable */
	unsigned polls;
};

static struct stamps stamps;
static struct skua_task many[MANY];
static struct handed handed[2];

static struct handed *handed_of(const struct skua_task *task)
{
	return &handed[task == handed[1].task];
}

static enum skua_poll polled(struct skua_task *task)
{
	handed_of(task)->polls++;
	return SKUA_DONE;
}

static void setup(void)
{
	unsigned other = 1;

	workers_reset(NULL, NULL, SENTINEL_NEVER);
	memset(&stamps, 0, sizeof(stamps));
	pool.stamps = &stamps;
	while (stamp_of(&pool, &many[other]) != stamp_of(&pool, &many[0]))
		explore_assert(++other < MANY);
	for (unsigned i = 0; i < 2; i++) {
		struct skua_task *task = &many[i * other];

		*task = (struct skua_task)SKUA_TASK_INIT(polled);
		handed[i] = (struct handed){ .task = task };
		atomic_init(&handed[i].there, 0);
		explore_watch(&task->poll, sizeof(task->poll));
	}
	explore_watch(stamp_of(&pool, &many[0]), sizeof(struct stamp));
}

/* What a queue does: hand it on, with what was written before. */
static void ready(unsigned i)
{
	stamps_put(&pool, handed[i].task, 1);
	atomic_store_release(&handed[i].there, 1);
}

static void poll_if_there(unsigned worker, unsigned i)
{
	struct skua_task *task = handed[i].task;

	worker_current = &workers[worker];
	if (!atomic_load_acquire(&handed[i].there) || handed[i].polls)
		return;
	explore_assert(stamps_poll(&pool, task) == polled);
	task->poll(task);
}

static void ready_0(void)
{
	ready(0);
}

static void ready_1(void)
{
	ready(1);
}

static void polls_0(void)
{
	poll_if_there(0, 0);
}

static void polls_1(void)
{
	poll_if_there(1, 1);
}

static void both(void)
{
	ready(0);
	poll_if_there(0, 0);
}

static void other(void)
{
	ready(1);
	poll_if_there(1, 1);
}

static void check(void)
{
	polls_0();
	polls_1();
	for (unsigned i = 0; i < 2; i++) {
		explore_assert(handed[i].task->poll == polled);
		explore_assert(handed[i].polls == 1);
	}
	explore_assert(atomic_load_relaxed(
			       &stamp_of(&pool, handed[0].task)->taken) == 0);
}

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("shared", setup, check, ready_0, ready_1, polls_0,
		       polls_1),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("shared__in_turn", setup, check, both, other) },
};

EXPLORE_MAIN(cases)
