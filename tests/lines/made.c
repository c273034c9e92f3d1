/* SPDX-License-Identifier: MIT */
/* made.c - see made.h */
#include "tests/lines/made.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/loop/current.h"
#include "core/loop/loop.h"
#include "core/loop/schedule.h"
#include "core/loop/work.h"
#include "core/task/task.h"
#include "tests/near.h"

enum { MEMORY_BYTES = 48 << 20, CAPACITY = 64, SLOTS = 64, NODE_WORKERS = 128 };

/* The memory of a worker. */
struct member {
	struct fork_join fork_join;
	struct worker worker;
	alignas(CACHE_PAIR) unsigned char ring[sizeof(struct local_queue) +
					       CAPACITY * sizeof(atomic_ptr)];
	alignas(CACHE_PAIR) atomic_ptr slots[SLOTS];
	alignas(CACHE_PAIR) struct timer_slot timers[TIMER_WHEEL_SLOTS_TOTAL];
};

/* The memory of the runtime. */
struct shared {
	struct pool pool;
	struct fork_join externals[TEAM_EXTERNALS];
	alignas(CACHE_PAIR) atomic_ptr slots[TEAM_EXTERNALS][SLOTS];
};

struct made made;

static struct {
	struct llc_groups groups;
	char *memory;
	size_t used;
	struct member *members;
	struct shared *shared;
	struct fork_join *places[IDLE_MAX_WORKERS + TEAM_EXTERNALS];
	struct worker *workers[IDLE_MAX_WORKERS];
	int actor;
} own;

static unsigned group_of(unsigned worker)
{
	return own.groups.places[worker].group;
}

static void *take(size_t count, size_t size)
{
	void *memory = own.memory + own.used;

	own.used += (count * size + CACHE_PAIR - 1) / CACHE_PAIR * CACHE_PAIR;
	if (own.used > MEMORY_BYTES)
		abort();
	return memory;
}

static void place(struct skua_cpu *cpu, unsigned size)
{
	cpu->llc = cpu->cpu / size;
	cpu->node = cpu->cpu / NODE_WORKERS;
}

static void make_groups(unsigned workers, unsigned size)
{
	unsigned nodes = (workers + NODE_WORKERS - 1) / NODE_WORKERS;

	near_make(&own.groups, workers, nodes, place, size);
}

static void take_memory(void)
{
	struct pool *pool;

	own.used = 0;
	own.shared = take(1, sizeof(*own.shared));
	pool = made.pool = &own.shared->pool;
	lines_own(own.shared, sizeof(*own.shared), LINES_ALL, 0);
	own.members = take(made.workers, sizeof(*own.members));
	pool->idle.by_group = take(made.groups, sizeof(*pool->idle.by_group));
	pool->idle.sleepers = take(made.workers, sizeof(*pool->idle.sleepers));
	pool->deadlines = take(made.groups, sizeof(*pool->deadlines));
	pool->map.lines = take(made.groups + 1, sizeof(*pool->map.lines));
	pool->inject = take(made.groups, sizeof(*pool->inject));
	pool->drivers = take(made.groups, sizeof(*pool->drivers));
	pool->sentinel.sights =
		take(made.workers, sizeof(*pool->sentinel.sights));
	lines_own(pool->sentinel.sights,
		  made.workers * sizeof(*pool->sentinel.sights), LINES_ALL, 0);
	for (unsigned i = 0; i < made.workers; i++) {
		lines_own(&own.members[i], sizeof(*own.members), LINES_WORKER,
			  i);
		lines_own(&pool->idle.sleepers[i], sizeof(*pool->idle.sleepers),
			  LINES_WORKER, i);
	}
	for (unsigned g = 0; g < made.groups; g++) {
		lines_own(&pool->idle.by_group[g], sizeof(*pool->idle.by_group),
			  LINES_GROUP, g);
		lines_own(&pool->deadlines[g], sizeof(*pool->deadlines),
			  LINES_GROUP, g);
		lines_own(&pool->map.lines[g], sizeof(*pool->map.lines),
			  LINES_GROUP, g);
		lines_own(&pool->inject[g], sizeof(*pool->inject), LINES_GROUP,
			  g);
		lines_own(&pool->drivers[g], sizeof(*pool->drivers),
			  LINES_GROUP, g);
	}
	lines_own(&pool->map.lines[made.groups], sizeof(*pool->map.lines),
		  LINES_ALL, 0);
}

void made_begin(unsigned workers, unsigned size)
{
	own.memory = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (own.memory == MAP_FAILED)
		abort();
	make_groups(workers, size);
	made = (struct made){ .workers = workers,
			      .groups = own.groups.count,
			      .actor = workers / 2 };
	made.near = own.groups.groups[group_of(made.actor)].workers[1];
	made.far = workers - 1;
	lines_reset(own.memory, MEMORY_BYTES);
}

void made_end(void)
{
	munmap(own.memory, MEMORY_BYTES);
	llc_groups_free(&own.groups);
}

static void init_pool(struct pool *pool)
{
	struct config config = {
		.workers = made.workers,
		.tuning = { .steal_attempts = 4,
			    .steal_max = 32,
			    .steal_max_far = 1,
			    .far_samples = 2,
			    .far_delay_ns = 5000,
			    .spin_ns = TUNING_SPIN_MEASURED,
			    .lifo_delay_ns = 100000,
			    .max_queued = TUNING_QUEUED_UNBOUNDED },
		.placement = { .binding = SKUA_BOUND_CACHE },
	};

	pool->workers = own.workers;
	pool->team.members = own.places;
	for (unsigned i = 0; i < made.workers; i++) {
		own.workers[i] = &own.members[i].worker;
		own.places[i] = &own.members[i].fork_join;
	}
	for (unsigned i = 0; i < TEAM_EXTERNALS; i++)
		own.places[made.workers + i] = &own.shared->externals[i];
	if (pool_init(pool, &config, &own.groups, NULL) != 0)
		abort();
}

void made_reset(void)
{
	lines_watch(false);
	memset(own.memory, 0, own.used);
	take_memory();
	init_pool(made.pool);
	for (unsigned i = 0; i < made.workers + TEAM_EXTERNALS; i++) {
		fork_join_init(
			own.places[i], &made.pool->team, i,
			i < made.workers ? own.members[i].slots
					 : own.shared->slots[i - made.workers],
			SLOTS, true,
			i < made.workers
				? &own.workers[i]->area.counters.jobs_stolen
				: &made.pool->telemetry.area
					   .external_jobs_stolen[i -
								 made.workers]);
		/* The slots are no mapping. */
		own.places[i]->guarded = true;
	}
	for (unsigned i = 0; i < made.workers; i++) {
		struct local_queue *queue = (void *)own.members[i].ring;

		local_queue_init(queue, CAPACITY, 0);
		worker_init(own.workers[i], made.pool, i, queue,
			    own.members[i].timers);
	}
	lines_watch(true);
}

void made_act(int i)
{
	own.actor = i;
	current_worker = i == MADE_OUTSIDE ? NULL : own.workers[i];
}

void made_park(unsigned i)
{
	struct idle *idle = &made.pool->idle;

	idle_park_begin(idle, i, false);
	atomic_store_relaxed(&idle->sleepers[i].parker.state, PARKER_PARKED);
}

void made_park_others(void)
{
	for (unsigned i = 0; i < made.workers; i++) {
		if (i != made.actor)
			made_park(i);
	}
	sentinel_enter(own.workers[made.near]);
}

void made_run(struct skua_task *task)
{
	made_act((int)made.actor);
	if (task_state_transition_to_spawned(task_state(task)) != 0)
		abort();
	task->pool = made.pool;
	/* One that no worker polls keeps the pool from being drained. */
	counter_add_owner(&current_worker->area.counters.tasks_spawned, 2);
	work_schedule_owner(current_worker, task);
	loop_run(own.workers[made.actor]);
	lines_watch(false);
	atomic_store_relaxed(&made.pool->stopping, 0);
	lines_watch(true);
}

struct lines made_count(void)
{
	unsigned group = own.actor == MADE_OUTSIDE
				 ? idle_group_here(&made.pool->idle)
				 : group_of((unsigned)own.actor);

	return lines_end(own.actor, group, group_of);
}

void lines_slept(void)
{
	made.slept = made_count();
	/* A line that is written only at the end counts as constant. */
	lines_watch(false);
	pool_stop(made.pool);
	lines_watch(true);
}
