/* SPDX-License-Identifier: MIT */
/**
 * test_lines.c - which cache lines of others the operations of a worker touch
 *
 * Each operation is measured with 8, 64, 256 and 1,024 workers, in groups of 8
 * and of 16. On all these machines the counts must stay within the bounds of
 * the table below, which core/idle/IDLE.md repeats ("Costs").
 *
 * With LINES_SHOW=NAME, where NAME is an operation or `all`, the test prints the
 * counts, and each line that it counts in this operation.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fork_join/fork_join.h"
#include "core/loop/current.h"
#include "core/loop/schedule.h"
#include "core/loop/work.h"
#include "skua/fork.h"
#include "tests/lines/made.h"
#include "tests/unit/unit.h"

enum { TASKS = 8 };

static struct skua_task tasks[TASKS];
static struct timer timer;
static unsigned polls;
static struct lines counted;

static enum skua_poll ends(struct skua_task *task)
{
	(void)task;
	return SKUA_DONE;
}

static struct skua_task *task_of(unsigned i, skua_task_fn poll)
{
	tasks[i] = (struct skua_task)SKUA_TASK_INIT(poll);
	tasks[i].pool = made.pool;
	return &tasks[i];
}

static struct skua_task *spawned(unsigned i)
{
	struct skua_task *task = task_of(i, ends);

	assert_int_equal(task_state_transition_to_spawned(task_state(task)), 0);
	return task;
}

/* ---- spawns and wake-ups ------------------------------------------------------ */

/* A task becomes runnable in a poll, and displaces another one. */
static struct lines push(void)
{
	made_act((int)made.actor);
	schedule(spawned(0));
	lines_begin();
	schedule(spawned(1));
	return made_count();
}

static struct lines push__all_busy(void)
{
	push();
	lines_begin();
	schedule(spawned(2));
	return made_count();
}

static struct lines push__one_searches(void)
{
	assert_true(idle_try_search(&made.pool->idle, made.near));
	made_park(made.far);
	return push();
}

static struct lines push__wakes_near(void)
{
	made_park(made.near);
	return push();
}

static struct lines push__wakes_far(void)
{
	made_park(made.far);
	return push();
}

/* A searcher leaves many tasks, and wakes a worker of another group as well. */
static struct lines many_left__wakes_two(void)
{
	made_park_others();
	made_act((int)made.actor);
	lines_begin();
	idle_wake_for(&made.pool->idle, current_worker->group, IDLE_MANY);
	return made_count();
}

static struct lines fill__sentinel(void)
{
	made_park_others();
	made_act((int)made.actor);
	lines_begin();
	schedule(spawned(0));
	return made_count();
}

/* The first fill after a park. */
static struct lines fill__all_busy__first(void)
{
	made_act((int)made.actor);
	lines_begin();
	schedule(spawned(0));
	return made_count();
}

/* The actor has filled its slot before, since it last parked. */
static void has_filled(void)
{
	made_act((int)made.actor);
	schedule(spawned(0));
	lifo_slot_take_owner(&current_worker->lifo);
}

static struct lines fill__all_busy(void)
{
	has_filled();
	lines_begin();
	schedule(spawned(1));
	return made_count();
}

static struct lines outside__all_busy(void)
{
	made_act(MADE_OUTSIDE);
	lines_begin();
	schedule(spawned(0));
	return made_count();
}

static struct lines outside__wakes(void)
{
	made_park_others();
	return outside__all_busy();
}

/* ---- the loop ------------------------------------------------------------------- */

/* The third poll of a task that yields, up to the fourth, which may end the
 * tick. */
static enum skua_poll yields(struct skua_task *task)
{
	(void)task;
	if (++polls == 4)
		counted = made_count();
	if (polls >= 4)
		return SKUA_DONE;
	current_worker->tick.budget = 128;
	if (polls == 3)
		lines_begin();
	return SKUA_YIELD;
}

static enum skua_poll ends_tick(struct skua_task *task)
{
	enum skua_poll result = yields(task);

	if (polls == 3)
		current_worker->tick.budget = 1;
	return result;
}

static struct lines yield__all_busy(void)
{
	made_run(task_of(0, yields));
	return counted;
}

static struct lines tick__all_busy(void)
{
	made_run(task_of(0, ends_tick));
	return counted;
}

/* From the end of a worker's last task to its sleep: a tick ends, a search fails,
 * and the worker parks. */
static enum skua_poll last(struct skua_task *task)
{
	(void)task;
	lines_begin();
	return SKUA_DONE;
}

static struct lines out_of_work__others_busy(void)
{
	made_park(made.near);
	sentinel_enter(made.pool->workers[made.near]);
	made_run(task_of(0, last));
	return made.slept;
}

static struct lines out_of_work__others_asleep(void)
{
	made_park_others();
	made_run(task_of(0, last));
	return made.slept;
}

/* A thread waits for a drain. */
static void drains(void)
{
	lines_watch(false);
	atomic_store_relaxed(&made.pool->drainers, 1);
	lines_watch(true);
}

static struct lines out_of_work__drain__others_busy(void)
{
	drains();
	return out_of_work__others_busy();
}

/* ---- timers ---------------------------------------------------------------------- */

static struct lines timer_add(void)
{
	made_park_others();
	made_act((int)made.actor);
	timer = (struct timer){ .task = NULL };
	lines_begin();
	timers_add(current_worker, &timer, spawned(0), clock_now_ns() + 1000);
	return made_count();
}

static struct lines timer_fire(void)
{
	struct skua_task *task = spawned(1);

	has_filled();
	timer = (struct timer){ .task = NULL };
	/* Not now: the wheel rounds up, to a time that has not come yet. */
	timers_add(current_worker, &timer, task, 0);
	task_state_transition_to_running(task_state(task));
	assert_true(task_state_transition_to_waiting(task_state(task), true));
	lines_begin();
	timers_fire_due(current_worker, clock_now_ns(), 0);
	assert_true(lifo_slot_peek(&current_worker->lifo));
	return made_count();
}

static struct lines sentinel_checks(void)
{
	made_park(made.actor);
	made_act((int)made.actor);
	sentinel_enter(current_worker);
	made.pool->sentinel.check_ns = 0;
	lines_begin();
	sentinel_check(current_worker, clock_now_ns());
	return made_count();
}

/* ---- jobs ------------------------------------------------------------------------- */

static void runs(struct skua_ctx ctx, struct skua_job *job)
{
	(void)ctx;
	(void)job;
}

static struct skua_job job = { runs };

/* Worker @i forks a job that thieves have asked for. */
static void forks(unsigned i)
{
	struct fork_join *fj = made.pool->team.members[i];

	made_act((int)i);
	team_begin_forking(&made.pool->team);
	skua_fork(fork_join_ctx_owner(fj), &job);
}

static struct lines fork__all_busy(void)
{
	team_begin_forking(&made.pool->team);
	made_act((int)made.actor);
	lines_begin();
	forks(made.actor);
	return made_count();
}

static struct lines fork__wakes(void)
{
	made_park_others();
	return fork__all_busy();
}

static struct lines fork__one_in_join_near(void)
{
	team_sleep_begin(&made.pool->team, made.near);
	return fork__all_busy();
}

static struct lines fork__one_in_join_far(void)
{
	team_sleep_begin(&made.pool->team, made.far);
	return fork__all_busy();
}

/* As find() in core/loop/search.c and run_job() in core/loop/loop.c do. */
static struct lines take_job(unsigned from)
{
	struct team *team = &made.pool->team;
	struct fork_join *fj = team->members[made.actor];
	struct stolen_job stolen;
	bool taken = false;

	forks(from);
	made_act((int)made.actor);
	lines_begin();
	assert_true(fork_join_help_owner(fj, VICTIMS_ALL, &taken, &stolen));
	fork_join_run_owner(fj, split_deque_head_owner(&fj->deque), &stolen);
	team_sign_off(team, &taken);
	return made_count();
}

static struct lines take_job__near(void)
{
	return take_job(made.near);
}

static struct lines take_job__far(void)
{
	return take_job(made.far);
}

static struct lines no_job(void)
{
	team_begin_forking(&made.pool->team);
	made_act((int)made.actor);
	lines_begin();
	assert_false(team_visible(&made.pool->team,
				  made.pool->workers[made.actor]->group));
	return made_count();
}

static struct lines join_sleep(void)
{
	made_act((int)made.actor);
	lines_begin();
	team_sleep_begin(&made.pool->team, made.actor);
	team_sleep_end(&made.pool->team, made.actor);
	return made_count();
}

/* ---- the table -------------------------------------------------------------------- */

/*
 * At most so many lines: @group, of the own group and of its other workers;
 * @other, of other groups, and @each more for each group of the machine; @all,
 * of the runtime as a whole.
 */
struct bound {
	const char *name;
	struct lines (*act)(void);
	unsigned group, other, each, all;
	bool fails; /* not yet: on some machine there are more */
};

#define HOLDS(act, ...)                       \
	{                                     \
#act, act, __VA_ARGS__, false \
	}
#define FAILS(act, ...)                      \
	{                                    \
#act, act, __VA_ARGS__, true \
	}

static const struct bound bounds[] = {
	HOLDS(push__all_busy, 2, 0, 0, 1),
	HOLDS(push__one_searches, 2, 0, 0, 0),
	HOLDS(push__wakes_near, 4, 0, 0, 1),
	HOLDS(push__wakes_far, 4, 3, 0, 2),
	HOLDS(many_left__wakes_two, 3, 3, 0, 2),
	HOLDS(fill__sentinel, 0, 0, 0, 1),
	HOLDS(fill__all_busy__first, 1, 0, 1, 1),
	HOLDS(fill__all_busy, 0, 0, 0, 1),
	HOLDS(outside__all_busy, 5, 0, 0, 1),
	HOLDS(outside__wakes, 7, 0, 0, 1),
	HOLDS(yield__all_busy, 1, 0, 0, 0),
	HOLDS(tick__all_busy, 3, 2, 0, 1),
	HOLDS(out_of_work__others_busy, 5, 8, 1, 3),
	HOLDS(out_of_work__others_asleep, 5, 8, 1, 3),
	FAILS(out_of_work__drain__others_busy, 5, 8, 2, 3),
	HOLDS(timer_add, 2, 0, 0, 1),
	HOLDS(timer_fire, 2, 0, 0, 1),
	FAILS(sentinel_checks, 3, 0, 1, 4),
	HOLDS(fork__all_busy, 2, 0, 0, 3),
	HOLDS(fork__wakes, 4, 0, 0, 3),
	HOLDS(fork__one_in_join_near, 3, 0, 0, 2),
	HOLDS(fork__one_in_join_far, 3, 3, 0, 2),
	HOLDS(take_job__near, 4, 0, 0, 1),
	HOLDS(take_job__far, 4, 5, 1, 1),
	HOLDS(no_job, 1, 0, 1, 1),
	HOLDS(join_sleep, 1, 0, 0, 1),
};

enum { OPERATIONS = sizeof(bounds) / sizeof(bounds[0]) };

/* ---- what is written ---------------------------------------------------------------- */

/* A worker adds a timer and forks; its loop does the rest. */
static enum skua_poll lives(struct skua_task *task)
{
	if (++polls > 1)
		return SKUA_DONE;
	timers_add(current_worker, &timer, task, 0);
	forks(made.actor);
	schedule(spawned(1));
	schedule(spawned(2));
	current_worker->tick.budget = 1;
	return SKUA_YIELD;
}

/* All workers do all that they do in a long life, so that the lines that are
 * written are known. */
static void live(void)
{
	unsigned actor = made.actor;
	struct team *team;

	made_reset();
	team = &made.pool->team;
	team_leave(team, team_enter(team, 0));
	for (unsigned i = 0; i < made.workers; i++) {
		made.actor = i;
		timer = (struct timer){ .task = NULL };
		polls = 0;
		made_run(task_of(0, lives));
	}
	made.actor = actor;
	made_act(MADE_OUTSIDE);
	schedule(spawned(0));
}

static struct lines measure(const struct bound *bound)
{
	made_reset();
	polls = 0;
	return bound->act();
}

static bool holds(const struct bound *bound, struct lines l)
{
	return l.group <= bound->group &&
	       l.other <= bound->other + bound->each * (made.groups - 1) &&
	       l.all <= bound->all;
}

static void print(const struct bound *bound, struct lines l)
{
	printf("%4u workers, %3u groups, %s: group %u, other %u, all %u\n",
	       made.workers, made.groups, bound->name, l.group, l.other, l.all);
}

/* Measure all operations on a machine. @held: set to false for each whose bounds
 * do not hold. */
static void measure_all(unsigned workers, unsigned size, bool *held)
{
	const char *show = getenv("LINES_SHOW");

	made_begin(workers, size);
	live();
	for (unsigned i = 0; i < OPERATIONS; i++)
		measure(&bounds[i]);
	for (unsigned i = 0; i < OPERATIONS; i++) {
		struct lines l;

		lines_show(show && strcmp(show, bounds[i].name) == 0);
		l = measure(&bounds[i]);
		lines_show(false);
		if (show)
			print(&bounds[i], l);
		held[i] = held[i] && holds(&bounds[i], l);
	}
	made_end();
}

TEST(operations__8_to_1024_workers__touch_few_lines_of_others)
{
	bool held[OPERATIONS];

	for (unsigned i = 0; i < OPERATIONS; i++)
		held[i] = true;
	for (unsigned size = 8; size <= 16; size *= 2) {
		measure_all(8, size, held);
		measure_all(64, size, held);
		measure_all(256, size, held);
		measure_all(1024, size, held);
	}
	for (unsigned i = 0; i < OPERATIONS; i++) {
		if (held[i] == bounds[i].fails)
			fail_msg("%s: the bounds %s", bounds[i].name,
				 held[i] ? "hold" : "do not hold");
	}
}
