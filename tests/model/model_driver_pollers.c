/* SPDX-License-Identifier: MIT */
/**
 * model_driver_pollers.c - core/driver/driver.[ch]: an event is reaped while a worker sleeps
 * in its poller
 *
 * A poller is added to worker 0, which may be the leader, be preferred, or be alone in its
 * group (driver_world.h).
 *
 * The last case leaves out a rule; the explorer must find it.
 */
#include "tests/model/driver_world.h"

/* ---- a poller of worker 0 --------------------------------------------------- */

/* As LATE_NS, for cases whose sentinel goes on checking: each check takes steps. */
#define SOON_NS (EXPLORE_START_NS + NS_PER_S / 80)

static struct skua_poller poller;
static atomic_u32 unparked;

static void park_in_poller(struct skua_poller *self, uint64_t deadline_ns)
{
	(void)self;
	if (deadline_ns == SENTINEL_NEVER)
		futex_wait(&unparked, 0);
	else
		futex_wait_until(&unparked, 0, deadline_ns);
	atomic_exchange_acquire(&unparked, 0);
}

static void unpark_poller(struct skua_poller *self)
{
	(void)self;
	atomic_store_release(&unparked, 1);
	futex_wake(&unparked, 1);
}

/* The same with a poller of worker 0. */
static void add_poller_and_wait(uint64_t time_ns)
{
	attach(1);
	explore_assert(pool_add_poller(&pool, 0, &poller) == 0);
	sleep_until(time_ns);
	event(1);
	wait_until_polled(1);
	ends();
}

static void attaches_and_adds_poller_late(void)
{
	add_poller_and_wait(LATE_NS);
}

static void adds_poller_and_attaches_two_soon(void)
{
	explore_assert(pool_add_poller(&pool, 0, &poller) == 0);
	attaches_two_at(SOON_NS);
}

/* The first descriptor is attached, and has an event, when the worker sleeps in its
 * poller. */
static void adds_poller_and_attaches(void)
{
	explore_assert(pool_add_poller(&pool, 0, &poller) == 0);
	sleep_until(EXPLORE_START_NS + 1);
	attach(1);
	sleep_until(SOON_NS);
	event(1);
	wait_until_polled(1);
	ends();
}

static void attaches_and_adds_poller_soon(void)
{
	add_poller_and_wait(SOON_NS);
}

/* Worker 0 may be the leader when the poller is added. */
static void attaches_and_adds_poller(void)
{
	attach(1);
	explore_assert(pool_add_poller(&pool, 0, &poller) == 0);
	event(1);
	wait_until_polled(1);
	ends();
}

/* ---- fixture ---------------------------------------------------------------- */

static void setup(unsigned count, skua_task_fn first, uint64_t lifo_delay_ns)
{
	world_reset(count, first, lifo_delay_ns);
	atomic_init(&unparked, 0);
	poller = (struct skua_poller){ .poll = poll_nothing,
				       .park = park_in_poller,
				       .unpark = unpark_poller };
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

static void setup_long_event(unsigned count, uint64_t lifo_delay_ns)
{
	setup(count, finish, lifo_delay_ns);
	tasks[1].poll = wait_for_second;
}

/* Workers 0 and 2 are in one group, which has the descriptors, and worker 1 in another. */
static void setup_beside_far(void)
{
	setup_long_event(3, SENTINEL_NEVER);
	place(3, 2);
}

static void setup_beside_far_quiet(void)
{
	setup_beside_far();
	add_timer();
}

/* The worker with a poller is alone in its group, or with worker 2. */
static void setup_poller_far(void)
{
	setup(2, finish, SENTINEL_NEVER);
	place(2, 2);
	keep();
}

static void setup_poller_far_quiet(void)
{
	setup_poller_far();
	add_timer();
}

static void setup_poller_beside_far(void)
{
	setup(3, finish, SENTINEL_NEVER);
	place(3, 2);
}

static void setup_preferred_beside(void)
{
	setup_two_keep();
	prefer(0);
}

static void setup_never_resigns_to_park(void)
{
	setup_two_keep();
	defect = NEVER_RESIGNS_TO_PARK;
}

/* ---- cases ------------------------------------------------------------------ */

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("preferred__poller__few", setup_preferred_beside, check,
		       WORKERS_AND(attaches_and_adds_poller_late)),
	  FEW(15000) },
	{ EXPLORE_PASS("poller_beside_far__quiet__few", setup_beside_far_quiet,
		       check_two, THREE_AND(adds_poller_and_attaches_two_soon)),
	  FEW(15000) },
	{ EXPLORE_PASS("poller_far__quiet__few", setup_poller_far_quiet, check,
		       WORKERS_AND(adds_poller_and_attaches)),
	  FEW(15000) },
	{ EXPLORE_PASS("poller_far__few", setup_poller_far, check,
		       WORKERS_AND(attaches_and_adds_poller)),
	  FEW(15000) },
	{ EXPLORE_PASS("poller_far__late__few", setup_poller_far, check,
		       WORKERS_AND(attaches_and_adds_poller_soon)),
	  FEW(15000) },
	{ EXPLORE_PASS("poller_beside_far__few", setup_poller_beside_far, check,
		       THREE_AND(attaches_and_adds_poller)),
	  FEW(15000) },
	{ EXPLORE_PASS("poller_beside_far__late__few", setup_poller_beside_far,
		       check, THREE_AND(attaches_and_adds_poller_soon)),
	  FEW(15000) },
	{ EXPLORE_PASS("poller_alone__few", setup_one, check,
		       ONE_AND(attaches_and_adds_poller)),
	  FEW(15000) },
	{ EXPLORE_PASS("poller__few", setup_two_keep, check,
		       WORKERS_AND(attaches_and_adds_poller)),
	  FEW(15000) },
	{ EXPLORE_PASS("poller__late__few", setup_two_keep, check,
		       WORKERS_AND(attaches_and_adds_poller_late)),
	  FEW(15000) },
	{ EXPLORE_PASS("poller_alone__late__few", setup_one, check,
		       ONE_AND(attaches_and_adds_poller_late)),
	  FEW(15000) },
	{ EXPLORE_PASS("poller__many", setup_two_keep, check,
		       WORKERS_AND(attaches_and_adds_poller)),
	  MANY(15000) },

	{ EXPLORE_BUG("never_resigns_to_park", "livelock",
		      setup_never_resigns_to_park, check,
		      WORKERS_AND(attaches_and_adds_poller_late)),
	  FEW(15000) },
};

EXPLORE_MAIN(cases)
