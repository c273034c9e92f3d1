/* SPDX-License-Identifier: MIT */
/* node_alloc.c - see node_alloc.h */
#include "core/os/node_alloc.h"

#include <stdalign.h>

#include "core/base/atomic.h"

/* The sizes of extents. A guess: the first one has room for the workers of some
 * cores, or for a few hundred blocks. Each extent is as large as all extents
 * before it, within these bounds. */
#define EXTENT_MIN_BYTES ((size_t)64 << 10)
#define EXTENT_MAX_BYTES ((size_t)2 << 20)

/* The beginning of each extent. */
struct node_alloc_extent {
	alignas(CACHE_PAIR) struct node_alloc_extent *older;
	size_t bytes;
};

void node_alloc_init(struct node_alloc *alloc,
		     const struct skua_allocator *allocator, int node,
		     bool huge)
{
	*alloc = (struct node_alloc){
		.allocator = allocator,
		.wanted = { .node = node, .huge = huge },
		.mapped = !allocator && (huge || node != NODE_MEMORY_ANY),
	};
}

void node_alloc_destroy(struct node_alloc *alloc)
{
	struct node_alloc_extent *extent = alloc->extents;

	while (extent) {
		struct node_alloc_extent *older = extent->older;

		node_memory_unmap(extent, extent->bytes);
		extent = older;
	}
	alloc->extents = NULL;
}

static bool grow(struct node_alloc *alloc, size_t bytes)
{
	struct node_alloc_extent *extent;
	size_t size = alloc->bytes;

	if (size < EXTENT_MIN_BYTES)
		size = EXTENT_MIN_BYTES;
	if (size > EXTENT_MAX_BYTES)
		size = EXTENT_MAX_BYTES;
	if (size < bytes + sizeof(*extent))
		size = bytes + sizeof(*extent);
	extent = node_memory_map(&size, &alloc->wanted);
	if (!extent)
		return false;
	extent->older = alloc->extents;
	extent->bytes = size;
	alloc->extents = extent;
	alloc->free = (char *)(extent + 1);
	alloc->left = size - sizeof(*extent);
	alloc->bytes += size;
	return true;
}

/* A piece consists of whole pairs of cache lines, so that no two pieces share a
 * line. */
static size_t piece(size_t bytes)
{
	return (bytes + CACHE_PAIR - 1) / CACHE_PAIR * CACHE_PAIR;
}

void *node_alloc_bytes(struct node_alloc *alloc, size_t bytes)
{
	char *memory;

	if (!alloc->mapped)
		return memory_alloc(alloc->allocator, CACHE_PAIR, 1, bytes);
	bytes = piece(bytes);
	if (bytes > alloc->left && !grow(alloc, bytes))
		return NULL;
	memory = alloc->free;
	alloc->free += bytes;
	alloc->left -= bytes;
	return memory;
}

void node_alloc_free(struct node_alloc *alloc, void *memory, size_t bytes)
{
	if (!alloc->mapped)
		memory_free(alloc->allocator, memory, CACHE_PAIR, 1, bytes);
}
