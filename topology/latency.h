/* SPDX-License-Identifier: MIT */
/**
 * latency.h - how long a cache line takes from one CPU to another
 *
 * Two threads, each pinned to its CPU, throw a word to each other: what is told
 * is half of a round trip, of the fastest of several rounds. For a while each of
 * the CPUs is busy with that.
 */
#ifndef SKUA_TOPOLOGY_LATENCY_H
#define SKUA_TOPOLOGY_LATENCY_H

#include <stdint.h>

#include "topology/cpu_list.h"

/* More threads than that would not come to an end in time: a guess. */
#define LATENCY_MAX_CPUS 256u

struct latency {
	struct cpu_list cpus; /* those of the rows and columns */
	uint32_t *ns; /* [i * cpus.count + j], by index, the same in both
			       * directions; 0: not measured, and of i with i */
};

/**
 * latency_measure - between each two of some CPUs
 * @out: receives it; to be given to latency_free()
 * @cpus: one of each core, as siblings disturb each other; 2 to LATENCY_MAX_CPUS
 * @budget_ns: for how long at most; what is not measured by then stays unknown
 *
 * By threads of its own, which have ended when it returns. The affinity of the
 * calling thread is not changed; it sleeps meanwhile. A CPU that refuses a thread,
 * or has no time for it, stays unknown.
 *
 * Return: 0; -EAGAIN (no two threads could be created); -ENOMEM.
 */
int latency_measure(struct latency **out, const struct cpu_list *cpus,
		    uint64_t budget_ns);

/* latency_make - with nothing measured yet; NULL: no memory */
struct latency *latency_make(const struct cpu_list *cpus);

void latency_free(struct latency *latency);

/* latency_between - by index; 0: unknown */
uint32_t latency_between(const struct latency *latency, unsigned i, unsigned j);

/* latency_set - in both directions */
void latency_set(struct latency *latency, unsigned i, unsigned j, uint32_t ns);

#endif
