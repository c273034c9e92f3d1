/* SPDX-License-Identifier: MIT */
/**
 * model_timers.c - a timer's memory belongs to its owner again once it fired
 *
 * A thread that takes a timer out of its wheel accesses the timer no more once it
 * says so; its owner learns of it without the wheel's lock, and writes to the
 * timer at once. All its memory is watched. The wheel is that of worker 0. Workers 1
 * and 2 are in groups of their own, and fire the timer in their turn.
 */
#define WORKERS 3

#include "tests/model/workers.h"

#include "core/queue/timer_wheel.c"
#include "core/loop/timers.c"

static struct timer timer;

/* It leaves the timer to another that has taken its deadline. */
static void fires_due(void)
{
	timers_fire_due(&workers[0], EXPLORE_FAR_NS, 0);
}

/* In turn with the other group. */
static void fires_of_others(unsigned i)
{
	for (unsigned turn = 0; turn < 2; turn++)
		timers_fire_due(&workers[i], EXPLORE_FAR_NS, 1);
}

static void worker_1_fires(void)
{
	fires_of_others(1);
}

static void worker_2_fires(void)
{
	fires_of_others(2);
}

static void fires_all(void)
{
	timers_fire_all(&pool);
}

static void use_again(void)
{
	timer = (struct timer){ .reserved = 1 };
}

static void waits_and_uses(void)
{
	/* Relaxed: the call behind it is what the owner may rely on. */
	while (atomic_load_relaxed(&timer.worker))
		cpu_relax();
	explore_assert(!timers_queued(&timer));
	use_again();
}

static void cancels_and_uses(void)
{
	/* The task's reference goes by either way. */
	timers_cancel(&timer);
	use_again();
}

static void setup(void)
{
	workers_reset(NULL, NULL, SENTINEL_NEVER);
	workers_place(3, 3);
	timer = (struct timer){ .reserved = 0 };
	explore_assert(workers_spawn(0) == 0);
	explore_assert(
		timers_add(&workers[0], &timer, &tasks[0], EXPLORE_START_NS));
	/* As in a shutdown, which fires all. */
	atomic_init(&pool.telemetry.poll_flags, POLL_CANCEL);
	explore_watch(&timer, sizeof(timer));
}

static void check(void)
{
	uint64_t state = atomic_load_relaxed(task_state(&tasks[0]));

	explore_assert(timer.reserved == 1);
	explore_assert(task_state_references(state) == TASK_SPAWN_REFERENCES);
}

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("fired__used_again", setup, check, fires_all,
		       waits_and_uses) },
	{ EXPLORE_PASS("fired_by_two__used_again", setup, check, fires_due,
		       fires_all, waits_and_uses),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("fired_by_two_groups__used_again", setup, check,
		       worker_1_fires, worker_2_fires, waits_and_uses),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("fired_by_three_groups__used_again", setup, check,
		       fires_due, worker_1_fires, worker_2_fires,
		       waits_and_uses),
	  EXPLORE_WITHIN(1, 1) },
	{ EXPLORE_PASS("cancelled_beside_two_groups__used_again", setup, check,
		       worker_1_fires, worker_2_fires, cancels_and_uses),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("cancelled_beside_fire__used_again", setup, check,
		       fires_due, cancels_and_uses) },
	{ EXPLORE_PASS("cancelled_beside_fire_all__used_again", setup, check,
		       fires_all, cancels_and_uses) },
	{ EXPLORE_PASS("cancelled_beside_both__used_again", setup, check,
		       fires_all, fires_due, cancels_and_uses),
	  EXPLORE_WITHIN(2, 1) },
};

EXPLORE_MAIN(cases)
