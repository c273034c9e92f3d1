/* SPDX-License-Identifier: MIT */
/**
 * node_alloc.h - allocate memory on the node of some workers
 *
 * The memory comes from the user's allocator, if there is one. Otherwise, if it
 * should be on a node or in large pages, it is cut from mapped extents, which
 * are unmapped all at once. In all other cases it comes from libc.
 */
#ifndef SKUA_CORE_OS_NODE_ALLOC_H
#define SKUA_CORE_OS_NODE_ALLOC_H

#include "core/base/memory.h"
#include "topology/node_memory.h"

struct node_alloc_extent;

/* Used by one thread at a time. */
struct node_alloc {
	const struct skua_allocator *allocator;
	/* The requested node and page size, and the reasons why the last extent
	 * lacks them. */
	struct node_memory wanted;
	bool mapped;                       /* memory is cut from extents */
	struct node_alloc_extent *extents; /* the newest one first */
	char *free;
	size_t left;
	size_t bytes; /* of all extents */
};

/**
 * node_alloc_init - initialise; allocates nothing
 * @allocator: the user's, which decides where its memory is; or NULL
 * @node: the node to prefer; NODE_MEMORY_ANY: none
 * @huge: use large pages
 */
void node_alloc_init(struct node_alloc *alloc,
		     const struct skua_allocator *allocator, int node,
		     bool huge);

/* node_alloc_destroy - unmap the extents, with all memory that is cut from them */
void node_alloc_destroy(struct node_alloc *alloc);

/* node_alloc_bytes - allocate zeroed memory, aligned to CACHE_PAIR; NULL if
 * there is no memory */
void *node_alloc_bytes(struct node_alloc *alloc, size_t bytes);

/* node_alloc_free - free memory of node_alloc_bytes(); does nothing to memory
 * that is cut from an extent, or to NULL */
void node_alloc_free(struct node_alloc *alloc, void *memory, size_t bytes);

#endif
