/* SPDX-License-Identifier: MIT */
/* node_allocs.c - see node_allocs.h */
#include "core/runtime/node_allocs.h"

#include <sched.h>

#include "core/base/atomic.h"

/* ---- deciding -------------------------------------------------------------- */

/* nodes_matter - tell whether it matters on which node memory is; fill @allowed if so */
static bool nodes_matter(const struct config *config, struct node_set *allowed)
{
	return !config->allocator && config->pinned && !config->caller_driven &&
	       node_memory_allowed(allowed) == 0 && node_set_count(allowed) > 1;
}

static int allocate(struct node_allocs *allocs, unsigned nodes,
		    unsigned workers)
{
	allocs->bytes =
		nodes * sizeof(*allocs->nodes) + workers * sizeof(*allocs->of);
	allocs->nodes =
		memory_alloc(allocs->allocator, CACHE_PAIR, 1, allocs->bytes);
	if (!allocs->nodes)
		return -ENOMEM;
	allocs->of = (uint32_t *)(allocs->nodes + nodes);
	return 0;
}

/* find - return the index of the entry for @node; add an entry if there is none */
static uint32_t find(struct node_allocs *allocs, int node,
		     const struct config *config)
{
	unsigned i = 0;

	while (i < allocs->count && allocs->nodes[i].alloc.wanted.node != node)
		i++;
	if (i == allocs->count) {
		node_alloc_init(&allocs->nodes[i].alloc, allocs->allocator,
				node, config->huge_pages);
		slab_init(&allocs->nodes[i].slab, &allocs->nodes[i].alloc);
		stacks_init(&allocs->nodes[i].stacks, node,
			    stack_order(config->fiber_stack));
		allocs->count++;
	}
	return i;
}

bool node_allocs_by_node(const struct config *config)
{
	struct node_set allowed;

	return nodes_matter(config, &allowed);
}

/* has_node - tell whether worker @i is bound to a part of the CPUs, and so to a node */
static bool has_node(const struct placement *placement, unsigned i,
		     bool limited)
{
	return placement->cpu_count == 1 ||
	       placement_range(placement, i, limited).count <
		       placement->cpu_count;
}

int node_allocs_make(struct node_allocs *out, const struct config *config,
		     const struct machine *machine)
{
	const struct placement *placement = &config->placement;
	struct node_set allowed;
	int code;

	if (machine &&
	    (machine->node_count < 2 || !nodes_matter(config, &allowed)))
		machine = NULL;
	*out = (struct node_allocs){ .allocator = config->allocator };
	code = allocate(out, 1 + (machine ? machine->node_count : 0),
			config->workers);
	if (!code)
		find(out, NODE_MEMORY_ANY, config);
	for (unsigned i = 0; !code && machine && i < config->workers; i++) {
		unsigned cpu = placement->workers[i].cpu;

		if (has_node(placement, i, config->limited))
			out->of[i] = find(
				out,
				node_memory_nearest(machine, cpu, &allowed),
				config);
	}
	return code;
}

void node_allocs_free(struct node_allocs *allocs)
{
	for (unsigned i = 0; i < allocs->count; i++) {
		slab_destroy(&allocs->nodes[i].slab);
		stacks_destroy(&allocs->nodes[i].stacks);
		node_alloc_destroy(&allocs->nodes[i].alloc);
	}
	memory_free(allocs->allocator, allocs->nodes, CACHE_PAIR, 1,
		    allocs->bytes);
}

/* ---- threads from outside -------------------------------------------------- */

struct node_share *node_allocs_here(const struct node_allocs *allocs)
{
	unsigned node;

	if (allocs->count == 1 || getcpu(NULL, &node) != 0)
		return &allocs->nodes[0];
	for (unsigned i = 1; i < allocs->count; i++) {
		if (allocs->nodes[i].alloc.wanted.node == (int)node)
			return &allocs->nodes[i];
	}
	return &allocs->nodes[0];
}
