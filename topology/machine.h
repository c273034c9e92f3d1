/* SPDX-License-Identifier: MIT */
/* machine.h - the machine behind skua/topology.h */
#ifndef SKUA_TOPOLOGY_MACHINE_H
#define SKUA_TOPOLOGY_MACHINE_H

#include <stdarg.h>

#include "skua/topology.h"
#include "topology/cpu_list.h"
#include "topology/latency.h"

struct machine {
	struct skua_cpu *cpus; /* ascending, one or more */
	unsigned cpu_count;
	struct skua_numa_node *nodes; /* ascending, one or more */
	unsigned node_count;
	unsigned *
		distances; /* from node i to j, by index: [i * node_count + j] */
	char *remarks;     /* lines; may be empty */
	bool here;         /* the machine this runs on, not a description */
	bool is_virtual;   /* this is a virtual machine, and it is @here */
	bool guessed;      /* sysfs does not tell some of its caches */
	unsigned sharers;  /* users besides the first; see machine_share() */
	struct latency *latency; /* NULL: not measured */
	/* For each CPU, by index: the row of its core in latency, or UINT32_MAX. */
	unsigned *rows;
};

/**
 * machine_load - read the description of a machine
 * @out: receives the machine; the caller releases it with machine_free()
 * @root: "/"; a folder with a copy of the machine's sysfs; or a snapshot (sysfs.h)
 * @err: receives a description of the error; may be NULL
 *
 * Return: 0; -ENOENT (no CPU is described); -ENOMEM; an error of sysfs_open().
 */
int machine_load(struct machine **out, const char *root,
		 struct skua_error *err);

/* machine_share - count one user more, which also calls machine_free(). A shared machine
 * must not be changed. Return: @machine */
struct machine *machine_share(struct machine *machine);

/* machine_free - free a machine, if the caller is its last user; NULL is ignored */
void machine_free(struct machine *machine);

/* machine_remark - add a line to the remarks. Return: 0 or -ENOMEM */
int machine_remark(struct machine *machine, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
int machine_vremark(struct machine *machine, const char *format, va_list args);

/* machine_cpu - return the CPU with the number @cpu, or NULL */
const struct skua_cpu *machine_cpu(const struct machine *machine, unsigned cpu);

/* machine_distance - return the distance from one node to another, by their numbers */
unsigned machine_distance(const struct machine *machine, unsigned from,
			  unsigned to);

#endif
