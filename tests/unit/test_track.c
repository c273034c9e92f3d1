/* SPDX-License-Identifier: MIT */
/* test_track.c - the table of tasks: which task has a slot, and what the slot shows */
#include <pthread.h>
#include <stdlib.h>

#include "core/runtime/runtime.h"
#include "core/telemetry/track.h"
#include "skua/group.h"
#include "tests/unit/tasks.h"

/* ---- slots change hands ---------------------------------------------------------- */

#define LIVES 1000000
/* Enough for two that have the same window. */
#define TASKS 65536

static pthread_barrier_t start;
static struct pool pool;
static struct skua_task tasks[TASKS];
static struct area_task
	*contested; /* the only slot that is not held for good */

static uint64_t address_of(const struct skua_task *task)
{
	return (uintptr_t)task;
}

/* In an empty table, a task gets the first slot of its window. */
static struct area_task *first_slot(const struct skua_task *task)
{
	struct area_task *found = NULL;

	track_spawn(&pool.telemetry, task, NULL);
	for (unsigned i = 0; i < TRACK_SLOTS; i++)
		if (counter_read(&pool.telemetry.track->tasks[i].task) ==
		    address_of(task))
			found = &pool.telemetry.track->tasks[i];
	track_forget(&pool.telemetry, task);
	assert_non_null(found);
	return found;
}

/* Has the task the slot, and nobody else? */
static bool keeps(const struct skua_task *task)
{
	return counter_read(&contested->task) == address_of(task) &&
	       counter_read(&contested->state) == AREA_TASK_QUEUED;
}

/* Lives of a task that end with a waker left, until it has had the slot often enough.
 * Return: how often it was another's as well. */
static void *live(void *argument)
{
	struct skua_task *task = argument;
	uintptr_t lost = 0;

	pthread_barrier_wait(&start);
	for (unsigned had = 0; had < LIVES;) {
		/* The scheduler's reference, and the waker's. */
		atomic_store_relaxed(task_state(task), 2 * TASK_REFERENCE);
		track_spawn(&pool.telemetry, task, NULL);
		if (counter_read(&contested->holder) == address_of(task)) {
			had++;
			for (unsigned i = 0; i < 20; i++)
				lost += !keeps(task);
		}
		track_poll_end(&pool.telemetry,
			       track_poll_begin(&pool.telemetry, task), task,
			       SKUA_DONE, false);
	}
	return (void *)lost;
}

TEST(track__done_task_is_spawned_again__no_other_takes_its_slot)
{
	struct skua_task *one = &tasks[0], *two = NULL;
	void *by_one, *by_two;
	pthread_t thread;

	pool.telemetry.track = calloc(1, sizeof(*pool.telemetry.track));
	assert_non_null(pool.telemetry.track);
	contested = first_slot(one);
	for (unsigned i = 1; !two && i < TASKS; i++)
		if (first_slot(&tasks[i]) == contested)
			two = &tasks[i];
	assert_non_null(two);
	for (unsigned i = 0; i < TRACK_SLOTS; i++)
		if (&pool.telemetry.track->tasks[i] != contested)
			pool.telemetry.track->tasks[i].task =
				pool.telemetry.track->tasks[i].holder = 1;

	pthread_barrier_init(&start, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, live, one), 0);
	by_two = live(two);
	assert_int_equal(pthread_join(thread, &by_one), 0);
	assert_null(by_one);
	assert_null(by_two);
	free(pool.telemetry.track);
}

/* ---- where a task was spawned ---------------------------------------------------- */

static struct gate blocked;

static void block(void *nothing)
{
	(void)nothing;
	while (!gate_is_open(&blocked))
		sched_yield();
}

static enum skua_poll block_poll(struct skua_task *self)
{
	(void)self;
	block(NULL);
	return SKUA_DONE;
}

static __attribute__((noinline)) void by_call(struct skua_runtime *rt,
					      struct skua_task *task)
{
	(void)task;
	assert_int_equal(skua_call(rt, block, NULL), 0);
}

static __attribute__((noinline)) void by_spawn(struct skua_runtime *rt,
					       struct skua_task *task)
{
	assert_int_equal(skua_task_spawn(rt, task), 0);
}

static __attribute__((noinline)) void by_spawn_on(struct skua_runtime *rt,
						  struct skua_task *task)
{
	assert_int_equal(skua_task_spawn_on(rt, 0, task), 0);
}

static __attribute__((noinline)) void by_group(struct skua_runtime *rt,
					       struct skua_task *task)
{
	static struct skua_group group;

	assert_int_equal(skua_group_init(&group, rt), 0);
	assert_int_equal(skua_group_spawn(&group, task), 0);
}

/* Does the table say of each of its tasks that @by spawned it? */
static bool shows(const struct skua_runtime *rt,
		  void (*by)(struct skua_runtime *, struct skua_task *))
{
	/* More than such a function has, less than there is between two files. */
	const uint64_t most_bytes = 300;
	bool any = false;

	for (unsigned i = 0; i < TRACK_SLOTS; i++) {
		const struct area_task *slot =
			&rt->pool.telemetry.track->tasks[i];
		uint64_t caller = counter_read(&slot->caller);

		if (!counter_read(&slot->task))
			continue;
		if (caller - (uintptr_t)by >= most_bytes)
			return false;
		any = true;
	}
	return any;
}

static void check(void (*by)(struct skua_runtime *, struct skua_task *))
{
	struct skua_config cfg = SKUA_CONFIG_INIT;
	struct skua_task task = SKUA_TASK_INIT(block_poll);
	struct skua_runtime *rt;

	memset(&blocked, 0, sizeof(blocked));
	cfg.workers = 1;
	cfg.flags = SKUA_UNPINNED | SKUA_NO_ENV | SKUA_TRACK_TASKS;
	assert_int_equal(skua_runtime_create(&rt, &cfg, NULL), 0);
	by(rt, &task);
	assert_true(shows(rt, by));
	gate_open(&blocked);
	assert_int_equal(skua_runtime_drain(rt), 0);
	destroy(rt);
}

TEST(track__spawned_by_any_function__shows_the_program)
{
	check(by_spawn);
	check(by_spawn_on);
	check(by_call);
	check(by_group);
}

/* A task that looks at the table while a thread blocks on it. */
struct looker {
	struct skua_task task; /* first: a task is its looker */
	struct skua_runtime *rt;
	bool shown;
};

static __attribute__((noinline)) void by_block_on(struct skua_runtime *rt,
						  struct skua_task *task)
{
	assert_int_equal(skua_runtime_block_on(rt, task), 0);
}

static enum skua_poll look_poll(struct skua_task *self)
{
	struct looker *looker = (struct looker *)self;

	looker->shown = shows(looker->rt, by_block_on);
	return SKUA_DONE;
}

static void check_block_on(unsigned flags)
{
	struct skua_config cfg = SKUA_CONFIG_INIT;
	struct looker looker = { .task = SKUA_TASK_INIT(look_poll) };

	cfg.workers = 1;
	cfg.flags = SKUA_UNPINNED | SKUA_NO_ENV | SKUA_TRACK_TASKS | flags;
	assert_int_equal(skua_runtime_create(&looker.rt, &cfg, NULL), 0);
	by_block_on(looker.rt, &looker.task);
	assert_true(looker.shown);
	destroy(looker.rt);
}

TEST(track__blocked_on__shows_the_program)
{
	check_block_on(0);
}

/* The library spawns a task of its own, which spawns that of the program. */
TEST(track__blocked_on_by_the_driver__shows_the_program)
{
	check_block_on(SKUA_CALLER_DRIVEN);
}
