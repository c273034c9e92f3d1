/* SPDX-License-Identifier: MIT */
/**
 * latency_measure.h - measure how long a cache line takes from one CPU to another
 *
 * Two threads, each pinned to its CPU, pass a word to and fro. The latency is half of a
 * round trip in the fastest of several rounds. The CPUs are busy for that time.
 */
#ifndef SKUA_TOPOLOGY_LATENCY_MEASURE_H
#define SKUA_TOPOLOGY_LATENCY_MEASURE_H

#include "topology/latency.h"

/**
 * latency_measure - measure the latency between each two of some CPUs
 * @out: receives the latencies; the caller releases them with latency_free()
 * @cpus: one CPU of each core, as siblings disturb each other; 2 to LATENCY_MAX_CPUS
 * @budget_ns: the longest time; pairs that are not measured by then stay unknown
 *
 * The function creates a thread for each CPU; all of them have ended when it returns.
 * The calling thread sleeps meanwhile and keeps its affinity. A CPU that refuses a
 * thread, or has no time for it, stays unknown.
 *
 * Return: 0; -EAGAIN (no two threads could be created); -ENOMEM.
 */
int latency_measure(struct latency **out, const struct cpu_list *cpus,
		    uint64_t budget_ns);

#endif
