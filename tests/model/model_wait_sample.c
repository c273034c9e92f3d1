/* SPDX-License-Identifier: MIT */
/**
 * model_wait_sample.c - core/telemetry/wait_sample.c: tasks that share a place
 *
 * One is timed while it waits, the other is not; each is polled once, by its own
 * function. The sample of one task is not read for another.
 */
#include "core/telemetry/wait_sample.c"
#include "tests/model/workers.h"

/* Of a table of 256 some share a place, wherever the tasks are. */
#define MANY 1000

struct handed {
	struct skua_task *task;
	atomic_u32 there; /* writer: its waker */
	unsigned polls;
};

static struct wait_samples samples;
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

/* As in telemetry_poll.c. */
static enum skua_poll poll_waited(struct skua_task *task)
{
	uint64_t since_ns;
	uint32_t weight;

	return wait_sample_take(&samples, task, &since_ns, &weight)(task);
}

static struct wait_sample *place(void)
{
	return &samples.samples[place_of(&many[0])];
}

static void setup(void)
{
	unsigned other = 1;

	memset(&samples, 0, sizeof(samples));
	while (place_of(&many[other]) != place_of(&many[0]))
		explore_assert(++other < MANY);
	for (unsigned i = 0; i < 2; i++) {
		struct skua_task *task = &many[i * other];

		*task = (struct skua_task)SKUA_TASK_INIT(polled);
		handed[i] = (struct handed){ .task = task };
		atomic_init(&handed[i].there, 0);
		explore_watch(&task->poll, sizeof(task->poll));
	}
	explore_watch(place(), sizeof(struct wait_sample));
}

/* As a queue does: hand it on, with what was written before. */
static void ready(unsigned i)
{
	wait_sample_put(&samples, handed[i].task, 1, poll_waited);
	atomic_store_release(&handed[i].there, 1);
}

static void poll_if_there(unsigned i)
{
	struct skua_task *task = handed[i].task;

	if (!atomic_load_acquire(&handed[i].there) || handed[i].polls)
		return;
	explore_assert(task->poll == polled ||
		       wait_sample_poll(&samples, task) == polled);
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
	poll_if_there(0);
}

static void polls_1(void)
{
	poll_if_there(1);
}

static void both(void)
{
	ready(0);
	poll_if_there(0);
}

static void other(void)
{
	ready(1);
	poll_if_there(1);
}

static void check(void)
{
	polls_0();
	polls_1();
	for (unsigned i = 0; i < 2; i++) {
		explore_assert(handed[i].task->poll == polled);
		explore_assert(handed[i].polls == 1);
	}
	explore_assert(atomic_load_relaxed(&place()->taken) == 0);
}

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("shared", setup, check, ready_0, ready_1, polls_0,
		       polls_1),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("shared__in_turn", setup, check, both, other) },
};

EXPLORE_MAIN(cases)
