/* SPDX-License-Identifier: MIT */
/**
 * node_allocs.h - on which node the memory of each worker is
 *
 * Workers that are pinned to CPUs of one NUMA node share a node_alloc of that node.
 * All others share one without a node, as do all workers of a machine with one node.
 * The memory of a worker stays on its node when the worker moves to another.
 */
#ifndef SKUA_CORE_RUNTIME_NODE_ALLOCS_H
#define SKUA_CORE_RUNTIME_NODE_ALLOCS_H

#include "core/os/node_alloc.h"
#include "core/config/config.h"
#include "core/task/slab.h"

/* The memory that the workers of a node share. */
struct node_share {
	struct node_alloc alloc;
	struct slab slab;
};

struct node_allocs {
	const struct skua_allocator *allocator;
	struct node_share
		*nodes; /* the first has no node; one piece with @of */
	uint32_t *of;   /* of each worker: an index of nodes */
	unsigned count;
	size_t bytes; /* of nodes and of */
};

/* node_allocs_by_node - does it matter on which node the memory of a worker is? */
bool node_allocs_by_node(const struct config *config);

/**
 * node_allocs_make - decide on which node the memory of each worker is
 * @out: receives them, to be given to node_allocs_free(), also on failure
 * @machine: NULL: nothing is known
 *
 * Return: 0; -ENOMEM. If the kernel does not tell the nodes, none is preferred.
 */
int node_allocs_make(struct node_allocs *out, const struct config *config,
		     const struct machine *machine);

/* node_allocs_free - free all of their memory, with the blocks of the slabs */
void node_allocs_free(struct node_allocs *allocs);

static inline struct node_alloc *
node_allocs_of(const struct node_allocs *allocs, unsigned worker)
{
	return &allocs->nodes[allocs->of[worker]].alloc;
}

/* node_allocs_slab_of - the slab of a worker's node */
static inline struct slab *node_allocs_slab_of(const struct node_allocs *allocs,
					       unsigned worker)
{
	return &allocs->nodes[allocs->of[worker]].slab;
}

/* node_allocs_slab_here - a slab for the calling thread, which is no worker: that of its
 * node, if the node has workers */
struct slab *node_allocs_slab_here(const struct node_allocs *allocs);

#endif
