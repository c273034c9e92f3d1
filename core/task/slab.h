/* SPDX-License-Identifier: MIT */
/**
 * slab.h - blocks of one size for tasks that the library makes itself
 *
 * A slab has the memory of one node_alloc, as of a NUMA node. Each worker keeps a few
 * free blocks of its own slab for itself; the rest is in one list under a lock,
 * to which a worker returns a batch when it has too many, and from which outside
 * threads take. Blocks of other slabs it sends back, by the batch: a block is
 * only taken where its memory is. Memory comes in chunks, and goes back when the
 * runtime is destroyed.
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
	/* Under the lock. */
	struct node_alloc *alloc;
	struct slab_block *free;
	struct slab_block *chunks;
};

/* A worker's own free blocks. */
struct slab_cache {
	struct slab *slab; /* whose they are; constant */
	struct slab_block *free;
	unsigned count;
	unsigned away_count;
	struct slab *away_slab; /* one other, and its blocks */
	struct slab_block *away;
};

/* slab_init - the memory of @alloc, which lives longer */
void slab_init(struct slab *slab, struct node_alloc *alloc);

/* slab_destroy - give all chunks back; no block is in use */
void slab_destroy(struct slab *slab);

/* slab_take - a block; @cache is the calling worker's, of @slab, or NULL; NULL if
 * there is no memory */
void *slab_take(struct slab *slab, struct slab_cache *cache);

/* slab_give - take a block of @slab back; @cache is the calling worker's, of any
 * slab, or NULL */
void slab_give(struct slab *slab, struct slab_cache *cache, void *block);

#endif
