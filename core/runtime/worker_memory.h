/* SPDX-License-Identifier: MIT */
/**
 * worker_memory.h - the memory of a runtime's workers and external threads
 *
 * A worker, its fork_join and its queue are one piece of memory on its node. Its job
 * slots are on its node as well. The arrays that point to them are ordinary memory.
 */
#ifndef SKUA_CORE_RUNTIME_WORKER_MEMORY_H
#define SKUA_CORE_RUNTIME_WORKER_MEMORY_H

#include "core/runtime/node_allocs.h"
#include "core/fork_join/job_slots.h"
#include "core/loop/pool.h"

struct worker_memory {
	struct node_allocs allocs;
	struct job_slots job_slots;
	/* Of TEAM_EXTERNALS external threads. The same piece of memory then has
	 * team.members and pool.workers. */
	struct fork_join *externals;
};

/**
 * worker_memory_allocate - allocate the workers of @pool and the members of its team
 * @memory: zeroed; to be given to worker_memory_free(), also on failure
 * @machine: NULL: nothing is known
 *
 * Return: 0; -ENOMEM.
 */
int worker_memory_allocate(struct worker_memory *memory, struct pool *pool,
			   const struct config *config,
			   const struct machine *machine);

/* worker_memory_init - initialise them; all else of the pool is initialised */
void worker_memory_init(struct worker_memory *memory, struct pool *pool,
			const struct config *config);

void worker_memory_free(struct worker_memory *memory, struct pool *pool,
			const struct config *config);

#endif
