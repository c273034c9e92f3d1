/* SPDX-License-Identifier: MIT */
/* latency.h - how long a cache line takes from one CPU to another */
#ifndef SKUA_TOPOLOGY_LATENCY_H
#define SKUA_TOPOLOGY_LATENCY_H

#include <stdint.h>

#include "topology/cpu_list.h"

/* The most CPUs that are measured. A guess: more would not finish in time. */
#define LATENCY_MAX_CPUS 256u

struct latency {
	struct cpu_list cpus; /* of the rows and columns */
	uint32_t *ns; /* [i * cpus.count + j], by index, the same in both
			       * directions; 0: not measured, or i == j */
};

/* latency_make - allocate an empty matrix; return NULL if there is no memory */
struct latency *latency_make(const struct cpu_list *cpus);

void latency_free(struct latency *latency);

/* latency_between - return the latency between two CPUs, by index; 0: unknown */
uint32_t latency_between(const struct latency *latency, unsigned i, unsigned j);

/* latency_set - set a latency in both directions */
void latency_set(struct latency *latency, unsigned i, unsigned j, uint32_t ns);

#endif
