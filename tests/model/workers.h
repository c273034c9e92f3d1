/* SPDX-License-Identifier: MIT */
/**
 * workers.h - two real workers for a model test
 *
 * A pool of WORKERS workers (default: two) with queues of four slots, and numbered tasks;
 * workers_reset() makes them again. If JOB_SLOTS is defined, workers and external threads
 * may fork this many jobs. Threads 1 and 2 of a case are workers_run_0() and
 * workers_run_1(); the others are no workers.
 */
#ifndef SKUA_TESTS_MODEL_WORKERS_H
#define SKUA_TESTS_MODEL_WORKERS_H

#include <stdalign.h>
#include <string.h>

#include "core/loop/loop.h"
#include "core/loop/schedule.h"
#include "core/loop/current.h"
#include "core/loop/worker.h"
#include "tests/model/explore.h"
#include "tests/near.h"

#ifndef WORKERS
#define WORKERS 2
#endif
#define CAPACITY LOCAL_QUEUE_MIN_CAPACITY
#define TASKS    8

#define LIFO_DELAY_NS UINT64_C(100000)

union ring {
	struct local_queue q;
	unsigned char bytes[sizeof(struct local_queue) +
			    CAPACITY * sizeof(atomic_ptr)];
};

static struct pool pool;
static struct worker workers[WORKERS];
static struct worker *worker_list[WORKERS];
static struct timer_slot timer_slots[WORKERS][TIMER_WHEEL_SLOTS_TOTAL];
static union ring rings[WORKERS];
static struct idle_group by_group[WORKERS];
static struct timer_deadlines deadlines[WORKERS];
static struct work_line lines[WORKERS + 1];
static struct inject_group inject[WORKERS];
static struct idle_sleeper sleepers[WORKERS];
static struct driver drivers[WORKERS];
static struct sentinel_sight sights[WORKERS];
static const uint32_t generation = 1;

static struct skua_task tasks[TASKS];

static inline unsigned task_number(const struct skua_task *task)
{
	return (unsigned)(task - tasks);
}

static inline void worker_reset(unsigned i)
{
	/* Clear all except the wheel, whose many slots stay empty. */
	memset(&workers[i], 0, offsetof(struct worker, timers));
	memset(&workers[i].area, 0, sizeof(workers[i].area));
	memset(&rings[i], 0, sizeof(rings[i]));
	local_queue_init(&rings[i].q, CAPACITY, 0);
	worker_init(&workers[i], &pool, i, &rings[i].q, timer_slots[i]);
}

#ifdef JOB_SLOTS
/* Places for jobs, each with JOB_SLOTS slots. */
static struct fork_join places[WORKERS + TEAM_EXTERNALS];
static struct fork_join *place_list[WORKERS + TEAM_EXTERNALS];
static atomic_ptr job_slots[WORKERS + TEAM_EXTERNALS][JOB_SLOTS];

static inline void places_reset(void)
{
	memset(places, 0, sizeof(places));
	memset(job_slots, 0, sizeof(job_slots));
	team_init(&pool.team, place_list, &pool.idle, &pool.map, &pool.tuning,
		  true);
	pool.team.inject = inject;
	for (unsigned i = 0; i < WORKERS + TEAM_EXTERNALS; i++) {
		place_list[i] = &places[i];
		fork_join_init(
			&places[i], &pool.team, i, job_slots[i], JOB_SLOTS,
			true,
			i < WORKERS
				? &workers[i].area.counters.jobs_stolen
				: &pool.telemetry.area
					   .external_jobs_stolen[i - WORKERS]);
		/* The slots are a variable, and no mapping. */
		places[i].guarded = true;
	}
}
#endif

/* workers_place - make @count workers again, worker i on node i % @nodes */
static inline void workers_place(unsigned count, unsigned nodes)
{
	pool.groups = near_groups(count, nodes);
	pool.worker_count = count;
	pool.deadlines = deadlines;
	work_map_init(&pool.map, lines, pool.groups->count + 1);
	idle_init(&pool.idle, pool.groups, by_group, sleepers);
#ifdef JOB_SLOTS
	places_reset();
#endif
	for (unsigned i = 0; i < count; i++) {
		worker_list[i] = &workers[i];
		worker_reset(i);
	}
}

/* workers_reset - make the pool and the tasks again
 *
 * @first is the poll function of task 0, @other that of the other tasks. */
static inline void workers_reset(skua_task_fn first, skua_task_fn other,
				 uint64_t lifo_delay_ns)
{
	memset(&pool, 0, sizeof(pool));
	pool.workers = worker_list;
	pool.telemetry.idle = &pool.idle;
	pool.membarrier = true;
	pool.tuning.steal_max = 32;
	pool.tuning.steal_max_far = 1;
	pool.tuning.steal_attempts = 1;
	pool.tuning.lifo_delay_ns = lifo_delay_ns;
	pool.tuning.max_queued = UINT32_MAX;
	pool.generation_here = &generation;
	pool.generation = generation;
	pool.inject = inject;
	for (unsigned i = 0; i < WORKERS; i++)
		inject_group_init(&inject[i]);
	memset(drivers, 0, sizeof(drivers));
	pool.drivers = drivers;
	workers_place(WORKERS, 1);
	memset(sights, 0, sizeof(sights));
	sentinel_init(&pool.sentinel, sights);
	for (unsigned i = 0; i < TASKS; i++)
		tasks[i] = (struct skua_task)SKUA_TASK_INIT(i == 0 ? first
								   : other);
	explore_thread_local((void **)&current_worker);
	explore_thread_local((void **)&fork_region_current);
}

/* Spawn task @i, like skua_task_spawn(). */
static inline int workers_spawn(unsigned i)
{
	struct worker *worker = current_worker;
	unsigned group = idle_group_here(&pool.idle);
	int code;

	explore_assert(
		task_state_transition_to_spawned(task_state(&tasks[i])) == 0);
	tasks[i].pool = &pool;
	if (worker) {
		counter_add_owner(&worker->area.counters.tasks_spawned, 1);
		schedule(&tasks[i]);
		return 0;
	}
	code = pool_enter_spawn(&pool, group);
	if (code == 0)
		schedule_by(NULL, group, &tasks[i]);
	pool_leave(&pool, group);
	return code;
}

/* Join task @i, like skua_task_join(). */
static inline void workers_join(unsigned i)
{
	struct task_joiner joiner;

	if (task_state_transition_to_joined(task_state(&tasks[i])))
		return;
	explore_assert(task_state_transition_to_claimed(task_state(&tasks[i]),
							true) == 0);
	atomic_init(&joiner.done, 0);
	tasks[i].end.joiner = &joiner;
	if (task_state_transition_to_ended_by(task_state(&tasks[i]),
					      TASK_END_THREAD))
		task_joiner_wait(&joiner);
}

static inline void workers_shut_down(void)
{
	pool_close(&pool);
	pool_wait_drained(&pool, UINT64_MAX);
	pool_stop(&pool);
}

static inline void workers_run_0(void)
{
	loop_run(&workers[0]);
}

static inline void workers_run_1(void)
{
	loop_run(&workers[1]);
}

#if WORKERS > 2
static inline void workers_run_2(void)
{
	loop_run(&workers[2]);
}
#endif

#endif
