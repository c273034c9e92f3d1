/* SPDX-License-Identifier: MIT */
/* slab.c - see slab.h */
#include "core/task/slab.h"

#include "core/base/atomic.h"

/* Blocks of a chunk. The first one is not handed out: it links the chunks. */
#define CHUNK_BLOCKS 64u
#define CHUNK_BYTES  (CHUNK_BLOCKS * SLAB_BLOCK_BYTES)
/* Blocks that move at once between a worker's cache and a slab. A cache keeps
 * at most twice as many. */
#define BATCH 32u

static void push(struct slab_block **list, struct slab_block *block)
{
	block->next = *list;
	*list = block;
}

static struct slab_block *pop(struct slab_block **list)
{
	struct slab_block *block = *list;

	if (block)
		*list = block->next;
	return block;
}

void slab_init(struct slab *slab, struct node_alloc *alloc)
{
	slab->alloc = alloc;
	pthread_mutex_init(&slab->lock, NULL);
	slab->free = NULL;
	slab->chunks = NULL;
}

void slab_destroy(struct slab *slab)
{
	struct slab_block *chunk;

	while ((chunk = pop(&slab->chunks)) != NULL)
		node_alloc_free(slab->alloc, chunk, CHUNK_BYTES);
	pthread_mutex_destroy(&slab->lock);
}

static void grow_locked(struct slab *slab)
{
	char *chunk = node_alloc_bytes(slab->alloc, CHUNK_BYTES);

	if (!chunk)
		return;
	push(&slab->chunks, (struct slab_block *)chunk);
	for (unsigned i = 1; i < CHUNK_BLOCKS; i++)
		push(&slab->free,
		     (struct slab_block *)(chunk + i * SLAB_BLOCK_BYTES));
}

static struct slab_block *take_locked(struct slab *slab)
{
	if (!slab->free)
		grow_locked(slab);
	return pop(&slab->free);
}

void *slab_take(struct slab *slab, struct slab_cache *cache)
{
	struct slab_block *block = cache ? pop(&cache->free) : NULL;

	if (block) {
		cache->count--;
		return block;
	}
	pthread_mutex_lock(&slab->lock);
	block = take_locked(slab);
	/* Fill the worker's cache, too, without new memory. */
	while (cache && slab->free && cache->count < BATCH) {
		push(&cache->free, pop(&slab->free));
		cache->count++;
	}
	pthread_mutex_unlock(&slab->lock);
	return block;
}

static void send_away(struct slab_cache *cache)
{
	struct slab *slab = cache->away_slab;

	pthread_mutex_lock(&slab->lock);
	while (cache->away)
		push(&slab->free, pop(&cache->away));
	pthread_mutex_unlock(&slab->lock);
	cache->away_count = 0;
}

/* Return a block to another slab, the one that has its memory, in batches. */
static void give_away(struct slab *slab, struct slab_cache *cache,
		      struct slab_block *block)
{
	if (cache->away_count > 0 && cache->away_slab != slab)
		send_away(cache);
	cache->away_slab = slab;
	push(&cache->away, block);
	if (++cache->away_count == BATCH)
		send_away(cache);
}

void slab_give(struct slab *slab, struct slab_cache *cache, void *block)
{
	if (cache && cache->slab != slab) {
		give_away(slab, cache, block);
		return;
	}
	if (cache && cache->count < 2 * BATCH) {
		push(&cache->free, block);
		cache->count++;
		return;
	}
	pthread_mutex_lock(&slab->lock);
	push(&slab->free, block);
	for (unsigned i = 0; cache && i < BATCH; i++) {
		push(&slab->free, pop(&cache->free));
		cache->count--;
	}
	pthread_mutex_unlock(&slab->lock);
}
