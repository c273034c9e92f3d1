/* SPDX-License-Identifier: MIT */
/* test_spin_worker.c - what a worker learns of the gaps that a sleep ends */
#include <time.h>

#include "core/loop/current.h"
#include "core/base/clock.h"
#include "core/runtime/runtime.h"
#include "tests/unit/tasks.h"

#define TICKS      200u
#define TICKS_MOST 10000u
#define PERIOD_NS  UINT64_C(1000000)

/* Sleeps by a timer TICKS times, and then until all gaps that the worker remembers were long,
 * TICKS_MOST times at most. A worker that had no CPU when it was about to sleep may sleep for
 * no time. */
struct sleeper {
	struct skua_task task; /* first: a task is its sleeper */
	struct skua_timer timer;
	unsigned ticks;
	unsigned long_gaps; /* that the worker remembers at the last poll */
	uint64_t cpu_ns;    /* of the worker, from the first poll to the last */
};

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static unsigned long_gaps(void)
{
	return current_worker->spin.counts[SPIN_BUCKETS - 1];
}

/* As after a burst: all gaps were short. */
static void forget_long_gaps(void)
{
	for (unsigned n = 0; n < SPIN_GAPS; n++)
		spin_learn(&current_worker->spin, 0);
}

static enum skua_poll sleeper_poll(struct skua_task *self)
{
	struct sleeper *it = (struct sleeper *)self;

	if (it->ticks == 0) {
		forget_long_gaps();
		it->cpu_ns = cpu_ns();
	}
	it->long_gaps = long_gaps();
	if ((it->ticks >= TICKS && it->long_gaps == SPIN_GAPS) ||
	    it->ticks == TICKS_MOST) {
		it->cpu_ns = cpu_ns() - it->cpu_ns;
		return SKUA_DONE;
	}
	it->ticks++;
	skua_timer_add(self, &it->timer, skua_now_ns() + PERIOD_NS);
	return SKUA_PENDING;
}

TEST(timer__ends_a_long_sleep__is_a_long_gap)
{
	struct sleeper it = { .task = SKUA_TASK_INIT(sleeper_poll),
			      .timer = SKUA_TIMER_INIT };
	struct skua_runtime *rt = runtime_new(1, 0);

	spawn(rt, &it.task);
	join(&it.task);
	destroy(rt);
	print_message("%u ns of CPU a tick\n",
		      (unsigned)(it.cpu_ns / it.ticks));
	assert_int_equal(it.long_gaps, SPIN_GAPS);
}

static enum skua_poll gap_poll(struct skua_task *self)
{
	struct sleeper *it = (struct sleeper *)self;

	if (it->ticks++ == 0)
		forget_long_gaps();
	it->long_gaps = long_gaps();
	return SKUA_DONE;
}

/* A call that comes when the worker is about to sleep, but does not yet, may be
 * no gap; that is rare. */
TEST(call__after_a_long_sleep__is_a_long_gap)
{
	const struct timespec pause = { 0, 1000000 };
	struct sleeper it = { .task = SKUA_TASK_INIT(gap_poll) };
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned n = 0; n <= 20; n++) {
		spawn(rt, &it.task);
		join(&it.task);
		nanosleep(&pause, NULL);
	}
	assert_true(it.long_gaps >= 10);
	destroy(rt);
}
