/* SPDX-License-Identifier: MIT */
/* machine.c - see machine.h */
#include "topology/machine.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/error.h"
#include "topology/sysfs.h"

#define CPUS  "sys/devices/system/cpu"
#define NODES "sys/devices/system/node"

#define UNKNOWN       UINT32_MAX
#define THERE         20u /* the distance of another node, if it is not told */
#define MAX_DISTANCE  255u
#define CACHES        16 /* more than any CPU has */
#define FULL_CAPACITY 1024u
#define MAX_CAPACITY  1000000u
#define MAX_REMARKS   30u

/* What is needed while a machine is read. */
struct reader {
	struct sysfs sysfs;
	struct machine *machine;
	unsigned *index; /* of a CPU by its number, or UNKNOWN */
	unsigned remarks;
	bool no_memory;
	char path[SYSFS_PATH_SIZE];
	char text[SYSFS_TEXT_SIZE];
};

/* ---- what is read ---------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void
remark(struct reader *r, const char *format, ...)
{
	char *old = r->machine->remarks, *text, *both = NULL;
	va_list args;
	int length;

	if (r->remarks++ > MAX_REMARKS)
		return;
	if (r->remarks > MAX_REMARKS)
		format = "There is more of that kind";
	va_start(args, format);
	length = vasprintf(&text, format, args);
	va_end(args);
	if (length >= 0) {
		length = asprintf(&both, "%s%s\n", old ? old : "", text);
		free(text);
	}
	if (length < 0) {
		r->no_memory = true;
		return;
	}
	free(old);
	r->machine->remarks = both;
}

/* Read a file to r->text; is there anything in it? */
__attribute__((format(printf, 2, 3))) static bool
read_text(struct reader *r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(r->path, sizeof(r->path), format, args);
	va_end(args);
	return sysfs_read(&r->sysfs, r->path, r->text) == 0 &&
	       r->text[0] != '\0';
}

static bool parsed(struct reader *r, int code, const char *what)
{
	if (code == -ENOMEM)
		r->no_memory = true;
	else if (code)
		remark(r, "%s is no %s: ignored", r->path, what);
	return code == 0;
}

/* The list that is in @folder/@list, or as a mask in @folder/@mask; to be freed
 * if there is one. */
static bool read_list(struct reader *r, struct cpu_list *out,
		      const char *folder, const char *list, const char *mask)
{
	if (read_text(r, "%s/%s", folder, list) &&
	    parsed(r, cpu_list_parse(out, r->text), "list of CPUs"))
		return true;
	return mask && read_text(r, "%s/%s", folder, mask) &&
	       parsed(r, cpu_list_parse_mask(out, r->text), "mask of CPUs");
}

/* ---- CPUs ------------------------------------------------------------------ */

static unsigned index_of(const struct reader *r, unsigned cpu)
{
	return r->index[cpu];
}

/* The CPUs that have a folder; and, if there is a list of those that are online,
 * are in that. */
static int find_cpus(struct reader *r, struct cpu_bits *online)
{
	struct cpu_list folders, list;
	bool listed = read_list(r, &list, CPUS, "online", NULL);
	int code = sysfs_numbers(&r->sysfs, CPUS, "cpu", &folders);

	for (unsigned i = 0; !code && i < folders.count; i++) {
		unsigned cpu = folders.cpus[i];

		/* The first mostly has no such file. */
		if ((!listed || cpu_list_contains(&list, cpu)) &&
		    !(read_text(r, CPUS "/cpu%u/online", cpu) &&
		      strcmp(r->text, "0") == 0))
			cpu_bits_add(online, cpu);
	}
	/* Some who describe a machine leave out what tells nothing. */
	if (!code && listed && folders.count == 0)
		for (unsigned i = 0; i < list.count; i++)
			cpu_bits_add(online, list.cpus[i]);
	if (!code)
		cpu_list_free(&folders);
	if (listed)
		cpu_list_free(&list);
	return code;
}

static int read_cpus(struct reader *r)
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
			.core = UNKNOWN,
			.llc = UNKNOWN,
			.node = UNKNOWN,
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

static void read_node_cpus(struct reader *r, struct skua_numa_node *node)
{
	char folder[64];
	struct cpu_list list;

	snprintf(folder, sizeof(folder), NODES "/node%u", node->node);
	if (!read_list(r, &list, folder, "cpulist", "cpumap"))
		return;
	for (unsigned i = 0; i < list.count; i++) {
		unsigned at = index_of(r, list.cpus[i]);
		struct skua_cpu *cpu = &r->machine->cpus[at];

		if (at == UNKNOWN)
			continue;
		if (cpu->node != UNKNOWN) {
			remark(r,
			       "CPU %u is in node %u and in node %u: "
			       "taken to be in the former",
			       cpu->cpu, cpu->node, node->node);
			continue;
		}
		cpu->node = node->node;
		node->cpus++;
	}
	cpu_list_free(&list);
}

static uint64_t read_memory(struct reader *r, unsigned node)
{
	const char *total;

	if (!read_text(r, NODES "/node%u/meminfo", node))
		return 0;
	total = strstr(r->text, "MemTotal:");
	return total ? strtoull(total + strlen("MemTotal:"), NULL, 10) * 1024
		     : 0;
}

static int make_nodes(struct reader *r, const struct cpu_list *numbers)
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

/* What no node says that it is its own. */
static void adopt_cpus(struct reader *r, bool nodes)
{
	struct machine *machine = r->machine;

	for (unsigned i = 0; i < machine->cpu_count; i++) {
		struct skua_cpu *cpu = &machine->cpus[i];

		if (cpu->node != UNKNOWN)
			continue;
		if (nodes)
			remark(r,
			       "CPU %u is in no node: taken to be in node "
			       "%u",
			       cpu->cpu, machine->nodes[0].node);
		cpu->node = machine->nodes[0].node;
		machine->nodes[0].cpus++;
	}
}

static int read_nodes(struct reader *r)
{
	struct cpu_list numbers;
	int code = sysfs_numbers(&r->sysfs, NODES, "node", &numbers);

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

/* One row: as many numbers as there are nodes, of which only the own is 10. */
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

static void read_distances(struct reader *r)
{
	struct machine *machine = r->machine;
	unsigned count = machine->node_count;

	for (unsigned i = 0; i < count; i++) {
		unsigned *row = machine->distances + (size_t)i * count;
		bool told = read_text(r, NODES "/node%u/distance",
				      machine->nodes[i].node);

		if (told && parse_distances(r->text, row, count, i))
			continue;
		if (told)
			remark(r,
			       "%s is '%.60s': for %u nodes as many numbers "
			       "are expected, 10 for itself and up to %u "
			       "for the others; taken to be %u",
			       r->path, r->text, count, MAX_DISTANCE, THERE);
		for (unsigned j = 0; j < count; j++)
			row[j] = i == j ? SKUA_DISTANCE_HERE : THERE;
	}
}

/* ---- cores and caches ------------------------------------------------------ */

/* Which field of a CPU says to which group it belongs. */
enum group { GROUP_CORE, GROUP_LLC };

static unsigned *group_of(struct skua_cpu *cpu, enum group group)
{
	return group == GROUP_CORE ? &cpu->core : &cpu->llc;
}

/* Those of @list have the same core, or cache, as @cpu, which is the first of
 * them that was looked at. */
static void join_group(struct reader *r, struct skua_cpu *cpu, enum group group,
		       const struct cpu_list *list)
{
	for (unsigned i = 0; i < list->count; i++) {
		unsigned at = index_of(r, list->cpus[i]);
		unsigned *of;

		if (at == UNKNOWN)
			continue;
		of = group_of(&r->machine->cpus[at], group);
		if (*of == UNKNOWN)
			*of = cpu->cpu;
	}
}

static bool lists_itself(struct reader *r, const struct skua_cpu *cpu,
			 const struct cpu_list *list)
{
	if (cpu_list_contains(list, cpu->cpu))
		return true;
	remark(r, "%s does not have CPU %u itself: ignored", r->path, cpu->cpu);
	return false;
}

static void read_core(struct reader *r, struct skua_cpu *cpu)
{
	char folder[64];
	struct cpu_list list;

	snprintf(folder, sizeof(folder), CPUS "/cpu%u/topology", cpu->cpu);
	if (read_list(r, &list, folder, "core_cpus_list", "core_cpus") ||
	    read_list(r, &list, folder, "thread_siblings_list",
		      "thread_siblings")) {
		if (lists_itself(r, cpu, &list))
			join_group(r, cpu, GROUP_CORE, &list);
		cpu_list_free(&list);
	}
	if (cpu->core == UNKNOWN)
		cpu->core = cpu->cpu;
}

/* Which of a CPU's caches is the last that holds data; -1: none is told. */
static int last_cache(struct reader *r, unsigned cpu)
{
	unsigned long highest = 0;
	int last = -1;

	for (int i = 0; i < CACHES; i++) {
		unsigned long level;

		if (!read_text(r, CPUS "/cpu%u/cache/index%d/level", cpu, i))
			continue;
		level = strtoul(r->text, NULL, 10);
		if (level <= highest ||
		    (read_text(r, CPUS "/cpu%u/cache/index%d/type", cpu, i) &&
		     strcmp(r->text, "Instruction") == 0))
			continue;
		highest = level;
		last = i;
	}
	return last;
}

static void read_llc(struct reader *r, struct skua_cpu *cpu)
{
	int cache = last_cache(r, cpu->cpu);
	char folder[64];
	struct cpu_list list;

	snprintf(folder, sizeof(folder), CPUS "/cpu%u/cache/index%d", cpu->cpu,
		 cache);
	if (cache >= 0 &&
	    read_list(r, &list, folder, "shared_cpu_list", "shared_cpu_map")) {
		if (lists_itself(r, cpu, &list))
			join_group(r, cpu, GROUP_LLC, &list);
		cpu_list_free(&list);
	}
}

/* Where caches are not told, a node has one. */
static void guess_llc(struct reader *r)
{
	struct machine *machine = r->machine;
	bool guessed = false;

	for (unsigned i = 0; i < machine->cpu_count; i++) {
		struct skua_cpu *cpu = &machine->cpus[i];

		if (cpu->llc != UNKNOWN)
			continue;
		guessed = true;
		for (unsigned j = i; j < machine->cpu_count; j++)
			if (machine->cpus[j].llc == UNKNOWN &&
			    machine->cpus[j].node == cpu->node)
				machine->cpus[j].llc = cpu->cpu;
	}
	if (guessed)
		remark(r, "caches are not told of every CPU: those of a node "
			  "are taken to share one");
}

/*
 * Cut each group where it crosses @border, and call each part as its first CPU.
 * The parts of a group are in a chain, which is short: a cache crosses few nodes.
 */
static int cut_groups(struct reader *r, enum group group,
		      unsigned (*border)(const struct skua_cpu *))
{
	unsigned count = r->machine->cpu_count;
	struct skua_cpu *cpus = r->machine->cpus;
	unsigned *first = malloc(count * sizeof(*first));
	unsigned *next = malloc(count * sizeof(*next));

	for (unsigned i = 0; first && i < count; i++)
		first[i] = UNKNOWN;
	for (unsigned i = 0; first && next && i < count; i++) {
		unsigned *of = group_of(&cpus[i], group);
		unsigned whole = index_of(r, *of), part = first[whole];

		while (part != UNKNOWN &&
		       border(&cpus[part]) != border(&cpus[i]))
			part = next[part];
		if (part == UNKNOWN) {
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

static int read_groups(struct reader *r)
{
	struct machine *machine = r->machine;
	int code;

	for (unsigned i = 0; i < machine->cpu_count; i++) {
		struct skua_cpu *cpu = &machine->cpus[i];

		if (cpu->core == UNKNOWN)
			read_core(r, cpu);
		if (cpu->llc == UNKNOWN)
			read_llc(r, cpu);
	}
	guess_llc(r);
	code = cut_groups(r, GROUP_LLC, node_of);
	return code ? code : cut_groups(r, GROUP_CORE, llc_of);
}

/* ---- kinds ----------------------------------------------------------------- */

static void read_isolated(struct reader *r)
{
	struct cpu_list list;

	if (!read_list(r, &list, CPUS, "isolated", NULL))
		return;
	for (unsigned i = 0; i < list.count; i++) {
		unsigned at = index_of(r, list.cpus[i]);

		if (at != UNKNOWN)
			r->machine->cpus[at].isolated = true;
	}
	cpu_list_free(&list);
}

/* As the kernel tells it; or by the highest performance of each. */
static unsigned read_capacity(struct reader *r, unsigned cpu)
{
	unsigned long told;

	if (!read_text(r, CPUS "/cpu%u/cpu_capacity", cpu) &&
	    !read_text(r, CPUS "/cpu%u/acpi_cppc/highest_perf", cpu))
		return 0;
	told = strtoul(r->text, NULL, 10);
	return told > MAX_CAPACITY ? 0 : (unsigned)told;
}

/* On hybrid x86 only the kinds are told. */
static void read_kinds(struct reader *r)
{
	struct cpu_list small;

	if (!read_list(r, &small, "sys/devices/cpu_atom", "cpus", NULL))
		return;
	for (unsigned i = 0; i < r->machine->cpu_count; i++)
		r->machine->cpus[i].capacity = FULL_CAPACITY;
	for (unsigned i = 0; i < small.count; i++) {
		unsigned at = index_of(r, small.cpus[i]);

		/* Guessed. */
		if (at != UNKNOWN)
			r->machine->cpus[at].capacity = FULL_CAPACITY / 2;
	}
	cpu_list_free(&small);
}

static void read_capacities(struct reader *r)
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

		/* Of all, or of none. */
		*capacity = told < machine->cpu_count
				    ? 0
				    : *capacity * FULL_CAPACITY / highest;
	}
	if (told < machine->cpu_count)
		read_kinds(r);
}

/* ---- all of it ------------------------------------------------------------- */

static int read_machine(struct reader *r)
{
	int code = read_cpus(r);

	if (!code)
		code = read_nodes(r);
	if (!code) {
		read_distances(r);
		code = read_groups(r);
	}
	if (!code) {
		read_isolated(r);
		read_capacities(r);
	}
	if (!code && !r->machine->remarks)
		r->machine->remarks = strdup("");
	return !code && (r->no_memory || !r->machine->remarks) ? -ENOMEM : code;
}

static struct reader *make_reader(void)
{
	struct reader *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->sysfs.folder = -1;
	r->machine = calloc(1, sizeof(*r->machine));
	r->index = malloc(CPU_LIST_LIMIT * sizeof(*r->index));
	for (unsigned i = 0; r->index && i < CPU_LIST_LIMIT; i++)
		r->index[i] = UNKNOWN;
	return r;
}

int machine_load(struct machine **out, const char *root, struct skua_error *err)
{
	struct reader *r = make_reader();
	int code;

	*out = NULL;
	if (!r || !r->machine || !r->index)
		code = error_set(err, -ENOMEM, "no memory");
	else
		code = sysfs_open(&r->sysfs, root, err);
	if (!code) {
		code = read_machine(r);
		if (code == -ENOENT)
			error_set(err, code,
				  "%s: no CPU is described: neither " CPUS
				  "/online nor " CPUS "/cpu0 is there",
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

void machine_free(struct machine *machine)
{
	if (!machine)
		return;
	free(machine->cpus);
	free(machine->nodes);
	free(machine->distances);
	free(machine->remarks);
	free(machine);
}

static int by_cpu(const void *a, const void *b)
{
	const struct skua_cpu *left = a, *right = b;

	return (left->cpu > right->cpu) - (left->cpu < right->cpu);
}

const struct skua_cpu *machine_cpu(const struct machine *machine, unsigned cpu)
{
	struct skua_cpu wanted = { .cpu = cpu };

	return bsearch(&wanted, machine->cpus, machine->cpu_count,
		       sizeof(*machine->cpus), by_cpu);
}

static unsigned node_index(const struct machine *machine, unsigned node)
{
	unsigned i = 0;

	while (i + 1 < machine->node_count && machine->nodes[i].node != node)
		i++;
	return i;
}

unsigned machine_distance(const struct machine *machine, unsigned from,
			  unsigned to)
{
	return machine
		->distances[node_index(machine, from) * machine->node_count +
			    node_index(machine, to)];
}
