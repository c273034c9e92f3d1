/* SPDX-License-Identifier: MIT */
/**
 * model_worker.c - the whole loop of core/loop/loop.c and core/loop/pool.c
 *
 * Two real workers with queues of four slots, and a thread outside that spawns
 * tasks, waits for them and ends the workers. No wake-up may be lost, no task
 * run twice, and what a task wrote is seen by its waiter. Tasks that
 * wait for each other need both workers awake.
 *
 * An execution takes some hundred steps, too many for all interleavings, so
 * that most cases are run at random, each with few deviations and with many.
 * Where two tasks meet, the most is at stake, and the most executions are run.
 * The long run makes many more, from another seed.
 */
#include <stdalign.h>

#include "core/loop/work.h"
#include "tests/model/workers.h"

static unsigned results[TASKS]; /* written by the task, plain */
static unsigned polls[TASKS];
static unsigned expected;   /* tasks that are run */
static unsigned companions; /* each task waits until so many have started */
static unsigned started;
static struct timer timer;
static struct skua_poller poller;
static bool poller_called;

/* ---- tasks -------------------------------------------------------------- */

static void meet(void)
{
	started++;
	while (started < companions)
		cpu_relax();
}

static enum skua_poll finish(struct skua_task *task)
{
	unsigned i = task_number(task);

	explore_assert(polls[i]++ == 0);
	explore_write(results[i], i + 1);
	meet();
	return SKUA_DONE;
}

static void spawn(unsigned i)
{
	explore_assert(workers_spawn(i) == 0);
}

/* Its child waits in the LIFO slot behind it. */
static enum skua_poll spawn_one(struct skua_task *task)
{
	spawn(1);
	return finish(task);
}

/* Spawns two: the first stays in the LIFO slot until the second displaces it,
 * and is visible from then on. */
static enum skua_poll spawn_two(struct skua_task *task)
{
	spawn(1);
	spawn(2);
	return finish(task);
}

/* Fills the LIFO slot and the ring, and overflows. */
static enum skua_poll spawn_six(struct skua_task *task)
{
	for (unsigned i = 1; i <= 6; i++)
		spawn(i);
	return finish(task);
}

/* Spawns four, and waits for the first three, which the other worker has to
 * take. With two in the ring a burst begins, so that it pushes the third
 * without a fence, if the other worker has not taken both. The fourth is in the
 * LIFO slot. */
static enum skua_poll spawn_burst(struct skua_task *task)
{
	for (unsigned i = 1; i <= 4; i++)
		spawn(i);
	while (started < 3)
		cpu_relax();
	return finish(task);
}

static enum skua_poll yield_once(struct skua_task *task)
{
	unsigned i = task_number(task);

	if (polls[i]++ == 0)
		return SKUA_YIELD;
	explore_write(results[i], i + 1);
	return SKUA_DONE;
}

/* Waits for a timer. */
static enum skua_poll wait_once(struct skua_task *task)
{
	unsigned i = task_number(task);

	if (polls[i]++ == 0) {
		explore_assert(timers_add(current_worker, &timer, task,
					  EXPLORE_START_NS + 5));
		return SKUA_PENDING;
	}
	explore_assert(!timers_queued(&timer));
	explore_assert(explore_now_ns() >= EXPLORE_START_NS + 5);
	explore_write(results[i], i + 1);
	return SKUA_DONE;
}

/* Task 0 yields first; both then wait for each other. */
static enum skua_poll yield_then_meet(struct skua_task *task)
{
	unsigned i = task_number(task);

	if (i == 0 && polls[0]++ == 0)
		return SKUA_YIELD;
	explore_write(results[i], i + 1);
	meet();
	return SKUA_DONE;
}

/* Task 0 has a child in the LIFO slot when it yields: the child runs first. */
static enum skua_poll spawn_and_yield(struct skua_task *task)
{
	if (polls[0]++ == 0) {
		spawn(1);
		return SKUA_YIELD;
	}
	explore_write(results[0], 1);
	meet();
	(void)task;
	return SKUA_DONE;
}

/* Task 0 waits for a timer that is due, and its child yields meanwhile. */
static enum skua_poll spawn_and_wait(struct skua_task *task)
{
	if (polls[0]++ == 0) {
		spawn(1);
		explore_assert(timers_add(current_worker, &timer, task, 0));
		return SKUA_PENDING;
	}
	explore_write(results[0], 1);
	meet();
	return SKUA_DONE;
}

static enum skua_poll yield_and_meet(struct skua_task *task)
{
	unsigned i = task_number(task);

	if (polls[i]++ == 0)
		return SKUA_YIELD;
	explore_write(results[i], i + 1);
	meet();
	return SKUA_DONE;
}

/* Task 1 waits for the end of task 0, which waits for nobody. */
static enum skua_poll yield_and_tell(struct skua_task *task)
{
	if (yield_once(task) == SKUA_YIELD)
		return SKUA_YIELD;
	started++;
	return SKUA_DONE;
}

static enum skua_poll wait_for_first(struct skua_task *task)
{
	explore_write(results[1], task_number(task) + 1);
	meet();
	return SKUA_DONE;
}

/* Meets nobody. */
static enum skua_poll finish_alone(struct skua_task *task)
{
	unsigned i = task_number(task);

	explore_write(results[i], i + 1);
	return SKUA_DONE;
}

/* As fire_timers() in core/loop/loop.c, where timers wake tasks 2 and 3: task 1, which was in
 * the queue before, goes behind task 2, and meets task 0. Meanwhile the queue may be empty. */
static enum skua_poll spawn_and_overtake(struct skua_task *task)
{
	struct worker *w = current_worker;
	uint64_t end;

	spawn(1);
	spawn(2);
	end = local_queue_tail_owner(w->queue);
	spawn(3);
	w->tick.mean_ns = 1000;
	work_overtake_owner(w, end);
	return finish(task);
}

/* ---- pollers ------------------------------------------------------------ */

static int poll_once(struct skua_poller *it)
{
	(void)it;
	poller_called = true;
	return SKUA_POLLER_DONE;
}

/* Its worker stays awake. */
static int poll_for_ever(struct skua_poller *it)
{
	(void)it;
	return 0;
}

/* ---- outside ------------------------------------------------------------ */

/* Of a worker that may be falling asleep: it is called, whatever happens. */
static void adds_a_poller(void)
{
	pool_add_poller(&pool, 0, &poller);
	while (!poller_called)
		cpu_relax();
	pool_stop(&pool);
}

static void spawns_and_joins(void)
{
	spawn(0);
	workers_join(0);
	explore_assert(explore_read(results[0]) == 1);
	pool_stop(&pool);
}

static void spawns_and_drains(void)
{
	spawn(0);
	workers_shut_down();
	explore_assert(explore_read(results[0]) == 1);
}

static void spawns_two_and_drains(void)
{
	spawn(0);
	spawn(1);
	workers_shut_down();
}

static void spawns_three_and_drains(void)
{
	spawn(0);
	spawn(1);
	spawn(2);
	workers_shut_down();
}

static void spawns_one_and_two_and_drains(void)
{
	spawn(2);
	spawns_two_and_drains();
}

static void closes(void)
{
	workers_shut_down();
}

/* Beside closes(): refused or run, never lost. */
static void spawns_perhaps(void)
{
	if (workers_spawn(0) != 0)
		explore_write(results[0], 1);
}

/* ---- fixture ------------------------------------------------------------ */

static void setup(unsigned count, skua_task_fn first, unsigned waiting)
{
	workers_reset(first, finish, SENTINEL_NEVER);
	memset(polls, 0, sizeof(polls));
	memset(results, 0, sizeof(results));
	memset(&timer, 0, sizeof(timer));
	expected = count;
	companions = waiting;
	started = 0;
	poller = (struct skua_poller){ .poll = poll_once };
	poller_called = false;
}

static void setup_one(void)
{
	setup(1, finish, 0);
}

static void setup_urgent(void)
{
	setup(1, finish, 0);
	tasks[0].flags = TASK_URGENT;
}

static void setup_bound(void)
{
	setup(1, finish, 0);
	tasks[0].home = 2;
}

static void setup_yielding(void)
{
	setup(1, yield_once, 0);
}

static void setup_timer(void)
{
	setup(1, wait_once, 0);
}

/* The injection queue is due when task 0 has yielded and is alone: task 1 runs
 * first after all, and somebody else has to be told of task 0. */
static void setup_due_companion(void)
{
	setup(2, yield_then_meet, 2);
	for (unsigned i = 0; i < WORKERS; i++)
		workers[i].polls_until_inject = 2;
}

static void set_budget(uint32_t polls)
{
	for (unsigned i = 0; i < WORKERS; i++)
		workers[i].tick.budget = polls;
}

/* Both yield, and one worker may hold both: each yields behind the other. */
static void setup_yielding_companions(void)
{
	setup(2, yield_and_meet, 2);
	tasks[1].poll = yield_and_meet;
	set_budget(8);
}

/* It is the turn of the injected tasks when task 0 has yielded and is alone: a
 * batch of two goes ahead of task 0, and somebody has to be told of both. */
static void setup_due_batch(void)
{
	setup(3, yield_then_meet, 2);
	for (unsigned i = 0; i < WORKERS; i++) {
		workers[i].polls_until_inject = 2;
		workers[i].turns = (struct turns){
			.checked_ns = EXPLORE_START_NS,
			.start_ns = EXPLORE_START_NS,
			.polls = 2,
			.turn = TURN_OUTSIDE,
		};
	}
}

/* Task 1 is bound to the worker on which task 0 may have yielded alone. */
static void setup_bound_first(void)
{
	setup(2, yield_and_tell, 2);
	tasks[1].poll = wait_for_first;
	tasks[1].home = 1;
}

/* Not at the end of a tick, which would tell of it too. */
static void setup_yielding_parent(void)
{
	setup(2, spawn_and_yield, 2);
	set_budget(8);
}

/* The tick ends, and the timer fires, when the child has yielded alone. */
static void setup_timer_companion(void)
{
	setup(2, spawn_and_wait, 2);
	tasks[1].poll = yield_and_meet;
	set_budget(2);
}

/* A worker that comes from task 2 takes one of them; a worker that met it at
 * the lock has to be told of the other. */
static void setup_two_urgent(void)
{
	setup(3, finish, 2);
	tasks[0].flags = TASK_URGENT;
	tasks[1].flags = TASK_URGENT;
	tasks[2].poll = finish_alone;
}

static void setup_two_companions(void)
{
	setup(2, finish, 2);
}

/* Worker 0 stays awake, and may come to hold both tasks: worker 1 has to be
 * told. */
static void setup_companions_awake(void)
{
	setup(2, finish, 2);
	poller.poll = poll_for_ever;
	workers[0].pollers.list = &poller;
}

static void setup_poller(void)
{
	setup(0, finish, 0);
}

/* One for each worker. */
static void setup_bound_companions(void)
{
	setup(2, finish, 2);
	tasks[0].home = 1;
	tasks[1].home = 2;
}

static void setup_urgent_companion(void)
{
	setup(2, finish, 2);
	tasks[0].flags = TASK_URGENT;
}

static void setup_lifo_companion(void)
{
	setup(2, spawn_one, 2);
	pool.tuning.lifo_delay_ns = LIFO_DELAY_NS;
}

static void setup_overtaken(void)
{
	setup(4, spawn_and_overtake, 2);
	tasks[2].poll = finish_alone;
	tasks[3].poll = finish_alone;
}

static void setup_spawning_two(void)
{
	setup(3, spawn_two, 2);
}

static void setup_spawning_six(void)
{
	setup(7, spawn_six, 0);
}

static void setup_burst(void)
{
	setup(5, spawn_burst, 0);
}

static void check(void)
{
	for (unsigned i = 0; i < expected; i++)
		explore_assert(explore_read(results[i]) == i + 1);
}

/* ---- cases -------------------------------------------------------------- */

#define FEW(EXECUTIONS)  EXPLORE_WITHIN(3, 2), .random = (EXECUTIONS)
#define MANY(EXECUTIONS) EXPLORE_WITHIN(12, 6), .random = (EXECUTIONS)

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("spawn_and_join", setup_one, check, workers_run_0,
		       workers_run_1, spawns_and_joins),
	  EXPLORE_WITHIN(1, 1) },
	{ EXPLORE_PASS("spawn_and_join__few", setup_one, check, workers_run_0,
		       workers_run_1, spawns_and_joins),
	  FEW(20000) },
	{ EXPLORE_PASS("spawn_and_join__many", setup_one, check, workers_run_0,
		       workers_run_1, spawns_and_joins),
	  MANY(20000) },
	{ EXPLORE_PASS("spawn_and_drain__few", setup_one, check, workers_run_0,
		       workers_run_1, spawns_and_drains),
	  FEW(20000) },
	{ EXPLORE_PASS("spawn_and_drain__many", setup_one, check, workers_run_0,
		       workers_run_1, spawns_and_drains),
	  MANY(20000) },
	{ EXPLORE_PASS("yield__few", setup_yielding, check, workers_run_0,
		       workers_run_1, spawns_and_drains),
	  FEW(20000) },
	{ EXPLORE_PASS("two_companions__few", setup_two_companions, check,
		       workers_run_0, workers_run_1, spawns_two_and_drains),
	  FEW(60000) },
	{ EXPLORE_PASS("two_companions__many", setup_two_companions, check,
		       workers_run_0, workers_run_1, spawns_two_and_drains),
	  MANY(60000) },
	{ EXPLORE_PASS("due_companion__few", setup_due_companion, check,
		       workers_run_0, workers_run_1, spawns_two_and_drains),
	  FEW(50000) },
	{ EXPLORE_PASS("yielding_companions__few", setup_yielding_companions,
		       check, workers_run_0, workers_run_1,
		       spawns_two_and_drains),
	  FEW(40000) },
	{ EXPLORE_PASS("yielding_companions__many", setup_yielding_companions,
		       check, workers_run_0, workers_run_1,
		       spawns_two_and_drains),
	  MANY(40000) },
	{ EXPLORE_PASS("due_batch__few", setup_due_batch, check, workers_run_0,
		       workers_run_1, spawns_three_and_drains),
	  FEW(50000) },
	{ EXPLORE_PASS("bound_first__few", setup_bound_first, check,
		       workers_run_0, workers_run_1, spawns_two_and_drains),
	  FEW(20000) },
	{ EXPLORE_PASS("yielding_parent__few", setup_yielding_parent, check,
		       workers_run_0, workers_run_1, spawns_and_drains),
	  FEW(20000) },
	{ EXPLORE_PASS("timer_companion__few", setup_timer_companion, check,
		       workers_run_0, workers_run_1, spawns_and_drains),
	  FEW(20000) },
	{ EXPLORE_PASS("overtaken_companion__few", setup_overtaken, check,
		       workers_run_0, workers_run_1, spawns_and_drains),
	  FEW(60000) },
	{ EXPLORE_PASS("overtaken_companion__many", setup_overtaken, check,
		       workers_run_0, workers_run_1, spawns_and_drains),
	  MANY(60000) },
	{ EXPLORE_PASS("two_urgent__many", setup_two_urgent, check,
		       workers_run_0, workers_run_1,
		       spawns_one_and_two_and_drains),
	  MANY(50000) },
	{ EXPLORE_PASS("task_spawns_two__few", setup_spawning_two, check,
		       workers_run_0, workers_run_1, spawns_and_drains),
	  FEW(20000) },
	{ EXPLORE_PASS("task_spawns_two__many", setup_spawning_two, check,
		       workers_run_0, workers_run_1, spawns_and_drains),
	  MANY(20000) },
	{ EXPLORE_PASS("task_overflows__few", setup_spawning_six, check,
		       workers_run_0, workers_run_1, spawns_and_drains),
	  FEW(10000) },
	{ EXPLORE_PASS("task_overflows__many", setup_spawning_six, check,
		       workers_run_0, workers_run_1, spawns_and_drains),
	  MANY(10000) },
	{ EXPLORE_PASS("burst__few", setup_burst, check, workers_run_0,
		       workers_run_1, spawns_and_drains),
	  FEW(60000) },
	{ EXPLORE_PASS("burst__many", setup_burst, check, workers_run_0,
		       workers_run_1, spawns_and_drains),
	  MANY(60000) },
	{ EXPLORE_PASS("urgent__few", setup_urgent, check, workers_run_0,
		       workers_run_1, spawns_and_drains),
	  FEW(10000) },
	{ EXPLORE_PASS("urgent_companion__few", setup_urgent_companion, check,
		       workers_run_0, workers_run_1, spawns_two_and_drains),
	  FEW(20000) },
	{ EXPLORE_PASS("urgent_companion__many", setup_urgent_companion, check,
		       workers_run_0, workers_run_1, spawns_two_and_drains),
	  MANY(20000) },
	{ EXPLORE_PASS("bound__few", setup_bound, check, workers_run_0,
		       workers_run_1, spawns_and_drains),
	  FEW(10000) },
	{ EXPLORE_PASS("bound_companions__few", setup_bound_companions, check,
		       workers_run_0, workers_run_1, spawns_two_and_drains),
	  FEW(20000) },
	{ EXPLORE_PASS("bound_companions__many", setup_bound_companions, check,
		       workers_run_0, workers_run_1, spawns_two_and_drains),
	  MANY(20000) },
	{ EXPLORE_PASS("companions_awake__few", setup_companions_awake, check,
		       workers_run_0, workers_run_1, spawns_two_and_drains),
	  FEW(20000) },
	{ EXPLORE_PASS("companions_awake__many", setup_companions_awake, check,
		       workers_run_0, workers_run_1, spawns_two_and_drains),
	  MANY(20000) },
	{ EXPLORE_PASS("poller_added", setup_poller, NULL, workers_run_0,
		       workers_run_1, adds_a_poller),
	  EXPLORE_WITHIN(1, 1) },
	{ EXPLORE_PASS("poller_added__few", setup_poller, NULL, workers_run_0,
		       workers_run_1, adds_a_poller),
	  FEW(10000) },
	{ EXPLORE_PASS("timer__few", setup_timer, check, workers_run_0,
		       workers_run_1, spawns_and_drains),
	  FEW(10000) },
	{ EXPLORE_PASS("timer__many", setup_timer, check, workers_run_0,
		       workers_run_1, spawns_and_drains),
	  MANY(10000) },
	{ EXPLORE_PASS("lifo_companion__few", setup_lifo_companion, check,
		       workers_run_0, workers_run_1, spawns_and_drains),
	  FEW(10000) },
	{ EXPLORE_PASS("lifo_companion__many", setup_lifo_companion, check,
		       workers_run_0, workers_run_1, spawns_and_drains),
	  MANY(10000) },
	{ EXPLORE_PASS("spawn_beside_close__few", setup_one, check,
		       workers_run_0, workers_run_1, closes, spawns_perhaps),
	  FEW(20000) },
	{ EXPLORE_PASS("spawn_beside_close__many", setup_one, check,
		       workers_run_0, workers_run_1, closes, spawns_perhaps),
	  MANY(20000) },
};

EXPLORE_MAIN(cases)
