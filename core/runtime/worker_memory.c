/* SPDX-License-Identifier: MIT */
/* worker_memory.c - see worker_memory.h */
#include "core/runtime/worker_memory.h"

#include <errno.h>
#include <sys/mman.h>

#include "core/fiber/fiber_stacks.h"
#include "core/loop/worker.h"

/* The memory of a worker. */
struct member {
	struct fork_join fork_join; /* first: free_worker() frees it */
	struct worker worker;
	struct local_queue queue;
};

/* The memory that a worker first writes to late, or never. The slots of its local queue
 * follow it. */
struct worker_late {
	struct area_samples samples;
	struct timer_slot timers[TIMER_WHEEL_SLOTS_TOTAL];
	struct fiber_stacks fiber_stacks;
	alignas(CACHE_PAIR) atomic_ptr queue[];
};

static size_t late_bytes(const struct config *config)
{
	return sizeof(struct worker_late) +
	       (config->queue_capacity * sizeof(atomic_ptr) + CACHE_PAIR - 1) /
		       CACHE_PAIR * CACHE_PAIR;
}

static size_t externals_bytes(const struct config *config)
{
	return TEAM_EXTERNALS * sizeof(struct fork_join) +
	       (TEAM_EXTERNALS + config->workers) * sizeof(struct fork_join *) +
	       config->workers *
		       (sizeof(struct worker *) + sizeof(struct worker_late *));
}

/* ---- allocating ------------------------------------------------------------ */

static int allocate_externals(struct worker_memory *memory, struct pool *pool,
			      const struct config *config)
{
	struct fork_join *externals = memory_alloc(
		config->allocator, CACHE_PAIR, 1, externals_bytes(config));
	struct fork_join **members;

	if (!externals)
		return -ENOMEM;
	memory->externals = externals;
	members = (struct fork_join **)(externals + TEAM_EXTERNALS);
	for (unsigned i = 0; i < TEAM_EXTERNALS; i++)
		members[config->workers + i] = &externals[i];
	pool->team.members = members;
	pool->workers =
		(struct worker **)(members + config->workers + TEAM_EXTERNALS);
	memory->late = (struct worker_late **)(pool->workers + config->workers);
	return 0;
}

static int allocate_workers(struct worker_memory *memory, struct pool *pool,
			    const struct config *config)
{
	for (unsigned i = 0; i < config->workers; i++) {
		struct member *member = node_alloc_bytes(
			node_allocs_of(&memory->allocs, i), sizeof(*member));

		if (!member)
			return -ENOMEM;
		pool->team.members[i] = &member->fork_join;
		pool->workers[i] = &member->worker;
	}
	return 0;
}

/* allocate_late - take the late memory from the extents of node_alloc if those are mapped
 * anyway. Otherwise count its bytes in *@behind: it follows the job slots. */
static int allocate_late(struct worker_memory *memory,
			 const struct config *config, size_t *behind)
{
	*behind = 0;
	for (unsigned i = 0; i < config->workers; i++) {
		struct node_alloc *alloc = node_allocs_of(&memory->allocs, i);

		if (!alloc->mapped) {
			*behind += late_bytes(config);
			continue;
		}
		memory->late[i] = node_alloc_bytes(alloc, late_bytes(config));
		if (!memory->late[i])
			return -ENOMEM;
	}
	return 0;
}

static void place_late(struct worker_memory *memory,
		       const struct config *config)
{
	char *next = job_slots_behind(&memory->job_slots);

	for (unsigned i = 0; i < config->workers; i++) {
		if (memory->late[i])
			continue;
		memory->late[i] = (struct worker_late *)next;
		next += late_bytes(config);
	}
}

/* map_job_slots - map the job slots, and @behind bytes behind them: to map and unmap one
 * piece of memory takes 2 us less than two, and 8 us less if threads ran on other CPUs */
static int map_job_slots(struct worker_memory *memory,
			 const struct config *config, size_t behind)
{
	struct job_slots *slots = &memory->job_slots;
	int code =
		job_slots_map(slots, config->workers + TEAM_EXTERNALS, behind);
	int saved = errno; /* the library never sets it */

	for (unsigned i = 0; !code && i < config->workers; i++) {
		int node = node_allocs_of(&memory->allocs, i)->wanted.node;

		/* A failure is ignored here: it is reported for the worker's other
		 * memory. */
		if (node != NODE_MEMORY_ANY)
			node_memory_prefer(job_slots_of(slots, i),
					   job_slots_place_bytes(slots), node);
	}
	errno = saved;
	return code;
}

int worker_memory_allocate(struct worker_memory *memory, struct pool *pool,
			   const struct config *config,
			   const struct machine *machine)
{
	int code = node_allocs_make(&memory->allocs, config, machine);
	size_t behind;

	if (!code)
		code = allocate_externals(memory, pool, config);
	if (!code)
		code = allocate_workers(memory, pool, config);
	if (!code)
		code = allocate_late(memory, config, &behind);
	if (!code)
		code = map_job_slots(memory, config, behind);
	if (!code)
		place_late(memory, config);
	return code;
}

/* ---- initialising and freeing ---------------------------------------------- */

/* jobs_stolen - return the counter of stolen jobs of member @i of the team */
static uint64_t *jobs_stolen(struct pool *pool, unsigned i)
{
	return i < pool->worker_count
		       ? &pool->workers[i]->area.counters.jobs_stolen
		       : &pool->telemetry.area
				  .external_jobs_stolen[i - pool->worker_count];
}

void worker_memory_init(struct worker_memory *memory, struct pool *pool,
			const struct config *config)
{
	const struct job_slots *slots = &memory->job_slots;
	unsigned workers = config->workers;

	for (unsigned i = 0; i < workers + TEAM_EXTERNALS; i++)
		fork_join_init(pool->team.members[i], &pool->team, i,
			       job_slots_of(slots, i), slots->count,
			       workers > 1, jobs_stolen(pool, i));
	for (unsigned i = 0; i < workers; i++) {
		struct worker *worker = pool->workers[i];
		struct local_queue *queue =
			&SKUA_CONTAINER_OF(worker, struct member, worker)
				 ->queue;

		local_queue_init_apart(queue, memory->late[i]->queue,
				       config->queue_capacity);
		worker_init(worker, pool, i, queue, memory->late[i]->timers);
		worker->area.samples = (uintptr_t)&memory->late[i]->samples;
		worker->slab.slab = node_allocs_slab_of(&memory->allocs, i);
		worker->stacks = node_allocs_stacks_of(&memory->allocs, i);
		worker->fiber_stacks = &memory->late[i]->fiber_stacks;
	}
}

static void free_worker(struct worker_memory *memory, struct pool *pool,
			unsigned i)
{
	struct worker *worker = pool->workers[i];

	if (!worker)
		return;
	if (worker->pool) /* worker_init() was called */
		worker_destroy(worker);
	fork_join_destroy(pool->team.members[i]);
	node_alloc_free(node_allocs_of(&memory->allocs, i),
			pool->team.members[i], sizeof(struct member));
}

void worker_memory_free(struct worker_memory *memory, struct pool *pool,
			const struct config *config)
{
	struct fork_join *externals = memory->externals;

	for (unsigned i = 0; externals && i < config->workers; i++)
		free_worker(memory, pool, i);
	for (unsigned i = 0; externals && i < TEAM_EXTERNALS; i++)
		fork_join_destroy(&externals[i]);
	memory_free(config->allocator, externals, CACHE_PAIR, 1,
		    externals_bytes(config));
	node_allocs_free(&memory->allocs);
	job_slots_unmap(&memory->job_slots);
}
