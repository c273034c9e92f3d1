/* SPDX-License-Identifier: MIT */
/**
 * block_pool.h - allocate blocks of one size on one worker and free them on another
 *
 * Each worker has a cache of two magazines (stacks of free blocks), so that most calls
 * touch only the worker's own memory. When both are full, one goes to the pool; when
 * both are empty, the worker takes a full one from the pool. Memory stays bounded
 * although blocks move between workers.
 *
 * Threads: a cache belongs to one thread at a time; all threads share the pool.
 */
#ifndef SKUA_BENCH_WORKLOADS_BLOCK_POOL_H
#define SKUA_BENCH_WORKLOADS_BLOCK_POOL_H

#include <pthread.h>
#include <stddef.h>

#define BLOCK_POOL_MAGAZINE_BLOCKS 64

struct block_pool_block {
	struct block_pool_block *next;
};

struct block_pool_magazine {
	struct block_pool_block *first;
	unsigned count;
};

/* A full magazine in the pool; its first block holds the link. */
struct block_pool_parcel {
	struct block_pool_block block;
	struct block_pool_parcel *next;
};

struct block_pool {
	size_t block_bytes;
	pthread_mutex_t lock;
	struct block_pool_parcel *full;  /* guarded by @lock */
	struct block_pool_chunk *chunks; /* guarded by @lock: all memory */
};

struct block_cache {
	struct block_pool *pool;
	struct block_pool_magazine current; /* take from and give to this one */
	struct block_pool_magazine spare;   /* full or empty */
};

/* block_pool_init - make a pool; @block_bytes is a multiple of 64, the alignment of the
 * blocks */
void block_pool_init(struct block_pool *pool, size_t block_bytes);

/* block_pool_destroy - free all blocks, including those in caches and in use */
void block_pool_destroy(struct block_pool *pool);

/* block_cache_init - make an empty cache */
void block_cache_init(struct block_cache *cache, struct block_pool *pool);

/* block_cache_take - allocate a block with undefined contents; NULL: no memory */
void *block_cache_take(struct block_cache *cache);

/* block_cache_give - free a block, which any cache of the same pool may have taken */
void block_cache_give(struct block_cache *cache, void *block);

#endif
