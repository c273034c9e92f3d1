/* SPDX-License-Identifier: MIT */
/**
 * work_pool.h - the parts of a search that a rank has to give away
 *
 * Fibers of a rank search. A searcher keeps its work to itself, but gives parts of it to
 * the pool while others want some: searchers of this rank that wait, and other ranks that
 * have asked. A rank is idle when the pool is empty and all its searchers wait.
 */
#ifndef SKUA_BENCH_MPI_WORK_POOL_H
#define SKUA_BENCH_MPI_WORK_POOL_H

#include <skua/skua.h>

#include "bench/mpi/part_list.h"

/**
 * struct work_pool - parts, and how many are wanted; the fields are private
 *
 * All fields are guarded by @lock, except @missing.
 */
struct work_pool {
	struct skua_mutex lock;
	struct skua_condition more;
	struct part_list list;
	/* Set when the pool becomes idle, and when it has a part for a rank. */
	struct skua_event *changed;
	/* How many more parts are wanted than the pool has. Writers: holders of
	 * @lock. Readers: searchers, as a hint; all relaxed. */
	unsigned missing;
};

/* work_pool_init - make an empty pool of parts of @part_bytes for @searchers fibers.
 * @changed is borrowed. */
void work_pool_init(struct work_pool *pool, size_t part_bytes,
		    unsigned searchers, struct skua_event *changed);

/* work_pool_free - free the memory of a pool that no fiber uses any more */
void work_pool_free(struct work_pool *pool);

/* work_pool_wants - return whether a searcher should give a part away; a hint */
static inline bool work_pool_wants(const struct work_pool *pool)
{
	return __atomic_load_n(&pool->missing, __ATOMIC_RELAXED) != 0;
}

/* work_pool_put - add @count parts. Threads: fibers. Return: 0; -ENOMEM */
int work_pool_put(struct work_pool *pool, const void *parts, size_t count);

/* work_pool_take - take a part, and wait for it; for searchers. Return: false if the
 * search is over */
bool work_pool_take(struct work_pool *pool, void *part);

/* work_pool_ask - say that another rank wants @parts parts */
void work_pool_ask(struct work_pool *pool, unsigned parts);

/* work_pool_answer - take parts for a rank that has asked; see part_list_answer() */
int work_pool_answer(struct work_pool *pool, void *parts, unsigned wanted,
		     unsigned max);

/* work_pool_waiting - return how many searchers wait for a part */
unsigned work_pool_waiting(struct work_pool *pool);

/* work_pool_idle - return whether the pool is empty, and all searchers wait or the search
 * is over */
bool work_pool_idle(struct work_pool *pool);

/* work_pool_end - end the search: all searchers return from work_pool_take() */
void work_pool_end(struct work_pool *pool);

#endif
