/* SPDX-License-Identifier: MIT */
/* test_spin_worker.c - what a worker learns of its sleeps, once it has searched
 * for as long as it ever does */
#include <time.h>

#include "core/loop/current.h"
#include "core/base/clock.h"
#include "core/runtime/runtime.h"
#include "core/base/spin.h"
#include "tests/unit/tasks.h"

#define TICKS     200u
#define PERIOD_NS UINT64_C(1000000)

/* Sleeps by a timer TICKS times. */
struct sleeper {
	struct skua_task task; /* first: a task is its sleeper */
	struct skua_timer timer;
	unsigned ticks;
	uint64_t spin_ns; /* at the last poll */
	uint64_t cpu_ns;  /* of the worker, from the first poll to the last */
};

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static enum skua_poll sleeper_poll(struct skua_task *self)
{
	struct sleeper *it = (struct sleeper *)self;

	if (it->ticks == 0) {
		current_worker->spin_ns = SPIN_MAX_NS; /* as after a burst */
		it->cpu_ns = cpu_ns();
	}
	if (it->ticks++ == TICKS) {
		it->spin_ns = current_worker->spin_ns;
		it->cpu_ns = cpu_ns() - it->cpu_ns;
		return SKUA_DONE;
	}
	skua_timer_add(self, &it->timer, skua_now_ns() + PERIOD_NS);
	return SKUA_PENDING;
}

TEST(timer__ends_a_long_sleep__the_next_look_is_short)
{
	struct sleeper it = { .task = SKUA_TASK_INIT(sleeper_poll),
			      .timer = SKUA_TIMER_INIT };
	struct skua_runtime *rt = runtime_new(1, 0);

	spawn(rt, &it.task);
	join(&it.task);
	destroy(rt);
	print_message("%u ns of CPU a tick\n", (unsigned)(it.cpu_ns / TICKS));
	assert_true(it.spin_ns < SPIN_MAX_NS);
}

/* Makes its worker search for long, or tells how long it would. */
struct teacher {
	struct skua_task task; /* first: a task is its teacher */
	bool teaches;
	uint64_t spin_ns;
};

static enum skua_poll teacher_poll(struct skua_task *self)
{
	struct teacher *it = (struct teacher *)self;

	it->spin_ns = current_worker->spin_ns;
	if (it->teaches)
		current_worker->spin_ns = SPIN_MAX_NS;
	return SKUA_DONE;
}

/* The search took SPIN_MAX_NS already: another one would be in vain, too. A task
 * that comes when the worker is about to sleep, but does not yet, teaches it
 * nothing; that is rare. */
TEST(call__just_after_a_search_in_vain__the_next_one_is_short)
{
	struct teacher it = { .task = SKUA_TASK_INIT(teacher_poll) };
	struct skua_runtime *rt = runtime_new(1, 0);
	unsigned shorter = 0;

	for (unsigned n = 0; n < 20; n++) {
		it.teaches = true;
		spawn(rt, &it.task);
		join(&it.task);
		while (!idle_parked(&rt->pool.idle, 0))
			sched_yield();
		it.teaches = false;
		spawn(rt, &it.task);
		join(&it.task);
		shorter += it.spin_ns < SPIN_MAX_NS;
	}
	assert_true(shorter >= 10);
	destroy(rt);
}
