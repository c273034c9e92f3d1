/* SPDX-License-Identifier: MIT */
/**
 * model_driver_groups.c - core/driver/driver.[ch]: an event of a group is reaped by another
 * group if its own cannot
 *
 * Two or three workers in two or three groups, each with a driver (driver_world.h): a worker
 * that has nothing to do, or ends a tick, looks for events of other groups.
 *
 * The last cases leave that out; the explorer must find them.
 */
#include "tests/model/driver_world.h"

/* Each poll takes so long that the worker then checks another group. */
static enum skua_poll yield_slowly(struct skua_task *task)
{
	polled[task_number(task)]++;
	if (polled[2] > 0)
		return SKUA_DONE;
	sleep_until(explore_now_ns() + TICK_POLLERS_NS);
	return SKUA_YIELD;
}

/* ---- fixture ---------------------------------------------------------------- */

static void setup(unsigned count, skua_task_fn first, uint64_t lifo_delay_ns)
{
	world_reset(count, first, lifo_delay_ns);
	explore_watch(&pool.sentinel, sizeof(pool.sentinel));
	explore_watch(sights, sizeof(sights));
}

static void setup_long_event(unsigned count, uint64_t lifo_delay_ns)
{
	setup(count, finish, lifo_delay_ns);
	tasks[1].poll = wait_for_second;
}

static void setup_event_long_of_groups_keep(void)
{
	setup_long_event(3, LIFO_DELAY_NS);
	tasks[0].poll = wait_for_second;
	place(3, 3);
	keep();
}

/* A worker that never sleeps is the sentinel, too, while the others are in long polls. */
static void setup_awake_of_groups(void)
{
	static struct skua_poller awake = { .poll = poll_nothing };

	setup_event_long_of_groups_keep();
	workers[0].pollers.list = &awake;
	home = 2; /* whose turn is not the first one of worker 0 */
}

/* Two groups of one worker; the descriptors are at that of worker 1. */
static void setup_far(void)
{
	setup(2, finish, SENTINEL_NEVER);
	place(2, 2);
	home = 1;
	keep();
}

static void setup_far_inside(void)
{
	setup(2, attach_and_wait, SENTINEL_NEVER);
	place(2, 2);
}

static void setup_far_long(void)
{
	setup_long_event(2, SENTINEL_NEVER);
	place(2, 2);
	home = 1;
}

static void setup_far_long_keep(void)
{
	setup_far_long();
	keep();
}

/* While worker 1 is in a long poll, worker 0 ends ticks. */
static void setup_far_busy(void)
{
	setup_far_long_keep();
	tasks[0].poll = yield_slowly;
	workers[0].tick.mean_ns = NS_PER_S;
}

/* Workers 0 and 2 are in one group, which has the descriptors, and worker 1 in another. */
static void setup_beside_far(void)
{
	setup_long_event(3, SENTINEL_NEVER);
	place(3, 2);
}

static void setup_beside_far_keep(void)
{
	setup_beside_far();
	keep();
}

static void setup_far_quiet(void)
{
	setup_far_long_keep();
	add_timer();
}

static void setup_looks_near(void)
{
	setup_far_long_keep();
	defect = LOOKS_NEAR;
}

static void setup_looks_near_busy(void)
{
	setup_far_busy();
	defect = LOOKS_NEAR;
}

/* ---- cases ------------------------------------------------------------------ */

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("two_long_of_groups__keep__few",
		       setup_event_long_of_groups_keep, check_two,
		       THREE_AND(attaches_two_and_spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("two_long_of_groups__awake__few", setup_awake_of_groups,
		       check_two, THREE_AND(attaches_two_and_spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("far__quiet__few", setup_far_quiet, check_two,
		       WORKERS_AND(attaches_two_late)),
	  FEW(15000) },
	{ EXPLORE_PASS("far__few", setup_far, check, WORKERS_AND(attaches)),
	  FEW(15000) },
	{ EXPLORE_PASS("far__late__few", setup_far, check,
		       WORKERS_AND(attaches_late)),
	  FEW(15000) },
	{ EXPLORE_PASS("far__inside__few", setup_far_inside, check,
		       WORKERS_AND(spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("far__long__few", setup_far_long, check_two,
		       WORKERS_AND(attaches_two)),
	  FEW(15000) },
	{ EXPLORE_PASS("far__long__keep__few", setup_far_long_keep, check_two,
		       WORKERS_AND(attaches_two)),
	  FEW(15000) },
	{ EXPLORE_PASS("far__long__keep__many", setup_far_long_keep, check_two,
		       WORKERS_AND(attaches_two)),
	  MANY(15000) },
	{ EXPLORE_PASS("far__busy__few", setup_far_busy, check_two,
		       WORKERS_AND(attaches_two_and_spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("beside_far__few", setup_beside_far, check_two,
		       THREE_AND(attaches_two)),
	  FEW(15000) },
	{ EXPLORE_PASS("beside_far__keep__few", setup_beside_far_keep,
		       check_two, THREE_AND(attaches_two)),
	  FEW(15000) },
	{ EXPLORE_PASS("beside_far__keep__many", setup_beside_far_keep,
		       check_two, THREE_AND(attaches_two)),
	  MANY(15000) },

	{ EXPLORE_BUG("looks_near", "", setup_looks_near, check_two,
		      WORKERS_AND(attaches_two)),
	  FEW(15000) },
	{ EXPLORE_BUG("looks_near__busy", "", setup_looks_near_busy, check_two,
		      WORKERS_AND(attaches_two_and_spawns)),
	  FEW(15000) },
};

EXPLORE_MAIN(cases)
