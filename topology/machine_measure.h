/* SPDX-License-Identifier: MIT */
/* machine_measure.h - the latencies of this machine: whether to measure, between
 * which CPUs, and what follows */
#ifndef SKUA_TOPOLOGY_MACHINE_MEASURE_H
#define SKUA_TOPOLOGY_MACHINE_MEASURE_H

#include "topology/machine.h"

/* How long it takes at most, where nobody says otherwise. */
#define MACHINE_MEASURE_NS UINT64_C(50000000)

/**
 * machine_measure - measure latencies, and cut caches that are none by them
 * @machine: this machine; its latency, llc fields and remarks change
 * @within: only between these CPUs; NULL: between all that the calling thread may
 *          run on, without which none is measured in any case
 * @budget_ns: for how long at most
 * @err: receives what was wrong; may be NULL
 *
 * Where there is nothing to measure, or not all could be, a remark says why: one
 * core is allowed, control groups leave less CPU time than there are cores, or time
 * was over. See latency.h for what becomes of the calling thread.
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

/* machine_latency - between the cores of two CPUs; 0: unknown, or the same core */
uint32_t machine_latency(const struct machine *machine, unsigned a, unsigned b);

#endif
