/* SPDX-License-Identifier: MIT */
/* machine_groups.c - find the core, the last-level cache and the kind of each CPU */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/machine_reader.h"

#define CACHES        16 /* more than any CPU has */
#define FULL_CAPACITY 1024u
#define MAX_CAPACITY  1000000u

/* ---- cores and caches ------------------------------------------------------ */

/* A field of struct skua_cpu that names a group of CPUs. */
enum group { GROUP_CORE, GROUP_LLC };

static unsigned *group_of(struct skua_cpu *cpu, enum group group)
{
	return group == GROUP_CORE ? &cpu->core : &cpu->llc;
}

/* join_group - put the CPUs of @list that have no group yet into the group of @cpu, which
 * is the first of them that is read */
static void join_group(struct machine_reader *r, struct skua_cpu *cpu,
		       enum group group, const struct cpu_list *list)
{
	for (unsigned i = 0; i < list->count; i++) {
		unsigned at = machine_reader_index(r, list->cpus[i]);
		unsigned *of;

		if (at == MACHINE_UNKNOWN)
			continue;
		of = group_of(&r->machine->cpus[at], group);
		if (*of == MACHINE_UNKNOWN)
			*of = cpu->cpu;
	}
}

static bool lists_itself(struct machine_reader *r, const struct skua_cpu *cpu,
			 const struct cpu_list *list)
{
	if (cpu_list_contains(list, cpu->cpu))
		return true;
	machine_reader_remark(r, "%s does not have CPU %u itself: ignored",
			      r->path, cpu->cpu);
	return false;
}

static void read_core(struct machine_reader *r, struct skua_cpu *cpu)
{
	char folder[64];
	struct cpu_list list;

	snprintf(folder, sizeof(folder), MACHINE_CPUS "/cpu%u/topology",
		 cpu->cpu);
	if (machine_reader_list(r, &list, folder, "core_cpus_list",
				"core_cpus") ||
	    machine_reader_list(r, &list, folder, "thread_siblings_list",
				"thread_siblings")) {
		if (lists_itself(r, cpu, &list))
			join_group(r, cpu, GROUP_CORE, &list);
		cpu_list_free(&list);
	}
	if (cpu->core == MACHINE_UNKNOWN)
		cpu->core = cpu->cpu;
}

/* last_cache - return the index of a CPU's last data cache; -1: sysfs tells none */
static int last_cache(struct machine_reader *r, unsigned cpu)
{
	unsigned long highest = 0;
	int last = -1;

	for (int i = 0; i < CACHES; i++) {
		unsigned long level;

		if (!machine_reader_text(
			    r, MACHINE_CPUS "/cpu%u/cache/index%d/level", cpu,
			    i))
			continue;
		level = strtoul(r->text, NULL, 10);
		if (level <= highest ||
		    (machine_reader_text(
			     r, MACHINE_CPUS "/cpu%u/cache/index%d/type", cpu,
			     i) &&
		     strcmp(r->text, "Instruction") == 0))
			continue;
		highest = level;
		last = i;
	}
	return last;
}

static void read_llc(struct machine_reader *r, struct skua_cpu *cpu)
{
	int cache = last_cache(r, cpu->cpu);
	char folder[64];
	struct cpu_list list;

	snprintf(folder, sizeof(folder), MACHINE_CPUS "/cpu%u/cache/index%d",
		 cpu->cpu, cache);
	if (cache >= 0 &&
	    machine_reader_list(r, &list, folder, "shared_cpu_list",
				"shared_cpu_map")) {
		if (lists_itself(r, cpu, &list))
			join_group(r, cpu, GROUP_LLC, &list);
		cpu_list_free(&list);
	}
}

/* guess_llc - let the CPUs of a node for which sysfs tells no cache share one */
static void guess_llc(struct machine_reader *r)
{
	struct machine *machine = r->machine;
	bool guessed = false;

	for (unsigned i = 0; i < machine->cpu_count; i++) {
		struct skua_cpu *cpu = &machine->cpus[i];

		if (cpu->llc != MACHINE_UNKNOWN)
			continue;
		guessed = true;
		for (unsigned j = i; j < machine->cpu_count; j++)
			if (machine->cpus[j].llc == MACHINE_UNKNOWN &&
			    machine->cpus[j].node == cpu->node)
				machine->cpus[j].llc = cpu->cpu;
	}
	machine->guessed = guessed;
	if (guessed)
		machine_reader_remark(
			r,
			"sysfs does not tell the caches of every CPU: such CPUs "
			"of a node count as sharing one");
}

/*
 * Split each group that crosses a @border, and name each part by its first CPU. The
 * parts of a group are in a chain, which is short: a cache crosses few nodes.
 */
static int cut_groups(struct machine_reader *r, enum group group,
		      unsigned (*border)(const struct skua_cpu *))
{
	unsigned count = r->machine->cpu_count;
	struct skua_cpu *cpus = r->machine->cpus;
	unsigned *first = malloc(count * sizeof(*first));
	unsigned *next = malloc(count * sizeof(*next));

	for (unsigned i = 0; first && i < count; i++)
		first[i] = MACHINE_UNKNOWN;
	for (unsigned i = 0; first && next && i < count; i++) {
		unsigned *of = group_of(&cpus[i], group);
		unsigned whole = machine_reader_index(r, *of),
			 part = first[whole];

		while (part != MACHINE_UNKNOWN &&
		       border(&cpus[part]) != border(&cpus[i]))
			part = next[part];
		if (part == MACHINE_UNKNOWN) {
			next[i] = first[whole];
			first[whole] = part = i;
		}
		*of = cpus[part].cpu;
	}
	free(first);
	free(next);
	return first && next ? 0 : -ENOMEM;
}

static unsigned node_of(const struct skua_cpu *cpu)
{
	return cpu->node;
}

static unsigned llc_of(const struct skua_cpu *cpu)
{
	return cpu->llc;
}

/* ---- kinds ----------------------------------------------------------------- */

static void read_isolated(struct machine_reader *r)
{
	struct cpu_list list;

	if (!machine_reader_list(r, &list, MACHINE_CPUS, "isolated", NULL))
		return;
	for (unsigned i = 0; i < list.count; i++) {
		unsigned at = machine_reader_index(r, list.cpus[i]);

		if (at != MACHINE_UNKNOWN)
			r->machine->cpus[at].isolated = true;
	}
	cpu_list_free(&list);
}

/* read_capacity - return the capacity of a CPU in sysfs or, without one, its highest
 * performance; 0: unknown */
static unsigned read_capacity(struct machine_reader *r, unsigned cpu)
{
	unsigned long told;

	if (!machine_reader_text(r, MACHINE_CPUS "/cpu%u/cpu_capacity", cpu) &&
	    !machine_reader_text(
		    r, MACHINE_CPUS "/cpu%u/acpi_cppc/highest_perf", cpu))
		return 0;
	told = strtoul(r->text, NULL, 10);
	return told > MAX_CAPACITY ? 0 : (unsigned)told;
}

/* On hybrid x86, sysfs tells only the kind of each CPU. */
static void read_kinds(struct machine_reader *r)
{
	struct cpu_list small;

	if (!machine_reader_list(r, &small, "sys/devices/cpu_atom", "cpus",
				 NULL))
		return;
	for (unsigned i = 0; i < r->machine->cpu_count; i++)
		r->machine->cpus[i].capacity = FULL_CAPACITY;
	for (unsigned i = 0; i < small.count; i++) {
		unsigned at = machine_reader_index(r, small.cpus[i]);

		/* A guess: half of the capacity of a large core. */
		if (at != MACHINE_UNKNOWN)
			r->machine->cpus[at].capacity = FULL_CAPACITY / 2;
	}
	cpu_list_free(&small);
}

static void read_capacities(struct machine_reader *r)
{
	struct machine *machine = r->machine;
	unsigned highest = 0, told = 0;

	for (unsigned i = 0; i < machine->cpu_count; i++) {
		unsigned capacity = read_capacity(r, machine->cpus[i].cpu);

		if (capacity == 0)
			break;
		machine->cpus[i].capacity = capacity;
		highest = capacity > highest ? capacity : highest;
		told++;
	}
	for (unsigned i = 0; i < told; i++) {
		unsigned *capacity = &machine->cpus[i].capacity;

		/* Capacities count only if all CPUs have one. */
		*capacity = told < machine->cpu_count
				    ? 0
				    : *capacity * FULL_CAPACITY / highest;
	}
	if (told < machine->cpu_count)
		read_kinds(r);
}

/* ---------------------------------------------------------------------------- */

int machine_read_groups(struct machine_reader *r)
{
	struct machine *machine = r->machine;
	int code;

	for (unsigned i = 0; i < machine->cpu_count; i++) {
		struct skua_cpu *cpu = &machine->cpus[i];

		if (cpu->core == MACHINE_UNKNOWN)
			read_core(r, cpu);
		if (cpu->llc == MACHINE_UNKNOWN)
			read_llc(r, cpu);
	}
	guess_llc(r);
	code = cut_groups(r, GROUP_LLC, node_of);
	code = code ? code : cut_groups(r, GROUP_CORE, llc_of);
	read_isolated(r);
	read_capacities(r);
	return code;
}
