/* SPDX-License-Identifier: MIT */
/**
 * latency_groups.h - which CPUs share a cache, by measured latencies
 *
 * Some hypervisors tell a guest that all its CPUs share one last cache, and some
 * firmware tells no caches. A steal order from such a description treats far CPUs as
 * near.
 */
#ifndef SKUA_TOPOLOGY_LATENCY_GROUPS_H
#define SKUA_TOPOLOGY_LATENCY_GROUPS_H

#include "topology/machine.h"

/**
 * latency_groups_split - split caches that are not one cache
 * @machine: its llc fields change; it gets a remark for each cache that is split
 * @latency: measured between CPUs of @machine, one of each core
 *
 * If CPUs share a cache in the description, but form groups with a clear gap between
 * the latencies within and between them, each group gets a cache of its own. CPUs whose
 * cores were not measured form one more group. If anything is unclear, the function
 * keeps the cache. It never joins caches.
 *
 * Return: the number of caches that were split; -ENOMEM.
 */
int latency_groups_split(struct machine *machine,
			 const struct latency *latency);

/**
 * latency_groups_doubtful - tell whether the caches should be measured
 * @is_virtual: a virtual machine describes them
 *
 * Threads: any. Allocates nothing.
 */
bool latency_groups_doubtful(const struct machine *machine, bool is_virtual);

#endif
