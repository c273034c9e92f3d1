/* SPDX-License-Identifier: MIT */
/**
 * worker_memory.h - the memory of a runtime's workers and external threads
 *
 * A worker, its fork_join and its local queue are one piece of memory on the worker's
 * node. Its job slots, its samples and the slots of its timers and of its local queue are on
 * that node as well. The latter three take 29 KB, and a worker may never write to most of
 * them. So they are mapped memory, in which the kernel provides a page when it is first
 * written to. The user's allocator would have to provide all of it at once. The arrays that
 * point to these pieces are ordinary memory.
 *
 * Price: a worker of a new runtime takes three or four page faults, of 2 us each, when it
 * first polls and parks. From the C library's heap, the second runtime of a process would
 * get pages that are there already.
 */
#ifndef SKUA_CORE_RUNTIME_WORKER_MEMORY_H
#define SKUA_CORE_RUNTIME_WORKER_MEMORY_H

#include "core/runtime/node_allocs.h"
#include "core/fork_join/job_slots.h"
#include "core/loop/pool.h"

struct worker_late;

struct worker_memory {
	struct node_allocs allocs;
	struct job_slots job_slots;
	/* The samples, timer slots and queue slots of each worker. */
	struct worker_late **late; /* behind the job slots, or in the extents
				    * of node_alloc if those are mapped anyway */
	/* The fork_joins of TEAM_EXTERNALS external threads. team.members and
	 * pool.workers follow in the same piece of memory. */
	struct fork_join *externals;
};

/**
 * worker_memory_allocate - allocate the workers of @pool and the members of its team
 * @memory: zeroed; the caller releases it with worker_memory_free(), also after a failure
 * @machine: NULL: the topology is unknown
 *
 * Return: 0; -ENOMEM.
 */
int worker_memory_allocate(struct worker_memory *memory, struct pool *pool,
			   const struct config *config,
			   const struct machine *machine);

/* worker_memory_init - initialise them; the rest of the pool must be initialised */
void worker_memory_init(struct worker_memory *memory, struct pool *pool,
			const struct config *config);

void worker_memory_free(struct worker_memory *memory, struct pool *pool,
			const struct config *config);

#endif
