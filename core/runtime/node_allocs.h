/* SPDX-License-Identifier: MIT */
/**
 * node_allocs.h - choose the NUMA node of each worker's memory
 *
 * Workers that are pinned to CPUs of one NUMA node share a node_alloc of that node.
 * All other workers share a node_alloc without a node; on a machine with one node these
 * are all workers. The memory of a worker stays on its node when the worker moves to
 * another node.
 */
#ifndef SKUA_CORE_RUNTIME_NODE_ALLOCS_H
#define SKUA_CORE_RUNTIME_NODE_ALLOCS_H

#include "core/os/node_alloc.h"
#include "core/config/config.h"
#include "core/fiber/stacks.h"
#include "core/task/slab.h"

/* The memory that the workers of a node share. */
struct node_share {
	struct node_alloc alloc;
	struct slab slab;
	struct stacks stacks;
};

struct node_allocs {
	const struct skua_allocator *allocator;
	struct node_share
		*nodes; /* the first has no node; shares memory with @of */
	uint32_t *of;   /* for each worker: its index in @nodes */
	unsigned count;
	size_t bytes; /* of @nodes and @of together */
};

/* node_allocs_by_node - tell whether it matters on which node a worker's memory is */
bool node_allocs_by_node(const struct config *config);

/**
 * node_allocs_make - choose the node of each worker's memory
 * @out: filled in; the caller releases it with node_allocs_free(), also after a failure
 * @machine: NULL: the topology is unknown
 *
 * Return: 0 or -ENOMEM. If the kernel does not tell the nodes, no node is preferred.
 */
int node_allocs_make(struct node_allocs *out, const struct config *config,
		     const struct machine *machine);

/* node_allocs_free - free all memory of @allocs, including the blocks of the
 * slabs */
void node_allocs_free(struct node_allocs *allocs);

static inline struct node_alloc *
node_allocs_of(const struct node_allocs *allocs, unsigned worker)
{
	return &allocs->nodes[allocs->of[worker]].alloc;
}

/* node_allocs_slab_of - return the slab of a worker's node */
static inline struct slab *node_allocs_slab_of(const struct node_allocs *allocs,
					       unsigned worker)
{
	return &allocs->nodes[allocs->of[worker]].slab;
}

/* node_allocs_stacks_of - return the stacks of a worker's node */
static inline struct stacks *
node_allocs_stacks_of(const struct node_allocs *allocs, unsigned worker)
{
	return &allocs->nodes[allocs->of[worker]].stacks;
}

/* node_allocs_here - return the memory for the calling thread, which is no worker: that
 * of its current node, or that without a node if no worker is on that node */
struct node_share *node_allocs_here(const struct node_allocs *allocs);

#endif
