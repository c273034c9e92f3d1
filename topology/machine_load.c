/* SPDX-License-Identifier: MIT */
/* machine_load.c - machine_load() of machine.h: read CPUs and nodes from sysfs */
#include "topology/machine_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "topology/error.h"

#define THERE        20u /* distance of another node, if sysfs does not tell it */
#define MAX_DISTANCE 255u

/* ---- CPUs ------------------------------------------------------------------ */

/* find_cpus - find the CPUs that have a folder and are online
 *
 * If there is a list of online CPUs, a CPU must be in it. */
static int find_cpus(struct machine_reader *r, struct cpu_bits *online)
{
	struct cpu_list folders, list;
	bool listed =
		machine_reader_list(r, &list, MACHINE_CPUS, "online", NULL);
	int code = sysfs_numbers(&r->sysfs, MACHINE_CPUS, "cpu", &folders);

	for (unsigned i = 0; !code && i < folders.count; i++) {
		unsigned cpu = folders.cpus[i];

		/* CPU 0 usually has no file "online". */
		if ((!listed || cpu_list_contains(&list, cpu)) &&
		    !(machine_reader_text(r, MACHINE_CPUS "/cpu%u/online",
					  cpu) &&
		      strcmp(r->text, "0") == 0))
			cpu_bits_add(online, cpu);
	}
	/* Some descriptions leave out folders without information. */
	if (!code && listed && folders.count == 0)
		for (unsigned i = 0; i < list.count; i++)
			cpu_bits_add(online, list.cpus[i]);
	if (!code)
		cpu_list_free(&folders);
	if (listed)
		cpu_list_free(&list);
	return code;
}

static int read_cpus(struct machine_reader *r)
{
	struct machine *machine = r->machine;
	struct cpu_bits online = { { 0 } };
	struct cpu_list list;
	int code = find_cpus(r, &online);

	if (!code)
		code = cpu_list_of_bits(&list, &online);
	if (code)
		return code;
	machine->cpus = calloc(list.count + 1, sizeof(*machine->cpus));
	for (unsigned i = 0; machine->cpus && i < list.count; i++) {
		machine->cpus[i] = (struct skua_cpu){
			.cpu = list.cpus[i],
			.core = MACHINE_UNKNOWN,
			.llc = MACHINE_UNKNOWN,
			.node = MACHINE_UNKNOWN,
		};
		r->index[list.cpus[i]] = i;
	}
	machine->cpu_count = list.count;
	cpu_list_free(&list);
	if (!machine->cpus)
		return -ENOMEM;
	return machine->cpu_count ? 0 : -ENOENT;
}

/* ---- nodes ----------------------------------------------------------------- */

static void read_node_cpus(struct machine_reader *r,
			   struct skua_numa_node *node)
{
	char folder[64];
	struct cpu_list list;

	snprintf(folder, sizeof(folder), MACHINE_NODES "/node%u", node->node);
	if (!machine_reader_list(r, &list, folder, "cpulist", "cpumap"))
		return;
	for (unsigned i = 0; i < list.count; i++) {
		unsigned at = machine_reader_index(r, list.cpus[i]);
		struct skua_cpu *cpu;

		if (at == MACHINE_UNKNOWN)
			continue;
		cpu = &r->machine->cpus[at];
		if (cpu->node != MACHINE_UNKNOWN) {
			machine_reader_remark(
				r,
				"CPU %u is listed in node %u and in node %u: "
				"the first one counts",
				cpu->cpu, cpu->node, node->node);
			continue;
		}
		cpu->node = node->node;
		node->cpus++;
	}
	cpu_list_free(&list);
}

static uint64_t read_memory(struct machine_reader *r, unsigned node)
{
	const char *total;

	if (!machine_reader_text(r, MACHINE_NODES "/node%u/meminfo", node))
		return 0;
	total = strstr(r->text, "MemTotal:");
	return total ? strtoull(total + strlen("MemTotal:"), NULL, 10) * 1024
		     : 0;
}

static int make_nodes(struct machine_reader *r, const struct cpu_list *numbers)
{
	struct machine *machine = r->machine;
	unsigned count = numbers->count ? numbers->count : 1;

	machine->node_count = count;
	machine->nodes = calloc(count, sizeof(*machine->nodes));
	machine->distances =
		calloc((size_t)count * count, sizeof(*machine->distances));
	if (!machine->nodes || !machine->distances)
		return -ENOMEM;
	for (unsigned i = 0; i < numbers->count; i++)
		machine->nodes[i].node = numbers->cpus[i];
	return 0;
}

/* Put CPUs that no node lists into the first node. */
static void adopt_cpus(struct machine_reader *r, bool nodes)
{
	struct machine *machine = r->machine;

	for (unsigned i = 0; i < machine->cpu_count; i++) {
		struct skua_cpu *cpu = &machine->cpus[i];

		if (cpu->node != MACHINE_UNKNOWN)
			continue;
		if (nodes)
			machine_reader_remark(
				r,
				"CPU %u is listed in no node: node %u counts",
				cpu->cpu, machine->nodes[0].node);
		cpu->node = machine->nodes[0].node;
		machine->nodes[0].cpus++;
	}
}

static int read_nodes(struct machine_reader *r)
{
	struct cpu_list numbers;
	int code = sysfs_numbers(&r->sysfs, MACHINE_NODES, "node", &numbers);

	if (code)
		return code;
	code = make_nodes(r, &numbers);
	for (unsigned i = 0; !code && i < numbers.count; i++) {
		struct skua_numa_node *node = &r->machine->nodes[i];

		read_node_cpus(r, node);
		node->memory_bytes = read_memory(r, node->node);
	}
	if (!code)
		adopt_cpus(r, numbers.count > 0);
	cpu_list_free(&numbers);
	return code;
}

/* parse_distances - read a number for each node; only that of the node itself is 10 */
static bool parse_distances(const char *text, unsigned *row, unsigned count,
			    unsigned own)
{
	for (unsigned i = 0; i < count; i++) {
		char *end;
		unsigned long distance = strtoul(text, &end, 10);

		if (end == text || distance < SKUA_DISTANCE_HERE ||
		    distance > MAX_DISTANCE ||
		    (distance == SKUA_DISTANCE_HERE) != (i == own))
			return false;
		row[i] = (unsigned)distance;
		text = end;
	}
	return *text == '\0';
}

static void read_distances(struct machine_reader *r)
{
	struct machine *machine = r->machine;
	unsigned count = machine->node_count;

	for (unsigned i = 0; i < count; i++) {
		unsigned *row = machine->distances + (size_t)i * count;
		bool told =
			machine_reader_text(r, MACHINE_NODES "/node%u/distance",
					    machine->nodes[i].node);

		if (told && parse_distances(r->text, row, count, i))
			continue;
		if (told)
			machine_reader_remark(
				r,
				"%s is '%.60s'; allowed are %u numbers, 10 "
				"for the node itself and up to %u for the "
				"others; %u counts for the others",
				r->path, r->text, count, MAX_DISTANCE, THERE);
		for (unsigned j = 0; j < count; j++)
			row[j] = i == j ? SKUA_DISTANCE_HERE : THERE;
	}
}

/* ---- virtual machines ------------------------------------------------------- */

/* An Arm machine that firmware describes by ACPI does not tell whether it is virtual; it
 * counts as real. */
static bool is_virtual(void)
{
#if defined(__x86_64__)
	unsigned eax, ebx, ecx, edx;

	/* Bit 31 is reserved for hypervisors. */
	if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) && ecx >> 31)
		return true;
#endif
	return access("/sys/hypervisor/type", F_OK) == 0 ||
	       access("/sys/firmware/devicetree/base/hypervisor", F_OK) == 0;
}

/* ---- the machine ----------------------------------------------------------- */

static int read_machine(struct machine_reader *r)
{
	int code = read_cpus(r);

	if (!code)
		code = read_nodes(r);
	if (!code) {
		read_distances(r);
		code = machine_read_groups(r);
	}
	if (!code && !r->machine->remarks)
		r->machine->remarks = calloc(1, 1);
	return !code && (r->no_memory || !r->machine->remarks) ? -ENOMEM : code;
}

static struct machine_reader *make_reader(void)
{
	struct machine_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->sysfs.folder = -1;
	r->machine = calloc(1, sizeof(*r->machine));
	r->index = malloc(CPU_LIST_LIMIT * sizeof(*r->index));
	for (unsigned i = 0; r->index && i < CPU_LIST_LIMIT; i++)
		r->index[i] = MACHINE_UNKNOWN;
	return r;
}

int machine_load(struct machine **out, const char *root, struct skua_error *err)
{
	struct machine_reader *r = make_reader();
	int code;

	*out = NULL;
	if (!r || !r->machine || !r->index)
		code = error_set(err, -ENOMEM, "no memory");
	else
		code = sysfs_open(&r->sysfs, root, err);
	if (!code) {
		r->machine->here = strcmp(root, "/") == 0;
		r->machine->is_virtual = r->machine->here && is_virtual();
		code = read_machine(r);
		if (code == -ENOENT)
			error_set(
				err, code,
				"%s: no CPU is described: neither " MACHINE_CPUS
				"/online nor " MACHINE_CPUS "/cpu0 is there",
				root);
		else if (code)
			error_set(err, code, "%s: %s", root, strerror(-code));
	}
	if (r) {
		sysfs_close(&r->sysfs);
		free(r->index);
		if (code)
			machine_free(r->machine);
		else
			*out = r->machine;
	}
	free(r);
	return code;
}
