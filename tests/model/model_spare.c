/* SPDX-License-Identifier: MIT */
/**
 * model_spare.c - a poll gives the spare reference of its task away
 *
 * Two real workers run a task that makes wakers in its poll, the first of them
 * with the spare reference, without an operation on the state word; another
 * thread wakes with them, or drops them, while the worker makes up for the
 * reference in the operation that ends the poll: as pending, with a yield, or
 * for good. Each of those may come first. The task ends once, when its last
 * waker is gone, and is IDLE again when it was joined.
 */
#include "tests/model/workers.h"

#include "skua/waker.h"

#define WAKERS 2

static unsigned wanted;           /* wakers to make in the first poll */
static enum skua_poll first_says; /* what it returns, unless it is over */
static bool waits;                /* for a wake-up, before it is done */

static unsigned polls; /* plain: from poll to poll, and to the joiner */
static struct skua_waker wakers[WAKERS];
static atomic_u32 made;  /* so many are there */
static atomic_u32 woken; /* so many wake-ups began */

static enum skua_poll poll_giver(struct skua_task *self)
{
	explore_write(polls, polls + 1);
	if (polls == 1) {
		for (unsigned i = 0; i < wanted; i++)
			wakers[i] = skua_task_waker(self);
		/* Release: the wakers. */
		atomic_store_release(&made, wanted);
		if (first_says == SKUA_YIELD)
			return SKUA_YIELD;
	}
	/* Relaxed: the wake-up orders it. */
	return waits && atomic_load_relaxed(&woken) == 0 ? SKUA_PENDING
							 : SKUA_DONE;
}

static void wait_for_wakers(void)
{
	while (atomic_load_acquire(&made) != wanted)
		cpu_relax();
}

static void wakes_first(void)
{
	wait_for_wakers();
	atomic_store_relaxed(&woken, 1);
	skua_waker_wake(wakers[0]);
}

static void wakes_by_ref_first(void)
{
	wait_for_wakers();
	atomic_store_relaxed(&woken, 1);
	skua_waker_wake_by_ref(wakers[0]);
	skua_waker_drop(wakers[0]);
}

static void drops_first(void)
{
	wait_for_wakers();
	skua_waker_drop(wakers[0]);
}

static void drops_second(void)
{
	wait_for_wakers();
	skua_waker_drop(wakers[1]);
}

static void joins(void)
{
	workers_join(0);
	/* It has ended: no waker of it is left, nor a poll to come. */
	explore_assert(explore_read(polls) > 0);
	explore_write(polls, 0);
	task_state_transition_to_idle(task_state(&tasks[0]));
	workers_shut_down();
}

static void setup_one(unsigned count, enum skua_poll says, bool waiting)
{
	workers_reset(poll_giver, poll_giver, SENTINEL_NEVER);
	wanted = count;
	first_says = says;
	waits = waiting;
	polls = 0;
	atomic_init(&made, 0);
	atomic_init(&woken, 0);
	explore_assert(workers_spawn(0) == 0);
}

static void setup_pending(void)
{
	setup_one(1, SKUA_PENDING, true);
}

static void setup_pending_two(void)
{
	setup_one(2, SKUA_PENDING, true);
}

static void setup_yielding(void)
{
	setup_one(1, SKUA_YIELD, true);
}

static void setup_done(void)
{
	setup_one(1, SKUA_DONE, false);
}

static void setup_done_two(void)
{
	setup_one(2, SKUA_DONE, false);
}

static void check(void)
{
	explore_assert(atomic_load_relaxed(task_state(&tasks[0])) == TASK_IDLE);
}

#define FEW EXPLORE_WITHIN(2, 0), .random = 20000

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("pending__woken", setup_pending, check, workers_run_0,
		       workers_run_1, wakes_first, joins),
	  FEW },
	{ EXPLORE_PASS("pending__woken_by_ref", setup_pending, check,
		       workers_run_0, workers_run_1, wakes_by_ref_first, joins),
	  FEW },
	{ EXPLORE_PASS("pending__woken__other_dropped", setup_pending_two,
		       check, workers_run_0, workers_run_1, wakes_first,
		       drops_second, joins),
	  FEW },
	{ EXPLORE_PASS("yield__woken", setup_yielding, check, workers_run_0,
		       workers_run_1, wakes_first, joins),
	  FEW },
	{ EXPLORE_PASS("done__dropped", setup_done, check, workers_run_0,
		       workers_run_1, drops_first, joins),
	  FEW },
	{ EXPLORE_PASS("done__two_dropped", setup_done_two, check,
		       workers_run_0, workers_run_1, drops_first, drops_second,
		       joins),
	  FEW },
};

EXPLORE_MAIN(cases)
