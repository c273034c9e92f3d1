/* SPDX-License-Identifier: MIT */
/*
 * block_pool.c - see block_pool.h: magazines and a pool
 *
 * After J. Bonwick and J. Adams, "Magazines and Vmem" (USENIX 2001).
 */
#include "bench/workloads/block_pool.h"

#include <stdalign.h>
#include <stdlib.h>

#define BLOCK_ALIGN 64

struct block_pool_chunk {
	alignas(BLOCK_ALIGN) struct block_pool_chunk *next;
};

void block_pool_init(struct block_pool *pool, size_t block_bytes)
{
	*pool = (struct block_pool){ .block_bytes = block_bytes };
	pthread_mutex_init(&pool->lock, NULL);
}

void block_pool_destroy(struct block_pool *pool)
{
	while (pool->chunks != NULL) {
		struct block_pool_chunk *chunk = pool->chunks;

		pool->chunks = chunk->next;
		free(chunk);
	}
	pthread_mutex_destroy(&pool->lock);
}

void block_cache_init(struct block_cache *cache, struct block_pool *pool)
{
	*cache = (struct block_cache){ .pool = pool };
}

static void push(struct block_pool_magazine *magazine,
		 struct block_pool_block *block)
{
	block->next = magazine->first;
	magazine->first = block;
	magazine->count++;
}

/* Allocate memory for one full magazine. */
static struct block_pool_chunk *new_chunk(const struct block_pool *pool)
{
	size_t bytes = sizeof(struct block_pool_chunk) +
		       BLOCK_POOL_MAGAZINE_BLOCKS * pool->block_bytes;

	return aligned_alloc(BLOCK_ALIGN, bytes);
}

static struct block_pool_magazine carve(const struct block_pool *pool,
					struct block_pool_chunk *chunk)
{
	struct block_pool_magazine magazine = { NULL, 0 };
	char *start = (char *)(chunk + 1);

	for (size_t i = BLOCK_POOL_MAGAZINE_BLOCKS; i-- > 0;)
		push(&magazine, (void *)(start + i * pool->block_bytes));
	return magazine;
}

/* Return a full magazine from the pool or from new memory; an empty one if
 * there is no memory. */
static struct block_pool_magazine full_magazine(struct block_pool *pool)
{
	struct block_pool_magazine magazine = { NULL, 0 };
	struct block_pool_chunk *chunk;

	pthread_mutex_lock(&pool->lock);
	if (pool->full != NULL) {
		struct block_pool_parcel *parcel = pool->full;

		pool->full = parcel->next;
		magazine.first = &parcel->block;
		magazine.count = BLOCK_POOL_MAGAZINE_BLOCKS;
	} else if ((chunk = new_chunk(pool)) != NULL) {
		chunk->next = pool->chunks;
		pool->chunks = chunk;
		magazine = carve(pool, chunk);
	}
	pthread_mutex_unlock(&pool->lock);
	return magazine;
}

static void give_to_pool(struct block_pool *pool,
			 struct block_pool_magazine magazine)
{
	struct block_pool_parcel *parcel =
		(struct block_pool_parcel *)magazine.first;

	pthread_mutex_lock(&pool->lock);
	parcel->next = pool->full;
	pool->full = parcel;
	pthread_mutex_unlock(&pool->lock);
}

void *block_cache_take(struct block_cache *cache)
{
	struct block_pool_block *block;

	if (cache->current.count == 0) {
		if (cache->spare.count == 0)
			cache->spare = full_magazine(cache->pool);
		cache->current = cache->spare;
		cache->spare = (struct block_pool_magazine){ NULL, 0 };
	}
	block = cache->current.first;
	if (block == NULL)
		return NULL;
	cache->current.first = block->next;
	cache->current.count--;
	return block;
}

void block_cache_give(struct block_cache *cache, void *block)
{
	if (cache->current.count == BLOCK_POOL_MAGAZINE_BLOCKS) {
		if (cache->spare.count != 0)
			give_to_pool(cache->pool, cache->spare);
		cache->spare = cache->current;
		cache->current = (struct block_pool_magazine){ NULL, 0 };
	}
	push(&cache->current, block);
}
