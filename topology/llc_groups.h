/* SPDX-License-Identifier: MIT */
/**
 * llc_groups.h - which workers are near each other
 *
 * A group: workers whose CPUs share their last cache within a node. One word has
 * a bit for each, so that a group is at most 64; where more share a cache, they
 * are several groups of the node. A last cache that one core has for itself, as
 * virtual machines describe it that tell of no other, says nothing of who is near:
 * the workers of such cores are in groups of their node.
 */
#ifndef SKUA_TOPOLOGY_LLC_GROUPS_H
#define SKUA_TOPOLOGY_LLC_GROUPS_H

#include <stdint.h>

#include "topology/machine.h"

#define LLC_GROUP_WORKERS 64u

/* Where a worker is. */
struct llc_place {
	uint16_t group;
	uint16_t bit;      /* in the group's words */
	uint64_t siblings; /* bits of the others on its core */
};

struct llc_group {
	unsigned node; /* its index in struct llc_groups */
	unsigned count;
	uint16_t workers
		[LLC_GROUP_WORKERS]; /* by bit; those of a core together */
};

/* A node that has workers. Its groups follow each other. */
struct llc_node {
	unsigned first, count; /* its groups */
	unsigned nearest; /* of its others, how many are as near as the first */
	uint16_t *others; /* indices of all other nodes, nearest first */
};

struct llc_groups {
	unsigned worker_count;
	struct llc_place *places; /* of each worker */
	unsigned count;
	struct llc_group *groups; /* ordered by node */
	unsigned node_count;
	struct llc_node *nodes;
	unsigned cpu_count;
	uint16_t *of_cpu; /* the nearest group, by a CPU's number */
};

/**
 * llc_groups_make - the groups of so many workers
 * @out: receives them; to be given to llc_groups_free()
 * @machine: NULL: nothing is known, and all are alike near
 * @cpus: that of each worker; one that is not on @machine counts as its first.
 *        Not read if @machine is NULL
 * @workers: one or more
 *
 * Return: 0; -ENOMEM.
 */
int llc_groups_make(struct llc_groups *out, const struct machine *machine,
		    const unsigned *cpus, unsigned workers);

void llc_groups_free(struct llc_groups *groups);

/* llc_groups_of_cpu - the group that is nearest to a CPU; 0 if it is unknown */
static inline unsigned llc_groups_of_cpu(const struct llc_groups *groups,
					 unsigned cpu)
{
	return cpu < groups->cpu_count ? groups->of_cpu[cpu] : 0;
}

#endif
