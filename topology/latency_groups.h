/* SPDX-License-Identifier: MIT */
/**
 * latency_groups.h - which CPUs share a cache, by how long a line takes
 *
 * Some hypervisors tell a guest that all its CPUs share one last cache, and some
 * firmware tells of none. Who steals in that order steals from far away as if it
 * were near.
 */
#ifndef SKUA_TOPOLOGY_LATENCY_GROUPS_H
#define SKUA_TOPOLOGY_LATENCY_GROUPS_H

#include "topology/machine.h"

/**
 * latency_groups_split - cut caches that are none
 * @machine: whose llc fields change; a remark tells of each cache that was cut
 * @latency: measured between CPUs of @machine, one of each core
 *
 * Where CPUs are told to share a cache, but are groups with a clear gap between
 * the latencies within and between them, each group gets a cache of its own. CPUs
 * whose cores were not measured stay together, apart from those. Where anything is
 * unclear, a cache is left as it was told; and none is ever joined.
 *
 * Return: how many caches were cut; -ENOMEM.
 */
int latency_groups_split(struct machine *machine,
			 const struct latency *latency);

/**
 * latency_groups_doubtful - are the caches worth to be measured?
 * @is_virtual: it is a virtual machine that tells them
 *
 * Threads: any. Allocates nothing.
 */
bool latency_groups_doubtful(const struct machine *machine, bool is_virtual);

#endif
