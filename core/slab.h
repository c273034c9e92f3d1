/* SPDX-License-Identifier: MIT */
/**
 * slab.h - blocks of one size for tasks that the library makes itself (L2)
 *
 * Each worker keeps a few free blocks for itself; the rest is in one list
 * under a lock, to which a worker returns a batch when it has too many, and
 * from which outside threads take. Memory comes in chunks, and goes back when
 * the runtime is destroyed.
 */
#ifndef SKUA_CORE_SLAB_H
#define SKUA_CORE_SLAB_H

#include <pthread.h>

#include "core/memory.h"

#define SLAB_BLOCK_BYTES 128u

struct slab_block {
	struct slab_block *next;
};

struct slab {
	const struct skua_allocator *allocator;
	pthread_mutex_t lock;
	/* Under the lock. */
	struct slab_block *free;
	struct slab_block *chunks;
};

/* A worker's own free blocks. */
struct slab_cache {
	struct slab_block *free;
	unsigned count;
};

void slab_init(struct slab *slab, const struct skua_allocator *allocator);

/* slab_destroy - give all chunks back; no block is in use */
void slab_destroy(struct slab *slab);

/* slab_take - a block; @cache is the calling worker's, or NULL; NULL if there
 * is no memory */
void *slab_take(struct slab *slab, struct slab_cache *cache);

/* slab_give - take a block back; @cache is the calling worker's, or NULL */
void slab_give(struct slab *slab, struct slab_cache *cache, void *block);

#endif
