/* SPDX-License-Identifier: MIT */
/**
 * latency_measure.h - measure how long a cache line takes from one CPU to another
 *
 * Two threads, each pinned to its CPU, throw a word to each other: the result is half
 * of a round trip, of the fastest of several rounds. For a while each of the CPUs is
 * busy with that.
 */
#ifndef SKUA_TOPOLOGY_LATENCY_MEASURE_H
#define SKUA_TOPOLOGY_LATENCY_MEASURE_H

#include "topology/latency.h"

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

#endif
