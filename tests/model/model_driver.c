/* SPDX-License-Identifier: MIT */
/**
 * model_driver.c - core/driver/driver.[ch]: an event is reaped, whatever polls do
 *
 * Up to three workers of one group (driver_world.h): beside tasks that an outside thread
 * spawns, long polls and rounds, and with a preferred leader.
 *
 * The last cases leave out parts of the rules; the explorer must find them.
 */
#include "tests/model/driver_world.h"

/* ---- tasks ----------------------------------------------------------------- */

/* A long poll, which ends when the task of event 1 was polled. */
static enum skua_poll wait_for_first(struct skua_task *task)
{
	polled[task_number(task)]++;
	wait_until_polled(1);
	return SKUA_DONE;
}

/* Its worker has no time to search or sleep. */
static enum skua_poll yield_until_first(struct skua_task *task)
{
	polled[task_number(task)]++;
	if (polled[1] > 0)
		return SKUA_DONE;
	cpu_relax();
	return SKUA_YIELD;
}

static enum skua_poll yield_until_second(struct skua_task *task)
{
	polled[task_number(task)]++;
	if (polled[2] > 0)
		return SKUA_DONE;
	cpu_relax();
	return SKUA_YIELD;
}

/* Event 2 occurs, and the next task is a long poll that waits for it. */
static enum skua_poll raise_second(struct skua_task *task)
{
	polled[task_number(task)]++;
	event(2);
	explore_assert(workers_spawn(LONG) == 0);
	return SKUA_DONE;
}

/* ---- outside --------------------------------------------------------------- */

/* Task 0 is beside the event, or keeps a worker until it was reaped. */
static void attaches_and_spawns(void)
{
	attach(1);
	explore_assert(workers_spawn(0) == 0);
	event(1);
	wait_until_polled(1);
	wait_until_polled(0);
	ends();
}

/* As attaches_two(), beside a task that yields until the end. */
static void attaches_two_and_yields(void)
{
	explore_assert(workers_spawn(0) == 0);
	attaches_two();
}

/* Event 1 makes a round of four tasks. The first of them has event 2 occur, whose task is
 * urgent, and spawns a long poll. */
static void attaches_two_and_prioritises(void)
{
	explore_assert(workers_spawn(URGENT) == 0);
	wait_until_polled(URGENT);
	attach(1);
	attach(2);
	explore_assert(workers_spawn(0) == 0);
	event(1);
	wait_until_polled(2);
	wait_until_polled(LONG);
	ends();
}

/* Nothing is ready: the leader is woken by the spawn alone. */
static void attaches_then_spawns(void)
{
	attach(1);
	explore_assert(workers_spawn(0) == 0);
	wait_until_polled(0);
	event(1);
	wait_until_polled(1);
	ends();
}

/* ---- fixture ---------------------------------------------------------------- */

static void setup(unsigned count, skua_task_fn first, uint64_t lifo_delay_ns)
{
	world_reset(count, first, lifo_delay_ns);
	explore_watch(&pool.sentinel, sizeof(pool.sentinel));
	explore_watch(sights, sizeof(sights));
}

static void setup_one(void)
{
	setup(1, finish, SENTINEL_NEVER);
}

static void setup_two(void)
{
	setup(2, finish, SENTINEL_NEVER);
}

static void setup_two_keep(void)
{
	setup_two();
	keep();
}

static void setup_inside(void)
{
	setup(2, attach_and_wait, SENTINEL_NEVER);
}

static void setup_beside_long(void)
{
	setup(2, wait_for_first, LIFO_DELAY_NS);
}

static void setup_beside_long_keep(void)
{
	setup_beside_long();
	keep();
}

static void setup_long_event(unsigned count, uint64_t lifo_delay_ns)
{
	setup(count, finish, lifo_delay_ns);
	tasks[1].poll = wait_for_second;
}

static void setup_event_long(void)
{
	setup_long_event(2, SENTINEL_NEVER);
}

static void setup_event_long_keep(void)
{
	setup_long_event(2, SENTINEL_NEVER);
	keep();
}

static void setup_event_long_keep_lifo(void)
{
	setup_long_event(2, LIFO_DELAY_NS);
	keep();
}

static void setup_event_long_of_three(void)
{
	setup_long_event(3, LIFO_DELAY_NS);
	tasks[0].poll = wait_for_second;
}

static void setup_event_long_of_three_keep(void)
{
	setup_event_long_of_three();
	keep();
}

static void setup_quiet(void)
{
	setup_event_long_keep();
	add_timer();
}

static void setup_preferred(void)
{
	setup_event_long_keep();
	prefer(1);
}

static void setup_preferred_of_three(void)
{
	setup_event_long_of_three_keep();
	prefer(2);
}

static void setup_preferred_beside(void)
{
	setup_two_keep();
	prefer(0);
}

static void setup_busy(void)
{
	setup(1, yield_until_first, SENTINEL_NEVER);
}

/* A worker in a round looks only when it is over. */
static void setup_round(unsigned count)
{
	setup(count, yield_until_second, LIFO_DELAY_NS);
	round_ns = NO_LOOK_NS;
	more = 2;
}

static void setup_round_one(void)
{
	setup_round(1);
}

static void setup_round_two_keep(void)
{
	setup_round(2);
	keep();
}

/* Each poll is a tick. */
static void setup_prioritised(void)
{
	setup(1, yield_until_first, SENTINEL_NEVER);
	round_ns = NO_LOOK_NS;
	more = 2;
	tasks[1].poll = raise_second;
	tasks[LONG].poll = wait_for_second;
	tasks[2].flags = tasks[URGENT].flags = TASK_URGENT;
	workers[0].tick.mean_ns = NS_PER_S;
}

static void setup_attaches_unfenced(void)
{
	setup_two();
	defect = ATTACHES_UNFENCED;
}

static void setup_attaches_silently(void)
{
	setup_inside();
	defect = ATTACHES_SILENTLY;
}

static void setup_leaves_unwatched(void)
{
	setup_event_long_keep();
	defect = LEAVES_UNWATCHED;
}

static void setup_nobody_watches(void)
{
	setup_event_long_keep();
	defect = NOBODY_WATCHES;
}

static void setup_takes_interruption(void)
{
	setup_event_long_of_three_keep();
	defect = TAKES_INTERRUPTION;
}

/* ---- cases ------------------------------------------------------------------ */

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("one__few", setup_one, check, ONE_AND(attaches)),
	  FEW(15000) },
	{ EXPLORE_PASS("one_busy__few", setup_busy, check,
		       ONE_AND(attaches_and_spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("two__few", setup_two, check, WORKERS_AND(attaches)),
	  FEW(15000) },
	{ EXPLORE_PASS("two__many", setup_two, check, WORKERS_AND(attaches)),
	  MANY(15000) },
	{ EXPLORE_PASS("two__late__few", setup_two_keep, check,
		       WORKERS_AND(attaches_late)),
	  FEW(15000) },
	{ EXPLORE_PASS("inside__few", setup_inside, check, WORKERS_AND(spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("inside__many", setup_inside, check,
		       WORKERS_AND(spawns)),
	  MANY(15000) },
	{ EXPLORE_PASS("beside_spawn__few", setup_two_keep, check,
		       WORKERS_AND(attaches_and_spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("beside_spawn__many", setup_two_keep, check,
		       WORKERS_AND(attaches_and_spawns)),
	  MANY(15000) },
	{ EXPLORE_PASS("after_spawn__few", setup_two_keep, check,
		       WORKERS_AND(attaches_then_spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("beside_long__few", setup_beside_long, check,
		       WORKERS_AND(attaches_and_spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("beside_long__keep__few", setup_beside_long_keep, check,
		       WORKERS_AND(attaches_and_spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("event_long__few", setup_event_long, check_two,
		       WORKERS_AND(attaches_two)),
	  FEW(15000) },
	{ EXPLORE_PASS("event_long__many", setup_event_long, check_two,
		       WORKERS_AND(attaches_two)),
	  MANY(15000) },
	{ EXPLORE_PASS("event_long__keep__few", setup_event_long_keep,
		       check_two, WORKERS_AND(attaches_two)),
	  FEW(15000) },
	{ EXPLORE_PASS("event_long__keep__many", setup_event_long_keep,
		       check_two, WORKERS_AND(attaches_two)),
	  MANY(15000) },
	{ EXPLORE_PASS("event_long__keep__lifo__few",
		       setup_event_long_keep_lifo, check_two,
		       WORKERS_AND(attaches_two)),
	  FEW(15000) },
	{ EXPLORE_PASS("two_long_of_three__few", setup_event_long_of_three,
		       check_two, THREE_AND(attaches_two_and_spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("two_long_of_three__keep__few",
		       setup_event_long_of_three_keep, check_two,
		       THREE_AND(attaches_two_and_spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("two_long_of_three__keep__many",
		       setup_event_long_of_three_keep, check_two,
		       THREE_AND(attaches_two_and_spawns)),
	  MANY(15000) },
	{ EXPLORE_PASS("preferred__few", setup_preferred, check_two,
		       WORKERS_AND(attaches_two)),
	  FEW(15000) },
	{ EXPLORE_PASS("preferred__many", setup_preferred, check_two,
		       WORKERS_AND(attaches_two)),
	  MANY(15000) },
	{ EXPLORE_PASS("preferred_of_three__few", setup_preferred_of_three,
		       check_two, THREE_AND(attaches_two_and_spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("preferred__beside_spawn__few", setup_preferred_beside,
		       check, WORKERS_AND(attaches_and_spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("quiet__few", setup_quiet, check_two,
		       WORKERS_AND(attaches_two_late)),
	  FEW(15000) },
	{ EXPLORE_PASS("round__few", setup_round_one, check_two,
		       ONE_AND(attaches_two_and_yields)),
	  FEW(15000) },
	{ EXPLORE_PASS("round__two__few", setup_round_two_keep, check_two,
		       WORKERS_AND(attaches_two_and_yields)),
	  FEW(15000) },
	{ EXPLORE_PASS("prioritised__few", setup_prioritised, check_two,
		       ONE_AND(attaches_two_and_prioritises)),
	  FEW(15000) },

	{ EXPLORE_BUG("attaches_unfenced", "livelock", setup_attaches_unfenced,
		      check, WORKERS_AND(attaches)),
	  FEW(200000) },
	{ EXPLORE_BUG("attaches_silently", "", setup_attaches_silently, check,
		      WORKERS_AND(spawns)),
	  FEW(15000) },
	{ EXPLORE_BUG("leaves_unwatched", "", setup_leaves_unwatched, check_two,
		      WORKERS_AND(attaches_two)),
	  FEW(15000) },
	{ EXPLORE_BUG("nobody_watches", "", setup_nobody_watches, check_two,
		      WORKERS_AND(attaches_two)),
	  FEW(15000) },
	{ EXPLORE_BUG("takes_interruption", "", setup_takes_interruption,
		      check_two, THREE_AND(attaches_two_and_spawns)),
	  FEW(200000) },
};

EXPLORE_MAIN(cases)
