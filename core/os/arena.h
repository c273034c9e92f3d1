/* SPDX-License-Identifier: MIT */
/**
 * arena.h - where the memory of some workers comes from
 *
 * Of the user's allocator, if there is one; of a NUMA node, in extents from which
 * pieces are cut, and which go back all at once; or of the C library.
 */
#ifndef SKUA_CORE_OS_ARENA_H
#define SKUA_CORE_OS_ARENA_H

#include "core/base/memory.h"
#include "topology/node_memory.h"

struct arena_extent;

/* Used by one thread at a time. */
struct arena {
	const struct skua_allocator *allocator;
	struct node_memory wanted; /* and what of it the last extent lacks */
	bool mapped; /* it has extents, and not what others give */
	struct arena_extent *extents; /* the newest one first */
	char *free;
	size_t left;
	size_t bytes; /* of all extents */
};

/**
 * arena_init - without any memory
 * @allocator: the user's, whose memory is where it puts it; or NULL
 * @node: NODE_MEMORY_ANY: of no node
 * @huge: with large pages
 */
void arena_init(struct arena *arena, const struct skua_allocator *allocator,
		int node, bool huge);

/* arena_destroy - give the extents back, and with them all that is cut */
void arena_destroy(struct arena *arena);

/* arena_alloc - zeroed memory, aligned to CACHE_PAIR; NULL: there is none */
void *arena_alloc(struct arena *arena, size_t bytes);

/* arena_free - give it back, where that can be done; NULL is ignored */
void arena_free(struct arena *arena, void *memory, size_t bytes);

#endif
