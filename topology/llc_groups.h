/* SPDX-License-Identifier: MIT */
/**
 * llc_groups.h - groups of workers that are near each other
 *
 * A group has the workers whose CPUs share their last-level cache within a node. One word
 * has a bit for each of them, so a group has at most 64 workers; if more workers share a
 * cache, they form several groups. Some virtual machines describe a last-level cache for
 * each core. Such a cache does not tell which cores are near, so the workers on such
 * cores form groups of their node.
 */
#ifndef SKUA_TOPOLOGY_LLC_GROUPS_H
#define SKUA_TOPOLOGY_LLC_GROUPS_H

#include <stdint.h>

#include "topology/machine.h"

#define LLC_GROUP_WORKERS 64u

/* The place of a worker in its group. */
struct llc_place {
	uint16_t group;
	uint16_t bit;      /* in the group's words */
	uint64_t siblings; /* bits of the other workers on its core */
};

struct llc_group {
	unsigned node; /* index in llc_groups.nodes */
	unsigned count;
	uint16_t workers
		[LLC_GROUP_WORKERS]; /* by bit; workers of a core are adjacent */
};

/* A node that has workers. Its groups are adjacent. */
struct llc_node {
	unsigned first, count; /* its groups */
	/* The number of other nodes that are as near as others[0]. */
	unsigned nearest;
	uint16_t *others; /* indices of all other nodes, nearest first */
};

struct llc_groups {
	unsigned worker_count;
	struct llc_place *places; /* by worker */
	unsigned count;
	struct llc_group *groups; /* ordered by node */
	unsigned node_count;
	struct llc_node *nodes;
	unsigned cpu_count;
	uint16_t *of_cpu; /* the nearest group of each CPU, by CPU number */
};

/**
 * llc_groups_make - put workers into groups
 * @out: receives the groups; the caller releases them with llc_groups_free()
 * @machine: NULL: unknown; then all workers count as equally near
 * @cpus: the CPU of each worker; a CPU that @machine does not have counts as its first
 *        CPU. Not read if @machine is NULL
 * @workers: the number of workers; one or more
 *
 * Return: 0; -ENOMEM.
 */
int llc_groups_make(struct llc_groups *out, const struct machine *machine,
		    const unsigned *cpus, unsigned workers);

void llc_groups_free(struct llc_groups *groups);

/* llc_groups_of_cpu - return the group that is nearest to a CPU; 0 if it is unknown */
static inline unsigned llc_groups_of_cpu(const struct llc_groups *groups,
					 unsigned cpu)
{
	return cpu < groups->cpu_count ? groups->of_cpu[cpu] : 0;
}

#endif
