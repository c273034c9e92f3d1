/* SPDX-License-Identifier: MIT */
/**
 * slab.h - blocks of one size for tasks that the library makes itself
 *
 * A slab has the memory of one node_alloc, for example that of a NUMA node.
 * Each worker keeps a few free blocks of its own slab in a cache. The other
 * free blocks are in one list under a lock. A worker with too many free blocks
 * returns a batch to that list; workers with an empty cache and outside threads
 * take from it. A worker returns blocks of other slabs in batches, so that a
 * block is only handed out by the slab that has its memory. Memory is allocated
 * in chunks, which are freed when the runtime is destroyed.
 */
#ifndef SKUA_CORE_TASK_SLAB_H
#define SKUA_CORE_TASK_SLAB_H

#include <pthread.h>

#include "core/os/node_alloc.h"

#define SLAB_BLOCK_BYTES 128u

struct slab_block {
	struct slab_block *next;
};

struct slab {
	pthread_mutex_t lock;
	/* Guarded by the lock. */
	struct node_alloc *alloc;
	struct slab_block *free;
	struct slab_block *chunks;
};

/* A worker's cache of free blocks. Used by that worker alone. */
struct slab_cache {
	struct slab *slab; /* the slab of the free blocks; constant */
	struct slab_block *free;
	unsigned count;
	unsigned away_count;
	struct slab *away_slab; /* another slab, and blocks to return to it */
	struct slab_block *away;
};

/* slab_init - make an empty slab with the memory of @alloc, which must outlive
 * it */
void slab_init(struct slab *slab, struct node_alloc *alloc);

/* slab_destroy - free all chunks; no block may be in use */
void slab_destroy(struct slab *slab);

/* slab_take - take a block, with undefined contents; @cache: that of the
 * calling worker, whose slab is @slab, or NULL. Return: NULL: no memory. */
void *slab_take(struct slab *slab, struct slab_cache *cache);

/* slab_give - return a block of @slab; @cache: that of the calling worker, of
 * any slab, or NULL */
void slab_give(struct slab *slab, struct slab_cache *cache, void *block);

#endif
