/* SPDX-License-Identifier: MIT */
/**
 * depot.h - blocks of one size, taken by one worker and given back by another
 *
 * Each worker has a cache of two magazines, so that most calls touch only its
 * own memory. One full magazine too many goes to the depot, where those that
 * only take find it: memory stays bounded although blocks travel.
 *
 * Threads: a cache belongs to one thread at a time; the depot is shared.
 */
#ifndef SKUA_BENCH_WORKLOADS_DEPOT_H
#define SKUA_BENCH_WORKLOADS_DEPOT_H

#include <pthread.h>
#include <stddef.h>

#define DEPOT_MAGAZINE_BLOCKS 64

struct depot_block {
	struct depot_block *next;
};

struct depot_magazine {
	struct depot_block *first;
	unsigned count;
};

/* A full magazine in the depot: the link is in its first block. */
struct depot_parcel {
	struct depot_block block;
	struct depot_parcel *next;
};

struct depot {
	size_t block_bytes;
	pthread_mutex_t lock;
	struct depot_parcel *full;  /* under the lock */
	struct depot_chunk *chunks; /* under the lock: all memory */
};

struct depot_cache {
	struct depot *depot;
	struct depot_magazine current; /* take from and give to this one */
	struct depot_magazine spare;   /* full or empty */
};

/* depot_init - @block_bytes: a multiple of 64; blocks are so aligned */
void depot_init(struct depot *depot, size_t block_bytes);

/* depot_destroy - free all blocks, also those in caches or in use */
void depot_destroy(struct depot *depot);

/* depot_cache_init - make an empty cache */
void depot_cache_init(struct depot_cache *cache, struct depot *depot);

/* depot_take - a block with any contents; NULL: no memory */
void *depot_take(struct depot_cache *cache);

/* depot_give - the block may come from another cache of the depot */
void depot_give(struct depot_cache *cache, void *block);

#endif
