/* SPDX-License-Identifier: MIT */
/**
 * layout.h - place the simulated workers on a machine
 *
 * The groups are those that a runtime would have on that machine (topology/llc_groups.h).
 * In addition, the workers are listed in order of their place, so that the workers of a
 * group, of a node and of a socket are adjacent. Nodes with consecutive numbers, whose
 * distance is less than LAYOUT_FAR, form a socket.
 */
#ifndef SKUA_BENCH_SIMULATOR_LAYOUT_H
#define SKUA_BENCH_SIMULATOR_LAYOUT_H

#include <stdbool.h>

#include "bench/simulator/costs.h"
#include "skua/base.h"
#include "topology/llc_groups.h"

#define LAYOUT_FAR 20u

/* A range of indices of layout.order, or of groups. */
struct span {
	unsigned first, count;
};

/* The shape of a machine: nodes of each socket, last-level caches of each
 * node, cores of each cache, and threads of each core. Example: 2 x 4 x 8 x
 * 8 x 2. */
struct shape {
	unsigned sockets, nodes, caches, cores, threads;
};

struct layout {
	struct llc_groups groups;
	uint16_t *order;     /* workers in the order of their places */
	struct span *group;  /* the workers of each group, in @order */
	struct span *node;   /* the workers of each node */
	unsigned *socket_of; /* the socket of each node */
	unsigned socket_count;
	struct span *socket;        /* the workers of each socket */
	struct span *socket_groups; /* the groups of each socket */
};

/* layout_workers - return the number of workers of a shape */
static inline unsigned layout_workers(const struct shape *shape)
{
	return shape->sockets * shape->nodes * shape->caches * shape->cores *
	       shape->threads;
}

/**
 * layout_make - place a worker on each CPU of a machine with the given shape
 * @out: receives the layout; the caller releases it with layout_free()
 *
 * Return: 0; -ENOMEM.
 */
int layout_make(struct layout *out, const struct shape *shape);

/**
 * layout_load - place a worker on each of the first CPUs of a recorded machine
 * @out: receives the layout; the caller releases it with layout_free()
 * @path: a snapshot, or a folder, as for machine_load()
 * @workers: maximum number of workers; 0: one on each CPU
 *
 * Return: 0; -ENOMEM; an error of machine_load().
 */
int layout_load(struct layout *out, const char *path, unsigned workers,
		struct skua_error *err);

void layout_free(struct layout *layout);

static inline unsigned layout_node_of(const struct layout *layout, unsigned i)
{
	return layout->groups.groups[layout->groups.places[i].group].node;
}

/* layout_node_tier - return the distance between two nodes, by index: TIER_NODE,
 * TIER_SOCKET or TIER_FAR */
enum tier layout_node_tier(const struct layout *layout, unsigned a, unsigned b);

/* layout_tier - return the distance between two workers */
enum tier layout_tier(const struct layout *layout, unsigned a, unsigned b);

/* layout_group_tier - return the distance between worker @i and a group: TIER_CACHE or
 * more */
enum tier layout_group_tier(const struct layout *layout, unsigned i,
			    unsigned group);

#endif
