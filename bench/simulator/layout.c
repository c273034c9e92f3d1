/* SPDX-License-Identifier: MIT */
/* layout.c - see layout.h */
#include "bench/simulator/layout.h"

#include <errno.h>
#include <stdlib.h>

#include "topology/machine.h"

#define DISTANCE_NEAR 12u /* distance between nodes of a socket */
#define DISTANCE_FAR  32u

/* ---- places of workers --------------------------------------------------------- */

static unsigned first_cpu(const struct llc_groups *groups, const unsigned *cpus,
			  unsigned node)
{
	return cpus[groups->groups[groups->nodes[node].first].workers[0]];
}

/* Return whether node @node is the first of a socket. */
static bool begins_socket(const struct llc_groups *groups,
			  const struct machine *machine, const unsigned *cpus,
			  unsigned node)
{
	unsigned here, before;

	if (node == 0)
		return true;
	before = machine_cpu(machine, first_cpu(groups, cpus, node - 1))->node;
	here = machine_cpu(machine, first_cpu(groups, cpus, node))->node;
	return machine_distance(machine, before, here) >= LAYOUT_FAR;
}

static void place_group(struct layout *layout, unsigned g, unsigned *placed)
{
	const struct llc_group *group = &layout->groups.groups[g];

	layout->group[g] = (struct span){ *placed, group->count };
	for (unsigned bit = 0; bit < group->count; bit++)
		layout->order[(*placed)++] = group->workers[bit];
}

static void place_node(struct layout *layout, unsigned n, bool begins,
		       unsigned *placed)
{
	const struct llc_node *node = &layout->groups.nodes[n];
	unsigned first = *placed, socket;

	for (unsigned g = 0; g < node->count; g++)
		place_group(layout, node->first + g, placed);
	layout->node[n] = (struct span){ first, *placed - first };
	socket = begins ? layout->socket_count++ : layout->socket_count - 1;
	layout->socket_of[n] = socket;
	if (begins) {
		layout->socket[socket].first = first;
		layout->socket_groups[socket].first = node->first;
	}
	layout->socket[socket].count += *placed - first;
	layout->socket_groups[socket].count += node->count;
}

static int place(struct layout *layout, const struct machine *machine,
		 const unsigned *cpus)
{
	const struct llc_groups *groups = &layout->groups;
	unsigned nodes = groups->node_count, placed = 0;

	layout->order = calloc(groups->worker_count, sizeof(*layout->order));
	layout->group = calloc(groups->count, sizeof(*layout->group));
	layout->node = calloc(nodes, sizeof(*layout->node));
	layout->socket_of = calloc(nodes, sizeof(*layout->socket_of));
	layout->socket = calloc(nodes, sizeof(*layout->socket));
	layout->socket_groups = calloc(nodes, sizeof(*layout->socket_groups));
	if (!layout->order || !layout->group || !layout->node ||
	    !layout->socket_of || !layout->socket || !layout->socket_groups)
		return -ENOMEM;
	for (unsigned n = 0; n < nodes; n++)
		place_node(layout, n, begins_socket(groups, machine, cpus, n),
			   &placed);
	return 0;
}

static int make_on(struct layout *out, const struct machine *machine,
		   unsigned workers)
{
	unsigned *cpus = calloc(workers, sizeof(*cpus));
	int code = cpus ? 0 : -ENOMEM;

	*out = (struct layout){ .order = NULL };
	for (unsigned i = 0; !code && i < workers; i++)
		cpus[i] = machine->cpus[i].cpu;
	if (!code)
		code = llc_groups_make(&out->groups, machine, cpus, workers);
	if (!code)
		code = place(out, machine, cpus);
	free(cpus);
	if (code)
		layout_free(out);
	return code;
}

void layout_free(struct layout *layout)
{
	llc_groups_free(&layout->groups);
	free(layout->order);
	free(layout->group);
	free(layout->node);
	free(layout->socket_of);
	free(layout->socket);
	free(layout->socket_groups);
	*layout = (struct layout){ .order = NULL };
}

/* ---- machines -------------------------------------------------------------------- */

static void fill_cpus(struct machine *machine, const struct shape *shape)
{
	unsigned cache = shape->cores * shape->threads;

	for (unsigned i = 0; i < machine->cpu_count; i++)
		machine->cpus[i] = (struct skua_cpu){
			.cpu = i,
			.core = i / shape->threads * shape->threads,
			.llc = i / cache * cache,
			.node = i / (cache * shape->caches),
		};
}

static void fill_nodes(struct machine *machine, const struct shape *shape)
{
	unsigned n = machine->node_count;

	for (unsigned i = 0; i < n; i++) {
		machine->nodes[i].node = i;
		for (unsigned j = 0; j < n; j++)
			machine->distances[i * n + j] =
				i == j ? SKUA_DISTANCE_HERE
				: i / shape->nodes == j / shape->nodes
					? DISTANCE_NEAR
					: DISTANCE_FAR;
	}
}

int layout_make(struct layout *out, const struct shape *shape)
{
	unsigned nodes = shape->sockets * shape->nodes;
	unsigned workers = layout_workers(shape);
	struct machine machine = {
		.cpus = calloc(workers, sizeof(*machine.cpus)),
		.cpu_count = workers,
		.nodes = calloc(nodes, sizeof(*machine.nodes)),
		.node_count = nodes,
		.distances = calloc(nodes * nodes, sizeof(*machine.distances)),
	};
	int code = -ENOMEM;

	if (machine.cpus && machine.nodes && machine.distances) {
		fill_cpus(&machine, shape);
		fill_nodes(&machine, shape);
		code = make_on(out, &machine, workers);
	}
	free(machine.cpus);
	free(machine.nodes);
	free(machine.distances);
	return code;
}

int layout_load(struct layout *out, const char *path, unsigned workers,
		struct skua_error *err)
{
	struct machine *machine;
	int code = machine_load(&machine, path, err);

	if (code)
		return code;
	if (workers == 0 || workers > machine->cpu_count)
		workers = machine->cpu_count;
	code = make_on(out, machine, workers);
	machine_free(machine);
	return code;
}

/* ---- distances --------------------------------------------------------------------- */

enum tier layout_node_tier(const struct layout *layout, unsigned a, unsigned b)
{
	if (a == b)
		return TIER_NODE;
	return layout->socket_of[a] == layout->socket_of[b] ? TIER_SOCKET
							    : TIER_FAR;
}

enum tier layout_group_tier(const struct layout *layout, unsigned i,
			    unsigned group)
{
	const struct llc_groups *groups = &layout->groups;
	unsigned own = groups->places[i].group;

	if (own == group)
		return TIER_CACHE;
	return layout_node_tier(layout, groups->groups[own].node,
				groups->groups[group].node);
}

enum tier layout_tier(const struct layout *layout, unsigned a, unsigned b)
{
	const struct llc_place *here = &layout->groups.places[a];
	const struct llc_place *there = &layout->groups.places[b];

	if (a == b ||
	    (here->group == there->group && here->siblings >> there->bit & 1))
		return TIER_CORE;
	return layout_group_tier(layout, a, there->group);
}
