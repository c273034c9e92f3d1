/* SPDX-License-Identifier: MIT */
/*
 * depot.c - magazines and a depot
 *
 * After J. Bonwick and J. Adams, "Magazines and Vmem" (USENIX 2001).
 */
#include "bench/workloads/depot.h"

#include <stdalign.h>
#include <stdlib.h>

#define BLOCK_ALIGN 64

struct depot_chunk {
	alignas(BLOCK_ALIGN) struct depot_chunk *next;
};

void depot_init(struct depot *depot, size_t block_bytes)
{
	*depot = (struct depot){ .block_bytes = block_bytes };
	pthread_mutex_init(&depot->lock, NULL);
}

void depot_destroy(struct depot *depot)
{
	while (depot->chunks != NULL) {
		struct depot_chunk *chunk = depot->chunks;

		depot->chunks = chunk->next;
		free(chunk);
	}
	pthread_mutex_destroy(&depot->lock);
}

void depot_cache_init(struct depot_cache *cache, struct depot *depot)
{
	*cache = (struct depot_cache){ .depot = depot };
}

static void push(struct depot_magazine *magazine, struct depot_block *block)
{
	block->next = magazine->first;
	magazine->first = block;
	magazine->count++;
}

/* A magazine's worth of new memory. */
static struct depot_chunk *new_chunk(const struct depot *depot)
{
	size_t bytes = sizeof(struct depot_chunk) +
		       DEPOT_MAGAZINE_BLOCKS * depot->block_bytes;

	return aligned_alloc(BLOCK_ALIGN, bytes);
}

static struct depot_magazine carve(const struct depot *depot,
				   struct depot_chunk *chunk)
{
	struct depot_magazine magazine = { NULL, 0 };
	char *start = (char *)(chunk + 1);

	for (size_t i = DEPOT_MAGAZINE_BLOCKS; i-- > 0;)
		push(&magazine, (void *)(start + i * depot->block_bytes));
	return magazine;
}

/* A full magazine from the depot, else of new memory, else an empty one. */
static struct depot_magazine full_magazine(struct depot *depot)
{
	struct depot_magazine magazine = { NULL, 0 };
	struct depot_chunk *chunk;

	pthread_mutex_lock(&depot->lock);
	if (depot->full != NULL) {
		struct depot_parcel *parcel = depot->full;

		depot->full = parcel->next;
		magazine.first = &parcel->block;
		magazine.count = DEPOT_MAGAZINE_BLOCKS;
	} else if ((chunk = new_chunk(depot)) != NULL) {
		chunk->next = depot->chunks;
		depot->chunks = chunk;
		magazine = carve(depot, chunk);
	}
	pthread_mutex_unlock(&depot->lock);
	return magazine;
}

static void send_to_depot(struct depot *depot, struct depot_magazine magazine)
{
	struct depot_parcel *parcel = (struct depot_parcel *)magazine.first;

	pthread_mutex_lock(&depot->lock);
	parcel->next = depot->full;
	depot->full = parcel;
	pthread_mutex_unlock(&depot->lock);
}

void *depot_take(struct depot_cache *cache)
{
	struct depot_block *block;

	if (cache->current.count == 0) {
		if (cache->spare.count == 0)
			cache->spare = full_magazine(cache->depot);
		cache->current = cache->spare;
		cache->spare = (struct depot_magazine){ NULL, 0 };
	}
	block = cache->current.first;
	if (block == NULL)
		return NULL;
	cache->current.first = block->next;
	cache->current.count--;
	return block;
}

void depot_give(struct depot_cache *cache, void *block)
{
	if (cache->current.count == DEPOT_MAGAZINE_BLOCKS) {
		if (cache->spare.count != 0)
			send_to_depot(cache->depot, cache->spare);
		cache->spare = cache->current;
		cache->current = (struct depot_magazine){ NULL, 0 };
	}
	push(&cache->current, block);
}
