/* SPDX-License-Identifier: MIT */
/**
 * near.h - groups of workers on several nodes, for tests that run on any machine
 *
 * Worker i is on node i % nodes, on a core of its own. A group is all workers of a node,
 * or at most 64 of them.
 */
#ifndef SKUA_TESTS_NEAR_H
#define SKUA_TESTS_NEAR_H

#include <stdlib.h>

#include "topology/llc_groups.h"

#define NEAR_KINDS 32u

/* near_make - make the groups of workers on CPUs that @place puts into caches and nodes,
 * which it knows by their number and @arg */
static inline void near_make(struct llc_groups *out, unsigned workers,
			     unsigned nodes,
			     void (*place)(struct skua_cpu *cpu, unsigned arg),
			     unsigned arg)
{
	struct skua_cpu *cpus = calloc(workers, sizeof(*cpus));
	struct skua_numa_node *places = calloc(nodes, sizeof(*places));
	unsigned *distances = calloc(nodes * nodes, sizeof(*distances));
	unsigned *numbers = calloc(workers, sizeof(*numbers));
	struct machine machine = { .cpus = cpus,
				   .cpu_count = workers,
				   .nodes = places,
				   .node_count = nodes,
				   .distances = distances };

	if (!cpus || !places || !distances || !numbers)
		abort();
	for (unsigned i = 0; i < workers; i++) {
		numbers[i] = i;
		cpus[i] = (struct skua_cpu){ .cpu = i, .core = i };
		place(&cpus[i], arg);
	}
	for (unsigned i = 0; i < nodes * nodes; i++)
		distances[i] = i % (nodes + 1) == 0 ? SKUA_DISTANCE_HERE : 20;
	for (unsigned i = 0; i < nodes; i++)
		places[i].node = i;
	if (llc_groups_make(out, &machine, numbers, workers) != 0)
		abort();
	free(cpus);
	free(places);
	free(distances);
	free(numbers);
}

static inline void near_by_turns(struct skua_cpu *cpu, unsigned nodes)
{
	cpu->llc = cpu->node = cpu->cpu % nodes;
}

/* near_groups - return the groups for these numbers of workers and nodes
 *
 * Made at the first call for these numbers, and kept until the program ends. */
static inline const struct llc_groups *near_groups(unsigned workers,
						   unsigned nodes)
{
	static struct llc_groups made[NEAR_KINDS];
	unsigned i = 0;

	while (i < NEAR_KINDS && made[i].worker_count != 0 &&
	       (made[i].worker_count != workers || made[i].node_count != nodes))
		i++;
	if (i == NEAR_KINDS)
		abort();
	if (made[i].worker_count == 0)
		near_make(&made[i], workers, nodes, near_by_turns, nodes);
	return &made[i];
}

#endif
