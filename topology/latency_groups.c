/* SPDX-License-Identifier: MIT */
/*
 * latency_groups.c - see latency_groups.h
 *
 * The definition of a gap, below, was tried on the 38 matrices of real machines in the
 * README.md of github.com/nviennot/core-to-core-latency. There the shortest latency
 * between two last caches is 1.56 times (Intel Ice Lake, two sockets: 97 and 62 ns) to 4
 * times (AMD Zen 3: 82 and 21 ns) the longest latency within one. Within a large cache
 * the latencies grow without a gap (Graviton 3: 30 to 57 ns). Siblings of a core are 4
 * to 14 ns apart, the cores of a cache 10 to 62 ns.
 *
 * A fixed limit in nanoseconds cannot work: 68 ns are far on one machine (AMD Zen 4),
 * 72 ns are near on another (Kunpeng 920).
 */
#include "topology/latency_groups.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Two latencies have a gap between them if the longer is at least this factor, and this
 * many ns, above the shorter. */
#define GAP_NUMERATOR   7u
#define GAP_DENOMINATOR 5u
#define GAP_NS          10u
/* Groups of two CPUs that are nearer than this are siblings of a core that the
 * description of the machine does not mention. */
#define SIBLINGS_NS 15u
/* This part of the pairs within a group may be beyond the gap, because other load may
 * disturb a measurement. */
#define DISTURBED_PERCENT 10u

/*
 * The smallest last caches of recent servers have four cores (AMD Zen and Zen 2). A
 * cache with no more cores than that may be real; and among so few cores, the steal
 * order matters little.
 */
#define SURE_CORES 4u

#define NO_PART UINT32_MAX

/* The measured cores of one described cache. */
struct cut {
	const struct machine *machine;
	const struct latency *latency;
	unsigned llc;
	unsigned *members; /* their indices in latency */
	unsigned count;
	unsigned *part; /* for each member: the number of its part */
	unsigned parts;
	uint32_t near_ns, far_ns; /* the latencies below and above the gap */
};

/* ---- a gap ----------------------------------------------------------------- */

static uint32_t between(const struct cut *cut, unsigned a, unsigned b)
{
	return latency_between(cut->latency, cut->members[a], cut->members[b]);
}

/* fill_part - form a part of @first and of each member that is near to a member of the
 * part; return its size */
static unsigned fill_part(struct cut *cut, unsigned first, unsigned *stack)
{
	unsigned depth = 0, size = 0;

	cut->part[first] = cut->parts;
	stack[depth++] = first;
	while (depth > 0) {
		unsigned at = stack[--depth];

		size++;
		for (unsigned i = 0; i < cut->count; i++) {
			uint32_t ns = between(cut, at, i);

			if (cut->part[i] == NO_PART && ns != 0 &&
			    ns <= cut->near_ns) {
				cut->part[i] = cut->parts;
				stack[depth++] = i;
			}
		}
	}
	return size;
}

/* The pairs of members of two parts: all, the measured ones, and those beyond the gap. */
struct tally {
	unsigned pairs, known, far;
};

static bool is_convincing(const struct tally *tally, bool within)
{
	if (tally->known * 2 < tally->pairs)
		return false;
	return within ? tally->far * 100 <= tally->known * DISTURBED_PERCENT
		      : tally->known > 0;
}

static bool parts_are_clear(const struct cut *cut)
{
	unsigned parts = cut->parts;
	struct tally *tallies = calloc((size_t)parts * parts, sizeof(*tallies));
	bool clear = tallies != NULL;

	for (unsigned a = 0; tallies && a < cut->count; a++) {
		for (unsigned b = 0; b < a; b++) {
			unsigned low = cut->part[a], high = cut->part[b];
			uint32_t ns = between(cut, a, b);
			struct tally *tally =
				low < high ? &tallies[low * parts + high]
					   : &tallies[high * parts + low];

			tally->pairs++;
			tally->known += ns != 0;
			tally->far += ns > cut->near_ns;
		}
	}
	for (unsigned i = 0; clear && i < parts; i++)
		for (unsigned j = i; clear && j < parts; j++)
			clear = is_convincing(&tallies[i * parts + j], i == j);
	free(tallies);
	return clear;
}

/* cut_at_gap - tell whether the pairs up to near_ns divide all members into groups
 *
 * A group of one proves nothing: that core may be slow by itself. */
static bool cut_at_gap(struct cut *cut, unsigned *stack)
{
	unsigned largest = 0;

	cut->parts = 0;
	for (unsigned i = 0; i < cut->count; i++)
		cut->part[i] = NO_PART;
	for (unsigned i = 0; i < cut->count; i++) {
		unsigned size;

		if (cut->part[i] != NO_PART)
			continue;
		size = fill_part(cut, i, stack);
		cut->parts++;
		if (size < 2)
			return false;
		if (size > largest)
			largest = size;
	}
	if (largest == 2 && cut->near_ns <= SIBLINGS_NS)
		return false;
	return cut->parts > 1 && parts_are_clear(cut);
}

static int by_ns(const void *a, const void *b)
{
	const uint32_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

static bool is_gap(uint32_t near, uint32_t far)
{
	return far >= near + GAP_NS && (uint64_t)far * GAP_DENOMINATOR >=
					       (uint64_t)near * GAP_NUMERATOR;
}

/* find_gap - find the lowest gap that makes groups
 *
 * It takes the lowest gap, because caches are within sockets: a higher gap would
 * show sockets. Each gap is a factor of 7/5 at least, so 32 bits have room for 66 of
 * them, and all take no longer than 66 passes over the pairs: 0.3 s for 1,024 CPUs at
 * worst. */
static bool find_gap(struct cut *cut, uint32_t *values, unsigned *stack)
{
	size_t count = 0;

	for (unsigned a = 0; a < cut->count; a++)
		for (unsigned b = 0; b < a; b++)
			if (between(cut, a, b) != 0)
				values[count++] = between(cut, a, b);
	qsort(values, count, sizeof(*values), by_ns);
	for (size_t i = 0; i + 1 < count; i++) {
		cut->near_ns = values[i];
		cut->far_ns = values[i + 1];
		if (is_gap(cut->near_ns, cut->far_ns) && cut_at_gap(cut, stack))
			return true;
	}
	return false;
}

/* ---- the machine ----------------------------------------------------------- */

/* part_of - return the number of the part that has the CPU's core; cut->parts if the
 * core was not measured */
static unsigned part_of(const struct cut *cut, const struct skua_cpu *cpu)
{
	for (unsigned i = 0; i < cut->count; i++) {
		unsigned number = cut->latency->cpus.cpus[cut->members[i]];

		if (machine_cpu(cut->machine, number)->core == cpu->core)
			return cut->part[i];
	}
	return cut->parts;
}

/* print_cpus - print the CPUs of the cache @llc as "0-3,8" */
static void print_cpus(FILE *file, const struct machine *machine, unsigned llc)
{
	bool first = true;

	for (unsigned i = 0; i < machine->cpu_count; i++) {
		const struct skua_cpu *cpu = &machine->cpus[i];
		unsigned last = i;

		if (cpu->llc != llc)
			continue;
		while (last + 1 < machine->cpu_count &&
		       cpu[last - i + 1].llc == llc &&
		       cpu[last - i + 1].cpu == cpu->cpu + (last - i) + 1)
			last++;
		fprintf(file, first ? "%u" : ",%u", cpu->cpu);
		if (last > i)
			fprintf(file, "-%u", machine->cpus[last].cpu);
		first = false;
		i = last;
	}
}

/* remark_cut - add a remark about the split; @first: the first CPU of each part */
static int remark_cut(struct machine *machine, const struct cut *cut,
		      const unsigned *first)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	int code;

	if (!file)
		return -ENOMEM;
	for (unsigned i = 0; i < cut->parts; i++) {
		fputs(i > 0 ? "; " : "", file);
		print_cpus(file, machine, first[i]);
	}
	if (first[cut->parts] != NO_PART) {
		fputs("; and, not measured, ", file);
		print_cpus(file, machine, first[cut->parts]);
	}
	code = fclose(file) ? -ENOMEM : 0;
	if (!code)
		code = machine_remark(
			machine,
			"the cache of CPU %u is several groups of CPUs by latency, up to %u ns apart within and %u ns or more between; a cache each: %s",
			cut->llc, cut->near_ns, cut->far_ns, text);
	free(text);
	return code;
}

/* apply - make each part a cache of its own, named by its first CPU */
static int apply(struct machine *machine, const struct cut *cut)
{
	unsigned *first = malloc((cut->parts + 1) * sizeof(*first));
	int code;

	if (!first)
		return -ENOMEM;
	for (unsigned i = 0; i <= cut->parts; i++)
		first[i] = NO_PART;
	/* The cache was named by its first CPU, which is also the first of its part. So
	 * that part keeps the name of the cache. */
	for (unsigned i = 0; i < machine->cpu_count; i++) {
		struct skua_cpu *cpu = &machine->cpus[i];
		unsigned part;

		if (cpu->llc != cut->llc)
			continue;
		part = part_of(cut, cpu);
		if (first[part] == NO_PART)
			first[part] = cpu->cpu;
		cpu->llc = first[part];
	}
	code = remark_cut(machine, cut, first);
	free(first);
	return code;
}

static unsigned find_members(struct cut *cut)
{
	const struct cpu_list *cpus = &cut->latency->cpus;
	unsigned count = 0;

	for (unsigned i = 0; i < cpus->count; i++) {
		const struct skua_cpu *cpu =
			machine_cpu(cut->machine, cpus->cpus[i]);

		if (cpu && cpu->llc == cut->llc)
			cut->members[count++] = i;
	}
	return count;
}

/* split_cache - split one cache. Return: 1 if it was split; 0 if not; -ENOMEM. */
static int split_cache(struct machine *machine, const struct latency *latency,
		       unsigned llc)
{
	size_t count = latency->cpus.count;
	unsigned *memory = calloc(3 * count + 1, sizeof(*memory));
	uint32_t *values = calloc(count * count + 1, sizeof(*values));
	struct cut cut = { .machine = machine,
			   .latency = latency,
			   .llc = llc,
			   .members = memory,
			   .part = memory + count };
	int code = memory && values ? 0 : -ENOMEM;

	if (!code) {
		cut.count = find_members(&cut);
		code = find_gap(&cut, values, memory + 2 * count);
	}
	if (code == 1 && apply(machine, &cut))
		code = -ENOMEM;
	free(memory);
	free(values);
	return code;
}

int latency_groups_split(struct machine *machine, const struct latency *latency)
{
	int split = 0;

	for (unsigned i = 0; i < machine->cpu_count; i++) {
		unsigned cpu = machine->cpus[i].cpu;
		int code;

		if (machine->cpus[i].llc != cpu)
			continue;
		code = split_cache(machine, latency, cpu);
		if (code < 0)
			return code;
		split += code;
	}
	return split;
}

/* ---- doubts ---------------------------------------------------------------- */

/*
 * A cache is doubtful if it covers a whole node, has many cores, and was guessed or
 * described by a hypervisor.
 *
 * The number of cores alone proves nothing: some real caches have over a hundred. But
 * hypervisors that do not know the caches (QEMU and Firecracker) say that all CPUs of a
 * socket or a node share one, wherever these CPUs run. A hypervisor that describes
 * several caches within a node was configured with them. The firmware of a real machine
 * is trusted; a guess is not.
 */
bool latency_groups_doubtful(const struct machine *machine, bool is_virtual)
{
	for (unsigned i = 0; i < machine->cpu_count; i++) {
		const struct skua_cpu *first = &machine->cpus[i];
		unsigned cores = 0;
		bool whole_node = true;

		if (first->llc != first->cpu)
			continue;
		for (unsigned k = 0; k < machine->cpu_count; k++) {
			const struct skua_cpu *cpu = &machine->cpus[k];

			if (cpu->llc == first->llc)
				cores += cpu->core == cpu->cpu;
			else if (cpu->node == first->node)
				whole_node = false;
		}
		if (cores > SURE_CORES && whole_node &&
		    (is_virtual || machine->guessed))
			return true;
	}
	return false;
}
