/* SPDX-License-Identifier: MIT */
/* worker_memory.c - see worker_memory.h */
#include "core/runtime/worker_memory.h"

#include <errno.h>

#include "core/loop/worker.h"

/* Its queue is behind it. */
struct member {
	struct forks forks; /* first: a place of a worker's is its member */
	struct area_samples samples;
	struct worker worker;
};

static size_t member_bytes(const struct config *config)
{
	return sizeof(struct member) + local_queue_size(config->queue_capacity);
}

static size_t guests_bytes(const struct config *config)
{
	return TEAM_GUESTS * sizeof(struct forks) +
	       (TEAM_GUESTS + config->workers) * sizeof(struct forks *) +
	       config->workers * sizeof(struct worker *);
}

/* ---- allocating ------------------------------------------------------------ */

static int allocate_guests(struct members *members, struct pool *pool,
			   const struct config *config)
{
	struct forks *guests = memory_alloc(config->allocator, CACHE_PAIR, 1,
					    guests_bytes(config));
	struct forks **forks;

	if (!guests)
		return -ENOMEM;
	members->guests = guests;
	forks = (struct forks **)(guests + TEAM_GUESTS);
	for (unsigned i = 0; i < TEAM_GUESTS; i++)
		forks[config->workers + i] = &guests[i];
	pool->team.forks = forks;
	pool->workers =
		(struct worker **)(forks + config->workers + TEAM_GUESTS);
	return 0;
}

static int allocate_workers(struct members *members, struct pool *pool,
			    const struct config *config)
{
	for (unsigned i = 0; i < config->workers; i++) {
		struct member *member = arena_alloc(
			arenas_of(&members->arenas, i), member_bytes(config));

		if (!member)
			return -ENOMEM;
		pool->team.forks[i] = &member->forks;
		pool->workers[i] = &member->worker;
	}
	return 0;
}

static int map_job_slots(struct members *members, const struct config *config)
{
	struct job_slots *slots = &members->job_slots;
	int code = job_slots_map(slots, config->workers + TEAM_GUESTS);
	int saved = errno; /* the library never sets it */

	for (unsigned i = 0; !code && i < config->workers; i++) {
		int node = arenas_of(&members->arenas, i)->wanted.node;

		/* What is refused is told of the worker's other memory. */
		if (node != NODE_MEMORY_ANY)
			node_memory_prefer(job_slots_of(slots, i),
					   job_slots_place_bytes(slots), node);
	}
	errno = saved;
	return code;
}

int worker_memory_allocate(struct members *members, struct pool *pool,
			   const struct config *config,
			   const struct machine *machine)
{
	int code = arenas_make(&members->arenas, config, machine);

	if (!code)
		code = allocate_guests(members, pool, config);
	if (!code)
		code = allocate_workers(members, pool, config);
	return code ? code : map_job_slots(members, config);
}

/* ---- the rest -------------------------------------------------------------- */

static struct member *member_of(const struct pool *pool, unsigned i)
{
	return (struct member *)pool->team.forks[i];
}

void worker_memory_init(struct members *members, struct pool *pool,
			const struct config *config)
{
	const struct job_slots *slots = &members->job_slots;
	unsigned workers = config->workers;

	for (unsigned i = 0; i < workers + TEAM_GUESTS; i++)
		forks_init(pool->team.forks[i], pool, i, job_slots_of(slots, i),
			   slots->count, workers > 1);
	for (unsigned i = 0; i < workers; i++) {
		struct worker *worker = pool->workers[i];
		struct local_queue *queue = (struct local_queue *)(worker + 1);

		local_queue_init(queue, config->queue_capacity, 0);
		worker_init(worker, pool, i, queue);
		worker->area.samples = (uintptr_t)&member_of(pool, i)->samples;
		worker->slab.slab = arenas_slab_of(&members->arenas, i);
	}
}

static void free_worker(struct members *members, struct pool *pool, unsigned i,
			const struct config *config)
{
	struct worker *worker = pool->workers[i];

	if (!worker)
		return;
	if (worker->pool) /* it was initialised */
		worker_destroy(worker);
	forks_destroy(pool->team.forks[i]);
	arena_free(arenas_of(&members->arenas, i), pool->team.forks[i],
		   member_bytes(config));
}

void worker_memory_free(struct members *members, struct pool *pool,
			const struct config *config)
{
	struct forks *guests = members->guests;

	for (unsigned i = 0; guests && i < config->workers; i++)
		free_worker(members, pool, i, config);
	for (unsigned i = 0; guests && i < TEAM_GUESTS; i++)
		forks_destroy(&guests[i]);
	memory_free(config->allocator, guests, CACHE_PAIR, 1,
		    guests_bytes(config));
	arenas_free(&members->arenas);
	job_slots_unmap(&members->job_slots);
}
