/* SPDX-License-Identifier: MIT */
/**
 * machine.h - what a machine is: its CPUs, cores, caches and nodes
 *
 * Read from sysfs, in milliseconds, without moving the calling thread. What a
 * machine does not tell, or tells in a way that cannot be, is replaced by a guess
 * that does no harm, and there is a remark about it.
 */
#ifndef SKUA_TOPOLOGY_MACHINE_H
#define SKUA_TOPOLOGY_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "skua/base.h"
#include "topology/cpu_list.h"

/* A CPU that is online. A core, and a group, is called as its first CPU. */
struct machine_cpu {
	unsigned cpu;
	unsigned core; /* CPUs that share one are siblings (SMT) */
	unsigned llc;  /* those that share the last cache, within a node */
	unsigned node; /* its number; 0 on a machine that has no nodes */
	unsigned
		capacity; /* relative speed, the fastest has 1024; 0: unknown */
	bool isolated;    /* the kernel leaves it to who asks for it */
};

struct machine_node {
	unsigned node;         /* its number: there may be gaps */
	unsigned cpus;         /* may be 0 */
	uint64_t memory_bytes; /* may be 0 */
};

struct machine {
	struct machine_cpu *cpus; /* ascending, one or more */
	unsigned cpu_count;
	struct machine_node *nodes; /* ascending, one or more */
	unsigned node_count;
	unsigned *
		distances; /* from node i to j, by index: [i * node_count + j] */
	char *remarks;     /* lines; empty if there was nothing to remark */
};

/* The distance of a node from itself. */
#define MACHINE_HERE 10u

/**
 * machine_load - read what there is
 * @out: receives it; to be given to machine_free()
 * @root: "/"; a folder with a tree as there; or a snapshot (sysfs.h)
 * @err: receives what was wrong; may be NULL
 *
 * Return: 0; -ENOENT (no CPU is described); -ENOMEM; what sysfs_open() returned.
 */
int machine_load(struct machine **out, const char *root,
		 struct skua_error *err);

void machine_free(struct machine *machine);

/* machine_cpu - the CPU of that number, or NULL */
const struct machine_cpu *machine_cpu(const struct machine *machine,
				      unsigned cpu);

/* machine_distance - from a node to another, by their numbers */
unsigned machine_distance(const struct machine *machine, unsigned from,
			  unsigned to);

#endif
