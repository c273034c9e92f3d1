/* SPDX-License-Identifier: MIT */
/* arenas.c - see arenas.h */
#include "core/runtime/arenas.h"

#include <sched.h>

#include "core/base/atomic.h"

/* ---- deciding -------------------------------------------------------------- */

/* Does it matter on which node memory is? */
static bool nodes_matter(const struct config *config, struct node_set *allowed)
{
	return !config->allocator && config->pinned && !config->caller_driven &&
	       node_memory_allowed(allowed) == 0 && node_set_count(allowed) > 1;
}

static int allocate(struct arenas *arenas, unsigned nodes, unsigned workers)
{
	arenas->bytes =
		nodes * sizeof(*arenas->nodes) + workers * sizeof(*arenas->of);
	arenas->nodes =
		memory_alloc(arenas->allocator, CACHE_PAIR, 1, arenas->bytes);
	if (!arenas->nodes)
		return -ENOMEM;
	arenas->of = (uint32_t *)(arenas->nodes + nodes);
	return 0;
}

/* The index of a node's, which is made if there is none. */
static uint32_t find(struct arenas *arenas, int node, bool huge)
{
	unsigned i = 0;

	while (i < arenas->count && arenas->nodes[i].arena.wanted.node != node)
		i++;
	if (i == arenas->count) {
		arena_init(&arenas->nodes[i].arena, arenas->allocator, node,
			   huge);
		slab_init(&arenas->nodes[i].slab, &arenas->nodes[i].arena);
		arenas->count++;
	}
	return i;
}

bool arenas_by_node(const struct config *config)
{
	struct node_set allowed;

	return nodes_matter(config, &allowed);
}

/* Is the worker on some of the CPUs alone, and so on one node? */
static bool has_node(const struct placement *placement, unsigned i,
		     bool limited)
{
	return placement->cpu_count == 1 ||
	       placement_range(placement, i, limited).count <
		       placement->cpu_count;
}

int arenas_make(struct arenas *out, const struct config *config,
		const struct machine *machine)
{
	const struct placement *placement = &config->placement;
	struct node_set allowed;
	int code;

	if (machine && !nodes_matter(config, &allowed))
		machine = NULL;
	*out = (struct arenas){ .allocator = config->allocator };
	code = allocate(out, 1 + (machine ? machine->node_count : 0),
			config->workers);
	if (!code)
		find(out, NODE_MEMORY_ANY, config->huge_pages);
	for (unsigned i = 0; !code && machine && i < config->workers; i++) {
		unsigned cpu = placement->workers[i].cpu;

		if (has_node(placement, i, config->limited))
			out->of[i] = find(
				out,
				node_memory_nearest(machine, cpu, &allowed),
				config->huge_pages);
	}
	return code;
}

void arenas_free(struct arenas *arenas)
{
	for (unsigned i = 0; i < arenas->count; i++) {
		slab_destroy(&arenas->nodes[i].slab);
		arena_destroy(&arenas->nodes[i].arena);
	}
	memory_free(arenas->allocator, arenas->nodes, CACHE_PAIR, 1,
		    arenas->bytes);
}

/* ---- threads from outside -------------------------------------------------- */

struct slab *arenas_slab_here(const struct arenas *arenas)
{
	unsigned node;

	if (arenas->count == 1 || getcpu(NULL, &node) != 0)
		return &arenas->nodes[0].slab;
	for (unsigned i = 1; i < arenas->count; i++) {
		if (arenas->nodes[i].arena.wanted.node == (int)node)
			return &arenas->nodes[i].slab;
	}
	return &arenas->nodes[0].slab;
}
