/* SPDX-License-Identifier: MIT */
/**
 * layout.h - where the simulated workers are
 *
 * The groups are those that a runtime would have there (topology/llc_groups.h).
 * Beside them stand the workers by where they are, so that those of a group, of a
 * node and of a socket follow each other. Nodes whose distance is less than
 * LAYOUT_FAR, and whose numbers follow each other, are a socket.
 */
#ifndef SKUA_BENCH_SIMULATOR_LAYOUT_H
#define SKUA_BENCH_SIMULATOR_LAYOUT_H

#include <stdbool.h>

#include "bench/simulator/costs.h"
#include "skua/base.h"
#include "topology/llc_groups.h"

#define LAYOUT_FAR 20u

/* A range of layout.order, or of groups. */
struct span {
	unsigned first, count;
};

/* Two sockets x 4 nodes x 8 last caches x 8 cores x 2 threads. */
struct shape {
	unsigned sockets, nodes, caches, cores, threads;
};

struct layout {
	struct llc_groups groups;
	uint16_t *order;     /* workers by where they are */
	struct span *group;  /* of each group: its workers */
	struct span *node;   /* of each node: its workers */
	unsigned *socket_of; /* of each node */
	unsigned socket_count;
	struct span *socket;        /* of each: its workers */
	struct span *socket_groups; /* and its groups */
};

/* layout_workers - the number of workers of a shape */
static inline unsigned layout_workers(const struct shape *shape)
{
	return shape->sockets * shape->nodes * shape->caches * shape->cores *
	       shape->threads;
}

/**
 * layout_make - a worker on each CPU of a made machine
 * @out: receives it; to be given to layout_free()
 *
 * Return: 0; -ENOMEM.
 */
int layout_make(struct layout *out, const struct shape *shape);

/**
 * layout_load - a worker on each of the first CPUs of a machine
 * @path: a snapshot, or a folder as machine_load() takes it
 * @workers: maximum number of workers; 0: all CPUs
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

/* layout_node_tier - the distance of node @b from node @a, by index: TIER_NODE, ... */
enum tier layout_node_tier(const struct layout *layout, unsigned a, unsigned b);

/* layout_tier - the distance of worker @b from worker @a */
enum tier layout_tier(const struct layout *layout, unsigned a, unsigned b);

/* layout_group_tier - the distance of group @group from worker @i: TIER_CACHE, ... */
enum tier layout_group_tier(const struct layout *layout, unsigned i,
			    unsigned group);

#endif
