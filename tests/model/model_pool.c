/* SPDX-License-Identifier: MIT */
/**
 * model_pool.c - core/loop/pool.c: drains beside spawns from outside, and the end
 *
 * No worker runs here, so that all interleavings of the pool's own words can be
 * seen: a worker is a thread that publishes what it has finished and then parks, as
 * done() in core/loop/loop.c, and search_check_drained() and search_and_sleep() in
 * core/loop/search.c, do.
 */
#include "tests/model/workers.h"

#define SOON_NS (EXPLORE_START_NS + 5)

static bool drained, accepted, settled;
static unsigned result; /* plain: from a task to the thread that drains */
static unsigned memory; /* plain: the pool's, until it is freed */

static enum skua_poll unused(struct skua_task *task)
{
	(void)task;
	return SKUA_DONE;
}

static void setup(void)
{
	workers_reset(unused, unused, SENTINEL_NEVER);
	drained = false;
	accepted = false;
	settled = false;
	result = 0;
	memory = 0;
}

static void setup_spawned(void)
{
	setup();
	explore_assert(workers_spawn(0) == 0);
}

/* Two workers in a group each. */
static void setup_two_spawned(void)
{
	setup();
	workers_place(2, 2);
	explore_assert(workers_spawn(0) == 0);
	explore_assert(workers_spawn(1) == 0);
}

/* ---- drains -------------------------------------------------------------- */

static void drains(void)
{
	explore_assert(pool_wait_drained(&pool, EXPLORE_NEVER));
	explore_assert(explore_read(result) == 1);
}

static void closes_and_drains(void)
{
	pool_close(&pool);
	drained = pool_wait_drained(&pool, SOON_NS);
}

static void closes_and_looks(void)
{
	pool_close(&pool);
	drained = pool_drained(&pool);
}

static void closes_and_waits(void)
{
	pool_close(&pool);
	pool_wait_drained(&pool, EXPLORE_NEVER);
}

/* ---- workers ------------------------------------------------------------- */

static void finish(struct worker *w, uint64_t tasks)
{
	atomic_store_release(&w->finished, tasks);
	atomic_fence_seq_cst();
	pool_check_drained(&pool);
}

static void finishes(void)
{
	explore_write(result, 1);
	finish(&workers[0], 1);
}

/* Has spawned a task, as a worker does, and finishes the first one. */
static void spawns_and_finishes(void)
{
	counter_add_owner(&workers[0].area.counters.tasks_spawned, 1);
	finish(&workers[0], 1);
}

/* Worker @i has finished its task, and parks. */
static void finish_and_park(unsigned i)
{
	atomic_store_release(&workers[i].finished, 1);
	idle_park_begin(&pool.idle, i, false);
	pool_check_last_parked(&pool, false);
}

/* Worker @i has finished its task, and searches, for longer than the case lasts. */
static void finish_and_search(unsigned i)
{
	atomic_store_release(&workers[i].finished, 1);
	explore_assert(idle_try_search(&pool.idle, i));
	atomic_fence_seq_cst();
	pool_check_last_at_work(&pool);
}

static void searches_0(void)
{
	finish_and_search(0);
}

static void searches_1(void)
{
	explore_write(result, 1);
	finish_and_search(1);
}

static void parks_0(void)
{
	finish_and_park(0);
}

static void parks_1(void)
{
	explore_write(result, 1);
	finish_and_park(1);
}

/* Is claimed meanwhile, for nothing. */
static void parks_twice(void)
{
	finish_and_park(0);
	while (idle_parked(&pool.idle, 0))
		cpu_relax();
	idle_park_begin(&pool.idle, 0, true);
	pool_check_last_parked(&pool, true);
}

static void claims_0(void)
{
	atomic_fence_seq_cst();
	while (!idle_parked(&pool.idle, 0))
		cpu_relax();
	idle_wake_worker(&pool.idle, 0);
}

/* Checks first, and is counted as a searcher then. */
static void search_late(unsigned i)
{
	atomic_store_release(&workers[i].finished, 1);
	atomic_fence_seq_cst();
	pool_check_last_at_work(&pool);
	idle_try_search(&pool.idle, i);
}

static void searches_late_0(void)
{
	search_late(0);
}

static void searches_late_1(void)
{
	explore_write(result, 1);
	search_late(1);
}

/* The count, and no fence. */
static void search_unfenced(unsigned i)
{
	atomic_store_release(&workers[i].finished, 1);
	idle_try_search(&pool.idle, i);
	pool_check_last_at_work(&pool);
}

static void searches_unfenced_0(void)
{
	search_unfenced(0);
}

static void searches_unfenced_1(void)
{
	explore_write(result, 1);
	search_unfenced(1);
}

/* Checks first, and sets its bit then. */
static void park_late(unsigned i)
{
	atomic_store_release(&workers[i].finished, 1);
	atomic_fence_seq_cst();
	pool_check_last_parked(&pool, false);
	idle_park_begin(&pool.idle, i, false);
}

static void parks_late_0(void)
{
	park_late(0);
}

static void parks_late_1(void)
{
	explore_write(result, 1);
	park_late(1);
}

/* The bit, and no fence. */
static void park_unfenced(unsigned i)
{
	atomic_store_release(&workers[i].finished, 1);
	atomic_fetch_or_relaxed(&by_group[i].parked, 1);
	pool_check_last_parked(&pool, false);
}

static void parks_unfenced_0(void)
{
	park_unfenced(0);
}

static void parks_unfenced_1(void)
{
	explore_write(result, 1);
	park_unfenced(1);
}

/* Finishes what was accepted of two. */
static void finishes_both(void)
{
	finish(&workers[0], 1);
	while (!settled)
		cpu_relax();
	if (accepted)
		finish(&workers[0], 2);
}

/* ---- outside ------------------------------------------------------------- */

static void spawns(void)
{
	accepted = workers_spawn(1) == 0;
	settled = true;
}

/* The call of a thread that knows of task 0, which may end once it is queued;
 * then somebody may free the pool. */
static void calls(void)
{
	unsigned group = pool_enter(&pool);

	(void)explore_read(memory);
	atomic_store_release(&workers[0].finished, 1);
	atomic_fence_seq_cst();
	pool_check_drained(&pool);
	(void)explore_read(memory);
	pool_leave(&pool, group);
}

static void calls_leaving_relaxed(void)
{
	unsigned group = pool_enter(&pool);

	atomic_store_release(&workers[0].finished, 1);
	(void)explore_read(memory);
	atomic_fetch_sub_relaxed(&inject[group].outside, POOL_OUTSIDE_CALL);
}

static void frees(void)
{
	while (!pool_drained(&pool))
		cpu_relax();
	pool_wait_calls(&pool);
	explore_write(memory, 1);
}

/* ---- checks -------------------------------------------------------------- */

/* Task 0 has not ended. */
static void check_not_drained(void)
{
	explore_assert(!drained);
}

static void check_refused_or_seen(void)
{
	explore_assert(!(drained && accepted));
}

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("drain__finished", setup_spawned, NULL, drains,
		       finishes) },
	{ EXPLORE_PASS("drain__two_wait", setup_spawned, NULL, drains, finishes,
		       closes_and_waits),
	  EXPLORE_WITHIN(3, 1) },
	{ EXPLORE_PASS("drain__task_alive__spawn_refused", setup_spawned,
		       check_not_drained, closes_and_drains, spawns) },
	{ EXPLORE_PASS("drain__task_alive__worker_spawns", setup_spawned,
		       check_not_drained, closes_and_drains,
		       spawns_and_finishes) },
	{ EXPLORE_PASS("drain__spawn_refused", setup_spawned, NULL,
		       closes_and_waits, finishes_both, spawns),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("drain__two_park", setup_two_spawned, NULL, drains,
		       parks_0, parks_1),
	  EXPLORE_WITHIN(2, 2) },
	{ EXPLORE_PASS("drain__two_search", setup_two_spawned, NULL, drains,
		       searches_0, searches_1),
	  EXPLORE_WITHIN(2, 2) },
	{ EXPLORE_PASS("drain__one_searches__one_parks", setup_two_spawned,
		       NULL, drains, parks_0, searches_1),
	  EXPLORE_WITHIN(2, 2) },
	{ EXPLORE_PASS("drain__one_is_claimed", setup_two_spawned, NULL, drains,
		       parks_twice, parks_1, claims_0),
	  EXPLORE_WITHIN(1, 1) },
	{ EXPLORE_PASS("close__spawn", setup, check_refused_or_seen,
		       closes_and_looks, spawns) },
	{ EXPLORE_PASS("call__free", setup_spawned, NULL, calls, frees) },

	{ EXPLORE_BUG("counted_as_searcher_after_the_check", "nobody can run",
		      setup_two_spawned, NULL, drains, searches_late_0,
		      searches_late_1) },
	{ EXPLORE_BUG("counted_as_searcher_without_fence", "nobody can run",
		      setup_two_spawned, NULL, drains, searches_unfenced_0,
		      searches_unfenced_1) },
	{ EXPLORE_BUG("bit_set_after_the_check", "nobody can run",
		      setup_two_spawned, NULL, drains, parks_late_0,
		      parks_late_1) },
	{ EXPLORE_BUG("bit_without_fence", "nobody can run", setup_two_spawned,
		      NULL, drains, parks_unfenced_0, parks_unfenced_1) },
	{ EXPLORE_BUG("call_left_relaxed", "data race", setup_spawned, NULL,
		      calls_leaving_relaxed, frees) },
};

EXPLORE_MAIN(cases)
