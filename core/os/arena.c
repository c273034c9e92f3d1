/* SPDX-License-Identifier: MIT */
/* arena.c - see arena.h */
#include "core/os/arena.h"

#include <stdalign.h>

#include "core/base/atomic.h"

/* A guess: the workers of some cores, or a few hundred blocks. Each extent is as
 * large as all before it, up to the largest. */
#define EXTENT_MIN_BYTES ((size_t)64 << 10)
#define EXTENT_MAX_BYTES ((size_t)2 << 20)

/* At the beginning of each. */
struct arena_extent {
	alignas(CACHE_PAIR) struct arena_extent *older;
	size_t bytes;
};

void arena_init(struct arena *arena, const struct skua_allocator *allocator,
		int node, bool huge)
{
	*arena = (struct arena){
		.allocator = allocator,
		.wanted = { .node = node, .huge = huge },
		.mapped = !allocator && (huge || node != NODE_MEMORY_ANY),
	};
}

void arena_destroy(struct arena *arena)
{
	struct arena_extent *extent = arena->extents;

	while (extent) {
		struct arena_extent *older = extent->older;

		node_memory_unmap(extent, extent->bytes);
		extent = older;
	}
	arena->extents = NULL;
}

static bool grow(struct arena *arena, size_t bytes)
{
	struct arena_extent *extent;
	size_t size = arena->bytes;

	if (size < EXTENT_MIN_BYTES)
		size = EXTENT_MIN_BYTES;
	if (size > EXTENT_MAX_BYTES)
		size = EXTENT_MAX_BYTES;
	if (size < bytes + sizeof(*extent))
		size = bytes + sizeof(*extent);
	extent = node_memory_map(&size, &arena->wanted);
	if (!extent)
		return false;
	extent->older = arena->extents;
	extent->bytes = size;
	arena->extents = extent;
	arena->free = (char *)(extent + 1);
	arena->left = size - sizeof(*extent);
	arena->bytes += size;
	return true;
}

/* Pieces are whole pairs of lines: their ends are nobody else's. */
static size_t piece(size_t bytes)
{
	return (bytes + CACHE_PAIR - 1) / CACHE_PAIR * CACHE_PAIR;
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
	char *memory;

	if (!arena->mapped)
		return memory_alloc(arena->allocator, CACHE_PAIR, 1, bytes);
	bytes = piece(bytes);
	if (bytes > arena->left && !grow(arena, bytes))
		return NULL;
	memory = arena->free;
	arena->free += bytes;
	arena->left -= bytes;
	return memory;
}

void arena_free(struct arena *arena, void *memory, size_t bytes)
{
	if (!arena->mapped)
		memory_free(arena->allocator, memory, CACHE_PAIR, 1, bytes);
}
