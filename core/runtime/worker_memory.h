/* SPDX-License-Identifier: MIT */
/**
 * worker_memory.h - the memory of a runtime's workers and external threads
 *
 * A worker, its place for jobs and its queue are one piece of memory of its node,
 * and so are its job slots. What tells where they are is shared, and ordinary.
 */
#ifndef SKUA_CORE_RUNTIME_WORKER_MEMORY_H
#define SKUA_CORE_RUNTIME_WORKER_MEMORY_H

#include "core/runtime/arenas.h"
#include "core/fork_join/job_slots.h"
#include "core/loop/pool.h"

struct worker_memory {
	struct arenas arenas;
	struct job_slots job_slots;
	/* The places of TEAM_EXTERNALS threads; behind them, in one piece, what the
	 * team knows the places by, and the pool the workers. */
	struct fork_join *externals;
};

/**
 * worker_memory_allocate - what @pool has of workers, and its team of places
 * @memory: zeroed; to be given to worker_memory_free(), also on failure
 * @machine: NULL: nothing is known
 *
 * Return: 0; -ENOMEM.
 */
int worker_memory_allocate(struct worker_memory *memory, struct pool *pool,
			   const struct config *config,
			   const struct machine *machine);

/* worker_memory_init - workers and places, of a pool that is initialised otherwise */
void worker_memory_init(struct worker_memory *memory, struct pool *pool,
			const struct config *config);

void worker_memory_free(struct worker_memory *memory, struct pool *pool,
			const struct config *config);

#endif
