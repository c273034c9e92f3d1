/* SPDX-License-Identifier: MIT */
/**
 * model_worker.c - the whole loop of core/worker.c and core/pool.c
 *
 * Two real workers with queues of four slots, and a thread outside that spawns
 * tasks, waits for them and ends the workers. No wake-up may be lost, no task
 * run twice, and what a task wrote is seen by whoever waited for it. Tasks that
 * wait for each other need both workers awake.
 *
 * An execution takes some hundred steps, too many for all interleavings, so
 * that most cases are run at random, each with few deviations and with many.
 * Where two tasks meet, the most is at stake, and the most executions are run:
 * the rarest defect that they have found so far took 130,000.
 *
 *   cc -std=gnu11 -O2 -I. -Iinclude -include tests/model/explore.h \
 *      tests/model/model_worker.c core/worker.c core/pool.c core/idle.c \
 *      core/inject_queue.c core/local_queue.c core/task.c \
 *      tests/model/explore*.c -o model_worker
 */
#include "core/worker.h"

#include <stdalign.h>
#include <string.h>

#include "tests/model/explore_threads.h"

#define WORKERS  2
#define CAPACITY LOCAL_QUEUE_MIN_CAPACITY
#define TASKS    8

union ring {
	struct local_queue q;
	unsigned char bytes[sizeof(struct local_queue) +
			    CAPACITY * sizeof(atomic_ptr)];
};

static struct pool pool;
static struct worker workers[WORKERS];
static union ring ring_0, ring_1;
static struct idle_sleeper sleepers[WORKERS];

static struct skua_task tasks[TASKS];
static unsigned results[TASKS]; /* written by the task, plain */
static unsigned polls[TASKS];
static unsigned expected;   /* tasks that are run */
static unsigned companions; /* each task waits until so many have started */
static unsigned started;

/* ---- tasks -------------------------------------------------------------- */

static unsigned number(const struct skua_task *task)
{
	return (unsigned)(task - tasks);
}

static void meet(void)
{
	started++;
	while (started < companions)
		cpu_relax();
}

static enum skua_poll finish(struct skua_task *task)
{
	unsigned i = number(task);

	explore_assert(polls[i]++ == 0);
	explore_write(results[i], i + 1);
	meet();
	return SKUA_DONE;
}

/* The worker whose thread this is: thread 1 runs worker 0. */
static struct worker *current_worker(void)
{
	return &workers[thread_current() - 1];
}

static void spawn_here(unsigned i)
{
	explore_assert(
		task_state_transition_to_spawned(task_state(&tasks[i])) == 0);
	worker_spawn_owner(current_worker(), &tasks[i]);
}

/* Spawns two: the first stays in the LIFO slot until the second displaces it,
 * and is visible from then on. */
static enum skua_poll spawn_two(struct skua_task *task)
{
	spawn_here(1);
	spawn_here(2);
	return finish(task);
}

/* Fills the LIFO slot and the ring, and overflows. */
static enum skua_poll spawn_six(struct skua_task *task)
{
	for (unsigned i = 1; i <= 6; i++)
		spawn_here(i);
	return finish(task);
}

static enum skua_poll yield_once(struct skua_task *task)
{
	unsigned i = number(task);

	if (polls[i]++ == 0)
		return SKUA_YIELD;
	explore_write(results[i], i + 1);
	return SKUA_DONE;
}

/* Task 0 yields first; both then wait for each other. */
static enum skua_poll yield_then_meet(struct skua_task *task)
{
	if (number(task) == 0 && polls[0]++ == 0)
		return SKUA_YIELD;
	explore_write(results[number(task)], number(task) + 1);
	meet();
	return SKUA_DONE;
}

/* ---- outside ------------------------------------------------------------ */

static void spawn_outside(unsigned i)
{
	explore_assert(
		task_state_transition_to_spawned(task_state(&tasks[i])) == 0);
	explore_assert(pool_spawn_outside(&pool, &tasks[i]) == 0);
}

static void join(unsigned i)
{
	explore_assert(task_state_transition_to_claimed(task_state(&tasks[i]),
							true) == 0);
	task_wait(&tasks[i]);
	explore_assert(explore_read(results[i]) == i + 1);
}

static void shut_down(void)
{
	pool_close(&pool);
	pool_wait_drained(&pool);
	pool_stop(&pool);
}

static void spawns_and_joins(void)
{
	spawn_outside(0);
	join(0);
	pool_stop(&pool);
}

static void spawns_and_drains(void)
{
	spawn_outside(0);
	shut_down();
	explore_assert(explore_read(results[0]) == 1);
}

static void spawns_two_and_drains(void)
{
	spawn_outside(0);
	spawn_outside(1);
	shut_down();
}

static void closes(void)
{
	shut_down();
}

/* Beside closes(): refused or run, never lost. */
static void spawns_perhaps(void)
{
	if (pool_spawn_outside(&pool, &tasks[0]) != 0)
		explore_write(results[0], 1);
}

/* ---- fixture ------------------------------------------------------------ */

static void worker_reset(unsigned i, union ring *ring)
{
	memset(ring, 0, sizeof(*ring));
	local_queue_init(&ring->q, CAPACITY, 0);
	worker_init(&workers[i], &pool, i, &ring->q);
}

static void setup(unsigned count, skua_task_fn first, unsigned waiting)
{
	memset(&pool, 0, sizeof(pool));
	pool.workers = workers;
	pool.worker_count = WORKERS;
	pool.steal_attempts = 1;
	inject_queue_init(&pool.inject);
	idle_init(&pool.idle, WORKERS, sleepers);
	worker_reset(0, &ring_0);
	worker_reset(1, &ring_1);
	for (unsigned i = 0; i < TASKS; i++)
		tasks[i] = (struct skua_task)SKUA_TASK_INIT(i == 0 ? first
								   : finish);
	memset(polls, 0, sizeof(polls));
	memset(results, 0, sizeof(results));
	expected = count;
	companions = waiting;
	started = 0;
}

static void setup_one(void)
{
	setup(1, finish, 0);
}

static void setup_yielding(void)
{
	setup(1, yield_once, 0);
}

static void setup_two_companions(void)
{
	setup(2, finish, 2);
}

/* The injection queue is due when task 0 has yielded and is alone: task 1 runs
 * first after all, and somebody else has to be told of task 0. */
static void setup_due_companion(void)
{
	setup(2, yield_then_meet, 2);
	for (unsigned i = 0; i < WORKERS; i++)
		workers[i].polls_until_inject = 2;
}

static void setup_spawning_two(void)
{
	setup(3, spawn_two, 2);
}

static void setup_spawning_six(void)
{
	setup(7, spawn_six, 0);
}

static void check(void)
{
	for (unsigned i = 0; i < expected; i++)
		explore_assert(explore_read(results[i]) == i + 1);
}

static void worker_0(void)
{
	worker_run(&workers[0]);
}

static void worker_1(void)
{
	worker_run(&workers[1]);
}

/* ---- cases -------------------------------------------------------------- */

#define FEW(EXECUTIONS)  EXPLORE_WITHIN(3, 2), .random = (EXECUTIONS)
#define MANY(EXECUTIONS) EXPLORE_WITHIN(12, 6), .random = (EXECUTIONS)

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("spawn_and_join", setup_one, check, worker_0, worker_1,
		       spawns_and_joins),
	  EXPLORE_WITHIN(1, 1) },
	{ EXPLORE_PASS("spawn_and_join__few", setup_one, check, worker_0,
		       worker_1, spawns_and_joins),
	  FEW(100000) },
	{ EXPLORE_PASS("spawn_and_join__many", setup_one, check, worker_0,
		       worker_1, spawns_and_joins),
	  MANY(100000) },
	{ EXPLORE_PASS("spawn_and_drain__few", setup_one, check, worker_0,
		       worker_1, spawns_and_drains),
	  FEW(100000) },
	{ EXPLORE_PASS("spawn_and_drain__many", setup_one, check, worker_0,
		       worker_1, spawns_and_drains),
	  MANY(100000) },
	{ EXPLORE_PASS("yield__few", setup_yielding, check, worker_0, worker_1,
		       spawns_and_drains),
	  FEW(100000) },
	{ EXPLORE_PASS("two_companions__few", setup_two_companions, check,
		       worker_0, worker_1, spawns_two_and_drains),
	  FEW(400000) },
	{ EXPLORE_PASS("two_companions__many", setup_two_companions, check,
		       worker_0, worker_1, spawns_two_and_drains),
	  MANY(400000) },
	{ EXPLORE_PASS("due_companion__few", setup_due_companion, check,
		       worker_0, worker_1, spawns_two_and_drains),
	  FEW(200000) },
	{ EXPLORE_PASS("task_spawns_two__few", setup_spawning_two, check,
		       worker_0, worker_1, spawns_and_drains),
	  FEW(100000) },
	{ EXPLORE_PASS("task_spawns_two__many", setup_spawning_two, check,
		       worker_0, worker_1, spawns_and_drains),
	  MANY(100000) },
	{ EXPLORE_PASS("task_overflows__few", setup_spawning_six, check,
		       worker_0, worker_1, spawns_and_drains),
	  FEW(100000) },
	{ EXPLORE_PASS("task_overflows__many", setup_spawning_six, check,
		       worker_0, worker_1, spawns_and_drains),
	  MANY(100000) },
	{ EXPLORE_PASS("spawn_beside_close__few", setup_one, check, worker_0,
		       worker_1, closes, spawns_perhaps),
	  FEW(100000) },
	{ EXPLORE_PASS("spawn_beside_close__many", setup_one, check, worker_0,
		       worker_1, closes, spawns_perhaps),
	  MANY(100000) },
};

EXPLORE_MAIN(cases)
