/* SPDX-License-Identifier: MIT */
/**
 * model_apart.c - real workers on two nodes
 *
 * Each group has its own count of searchers, parked bits, and line of the map, and
 * a search begins on its own node. So what a worker cannot do itself, because it is
 * in a task or a job that waits for it, somebody of the other node has to find,
 * awake or asleep. Worker 1 is alone on its node; worker 0 is, or has worker 2
 * beside it.
 *
 * An execution takes some hundred steps: cases are run at random, with few
 * deviations and with many.
 */
#include "tests/model/fork_join.h"

static unsigned polls[TASKS];
static bool yielded[TASKS];
static struct skua_poller poller;

/* ---- tasks --------------------------------------------------------------- */

static enum skua_poll finish(struct skua_task *task)
{
	explore_assert(polls[task_number(task)]++ == 0);
	return SKUA_DONE;
}

static enum skua_poll finish_together(struct skua_task *task)
{
	finish(task);
	meet();
	return SKUA_DONE;
}

/* A task that waits at the other group may be moved meanwhile. */
static enum skua_poll yield_and_finish_together(struct skua_task *task)
{
	if (polls[task_number(task)] == 0 && !yielded[task_number(task)]) {
		yielded[task_number(task)] = true;
		return SKUA_YIELD;
	}
	return finish_together(task);
}

static void spawn_up_to(unsigned last)
{
	for (unsigned i = 1; i <= last; i++)
		explore_assert(workers_spawn(i) == 0);
}

/* The last one stays in the LIFO slot; the others are in the queue. */
static enum skua_poll spawn_two(struct skua_task *task)
{
	spawn_up_to(2);
	return finish_together(task);
}

/* Not in its own poll: its worker has it behind it when they meet. */
static enum skua_poll spawn_two_and_leave(struct skua_task *task)
{
	spawn_up_to(2);
	return finish(task);
}

/* A thief of two of them keeps one in its own queue. */
static enum skua_poll spawn_four(struct skua_task *task)
{
	spawn_up_to(4);
	return finish_together(task);
}

static int poll_for_ever(struct skua_poller *it)
{
	(void)it;
	return 0;
}

/* ---- jobs ---------------------------------------------------------------- */

static void fork_one(struct skua_ctx ctx)
{
	struct skua_ctx inner = fork_job(ctx, 0);

	meet();
	join_job(ctx, inner, 0);
}

/* ---- threads ------------------------------------------------------------- */

static void external(void)
{
	run_external();
	workers_shut_down();
}

static void spawns_one(void)
{
	explore_assert(workers_spawn(0) == 0);
	workers_shut_down();
}

static void spawns_two(void)
{
	explore_assert(workers_spawn(1) == 0);
	spawns_one();
}

static void spawns_three(void)
{
	explore_assert(workers_spawn(2) == 0);
	spawns_two();
}

static void spawns_another(void)
{
	explore_assert(workers_spawn(3) == 0);
	spawns_one();
}

/* ---- fixtures ------------------------------------------------------------ */

static void setup(unsigned count, skua_task_fn first, unsigned meet_count)
{
	reset_apart(count, 2, fork_one, meet_count);
	pool.tuning.lifo_delay_ns = SENTINEL_NEVER;
	memset(polls, 0, sizeof(polls));
	memset(yielded, 0, sizeof(yielded));
	for (unsigned i = 0; i < TASKS; i++)
		tasks[i].poll = i == 0 ? first : finish_together;
}

static void setup_batch(void)
{
	setup(2, finish_together, 2);
}

/* Both search until something comes; no deadline ends it. */
static void setup_search_for_long(void)
{
	setup(2, finish, 2);
	pool.tuning.spin_ns = EXPLORE_FAR_NS;
	tasks[1].poll = finish;
}

/* Worker 0 stays awake, and may have to come for what worker 1 has. */
static void setup_batch_awake(void)
{
	setup_batch();
	poller = (struct skua_poller){ .poll = poll_for_ever };
	workers[0].pollers.list = &poller;
}

/* The tasks are urgent. */
static void setup_urgent(void)
{
	setup_batch();
	tasks[0].flags = TASK_URGENT;
	tasks[1].flags = TASK_URGENT;
}

/* A worker whose tick ends moves what waits at the other group to its own. */
static void setup_moves(void)
{
	setup(2, yield_and_finish_together, 2);
	for (unsigned i = 1; i < TASKS; i++)
		tasks[i].poll = yield_and_finish_together;
	for (unsigned i = 0; i < WORKERS; i++) {
		workers[i].tick.budget = 1;
		workers[i].others.ticks = 1;
	}
}

/* So that one is left where the others are moved from, or to. */
static void setup_moves_some(void)
{
	setup_moves();
	tasks[2].poll = finish;
}

static void setup_spawn_two(void)
{
	setup(2, spawn_two, 2);
}

/* The searcher for task 1, on which the other node relies, may find task 3. */
static void setup_spawn_two_beside(void)
{
	setup(3, spawn_two, 3);
}

/* A tick ends while task 1 is in the queue. */
static void setup_tick_ends(void)
{
	setup(2, spawn_two_and_leave, 2);
	for (unsigned i = 0; i < WORKERS; i++)
		workers[i].tick.budget = 1;
}

/* Tasks 0 to 2 meet; the others do not wait. */
static void setup_spawn_four(void)
{
	setup(3, spawn_four, 3);
	tasks[3].poll = finish;
	tasks[4].poll = finish;
}

static void setup_fork_one(void)
{
	reset_apart(2, 2, fork_one, 2);
}

/* Each of the three forks at most one job, which is public at once. */
static void setup_three_meet(void)
{
	reset_apart(3, 2, fork_one, 3);
	jobs[0].job.run = run_parent;
}

/* ---- cases --------------------------------------------------------------- */

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("batch__few", setup_batch, NULL, workers_run_0,
		       workers_run_1, spawns_two),
	  FEW(20000) },
	{ EXPLORE_PASS("batch__many", setup_batch, NULL, workers_run_0,
		       workers_run_1, spawns_two),
	  MANY(20000) },
	/* Two workers run out of work together: the drain ends nevertheless. */
	{ EXPLORE_PASS("drain__both_search__few", setup_search_for_long, NULL,
		       workers_run_0, workers_run_1, spawns_two),
	  FEW(20000) },
	{ EXPLORE_PASS("drain__both_search__many", setup_search_for_long, NULL,
		       workers_run_0, workers_run_1, spawns_two),
	  MANY(20000) },
	{ EXPLORE_PASS("batch__one_awake__few", setup_batch_awake, NULL,
		       workers_run_0, workers_run_1, spawns_two),
	  FEW(10000) },
	{ EXPLORE_PASS("batch__one_awake__many", setup_batch_awake, NULL,
		       workers_run_0, workers_run_1, spawns_two),
	  MANY(10000) },
	{ EXPLORE_PASS("urgent__few", setup_urgent, NULL, workers_run_0,
		       workers_run_1, spawns_two),
	  FEW(20000) },
	{ EXPLORE_PASS("moves__few", setup_moves, NULL, workers_run_0,
		       workers_run_1, spawns_two),
	  FEW(30000) },
	{ EXPLORE_PASS("moves__many", setup_moves, NULL, workers_run_0,
		       workers_run_1, spawns_two),
	  MANY(30000) },
	{ EXPLORE_PASS("moves_some__few", setup_moves_some, NULL, workers_run_0,
		       workers_run_1, spawns_three),
	  FEW(20000) },
	{ EXPLORE_PASS("task_spawns_two__few", setup_spawn_two, NULL,
		       workers_run_0, workers_run_1, spawns_one),
	  FEW(20000) },
	{ EXPLORE_PASS("task_spawns_two__many", setup_spawn_two, NULL,
		       workers_run_0, workers_run_1, spawns_one),
	  MANY(20000) },
	{ EXPLORE_PASS("task_spawns_two__beside__few", setup_spawn_two_beside,
		       NULL, workers_run_0, workers_run_1, workers_run_2,
		       spawns_another),
	  FEW(30000) },
	{ EXPLORE_PASS("tick_ends__few", setup_tick_ends, NULL, workers_run_0,
		       workers_run_1, spawns_one),
	  FEW(10000) },
	{ EXPLORE_PASS("steal_is_kept__few", setup_spawn_four, NULL,
		       workers_run_0, workers_run_1, workers_run_2, spawns_one),
	  FEW(10000) },
	{ EXPLORE_PASS("steal_is_kept__many", setup_spawn_four, NULL,
		       workers_run_0, workers_run_1, workers_run_2, spawns_one),
	  MANY(10000) },
	{ EXPLORE_PASS("external_forks_one__meets__few", setup_fork_one, check,
		       workers_run_0, workers_run_1, external),
	  FEW(10000) },
	{ EXPLORE_PASS("task_forks_one__meets__few", setup_fork_one, check,
		       workers_run_0, workers_run_1, spawns_one),
	  FEW(10000) },
	{ EXPLORE_PASS("task_forks_one__meets__many", setup_fork_one, check,
		       workers_run_0, workers_run_1, spawns_one),
	  MANY(10000) },
	{ EXPLORE_PASS("task_and_two_jobs__meet__few", setup_three_meet, check,
		       workers_run_0, workers_run_1, workers_run_2, spawns_one),
	  FEW(10000) },
	{ EXPLORE_PASS("task_and_two_jobs__meet__many", setup_three_meet, check,
		       workers_run_0, workers_run_1, workers_run_2, spawns_one),
	  MANY(10000) },
};

EXPLORE_MAIN(cases)
