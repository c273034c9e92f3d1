/* SPDX-License-Identifier: MIT */
/* machine_measure.h - measure the latencies of this machine if they are needed, and
 * correct its caches by the results */
#ifndef SKUA_TOPOLOGY_MACHINE_MEASURE_H
#define SKUA_TOPOLOGY_MACHINE_MEASURE_H

#include "topology/machine.h"

/* The default of the longest time for a measurement, in nanoseconds. */
#define MACHINE_MEASURE_NS UINT64_C(50000000)

/**
 * machine_measure - measure latencies, and split each cache that they show to be
 * several caches
 * @machine: this machine; its latency, llc fields and remarks change
 * @within: measure only those CPUs in this list that the calling thread may run on;
 *          NULL: all CPUs that it may run on
 * @budget_ns: the longest time
 * @err: receives a description of the error; may be NULL
 *
 * A remark says why pairs were not measured: only one core is allowed, control groups
 * leave less CPU time than there are cores, or the time was over. The calling thread
 * sleeps meanwhile (latency_measure.h).
 *
 * Return: 0; -EINVAL (it is not this machine); -EAGAIN (no two threads could be
 * created); -ENOMEM.
 */
int machine_measure(struct machine *machine, const struct cpu_list *within,
		    uint64_t budget_ns, struct skua_error *err);

/* When to measure latencies: only if the caches are doubtful (latency_groups.h), always,
 * or never. */
enum measure_when {
	MEASURE_IF_DOUBTFUL,
	MEASURE_ALWAYS,
	MEASURE_NEVER,
};

/* machine_measure_due - return true if @when asks for a measurement of this machine */
bool machine_measure_due(const struct machine *machine, enum measure_when when);

/* machine_measure_when - measure now, for at most MACHINE_MEASURE_NS, if @when asks for
 * it; a failure becomes a remark */
void machine_measure_when(struct machine *machine,
			  const struct cpu_list *within,
			  enum measure_when when);

/* machine_latency - return the latency between the cores of two CPUs, in nanoseconds; 0:
 * unknown, or the same core */
uint32_t machine_latency(const struct machine *machine, unsigned a, unsigned b);

#endif
