/* SPDX-License-Identifier: MIT */
/* machine_measure.h - when to measure the latencies of this machine, between which CPUs,
 * and what to change by the results */
#ifndef SKUA_TOPOLOGY_MACHINE_MEASURE_H
#define SKUA_TOPOLOGY_MACHINE_MEASURE_H

#include "topology/machine.h"

/* The default of the longest time for a measurement. */
#define MACHINE_MEASURE_NS UINT64_C(50000000)

/**
 * machine_measure - measure latencies, and split caches that are several by them
 * @machine: this machine; its latency, llc fields and remarks change
 * @within: measure only between these of the CPUs that the calling thread may run on;
 *          NULL: between all of them
 * @budget_ns: the longest time
 * @err: receives what was wrong; may be NULL
 *
 * A remark says why pairs were not measured: only one core is allowed, control groups
 * leave less CPU time than there are cores, or time was over. latency_measure.h says how
 * the calling thread waits.
 *
 * Return: 0; -EINVAL (it is not this machine); -EAGAIN (no two threads could be
 * created); -ENOMEM.
 */
int machine_measure(struct machine *machine, const struct cpu_list *within,
		    uint64_t budget_ns, struct skua_error *err);

/* When to measure latencies: if the caches are doubtful (latency_groups.h), always
 * or never. */
enum measure_when {
	MEASURE_IF_DOUBTFUL,
	MEASURE_ALWAYS,
	MEASURE_NEVER,
};

/* machine_measure_when - measure now, for MACHINE_MEASURE_NS, if @when says so; a
 * failure becomes a remark */
void machine_measure_when(struct machine *machine,
			  const struct cpu_list *within,
			  enum measure_when when);

/* machine_latency - the latency between the cores of two CPUs; 0: unknown, or the same
 * core */
uint32_t machine_latency(const struct machine *machine, unsigned a, unsigned b);

#endif
