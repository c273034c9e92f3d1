/* SPDX-License-Identifier: MIT */
/*
 * topo_heat.c - draw latencies as a heat map in a terminal
 *
 * 	ns between cores
 * 	         0   1   2   3
 * 	    0       21  84  83
 * 	    1   21      82  84
 * 	    2   84  82      22
 * 	    3   83  84  22
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/cli/sorted.h"
#include "bpf/topo/topo.h"

#define MAX_ITEMS  32u
#define LABEL      6u /* columns of a row's name and the space after it */
#define NUMBER     4u
#define SHADE      2u
#define LEVELS     5u
#define MAX_NUMBER 9999u

/* The meaning of a row: the first of these for which there is room. */
enum kind { KIND_CORE, KIND_LLC, KIND_NODE, KINDS };

static const char *const kind_names[KINDS] = {
	"cores, by their first CPUs",
	"caches, by their first CPUs: medians of cores",
	"nodes: medians of cores",
};

/* Further apart means darker, or redder. */
static const char *const blocks[LEVELS] = { "··", "░░", "▒▒", "▓▓", "██" };
static const char *const letters[LEVELS] = { "..", "--", "++", "%%", "@@" };
static const int colours[LEVELS] = { 28, 64, 136, 130, 124 };

struct heat {
	const struct topo *topo;
	enum kind kind;
	unsigned names[MAX_ITEMS], count, left_out;
	unsigned ns[MAX_ITEMS][MAX_ITEMS]; /* 0: unknown */
	unsigned low, high;
	bool numbers, line_art, colour;
};

/* ---- distances ------------------------------------------------------------ */

static unsigned name_of(const struct skua_cpu *cpu, enum kind kind)
{
	if (kind == KIND_CORE)
		return cpu->core;
	return kind == KIND_LLC ? cpu->llc : cpu->node;
}

/* Whether the CPU was measured. Only the first CPU of each core is. */
static bool was_measured(const struct topo *topo, const struct skua_cpu *cpu)
{
	for (unsigned i = 0; cpu->cpu == cpu->core && i < topo->cpu_count; i++)
		if (skua_topology_latency(topo->topology, cpu->cpu,
					  topo->cpus[i].cpu) != 0)
			return true;
	return false;
}

/* List the measured items, as many as there is room for. Return: how many there
 * are. */
static unsigned find_items(struct heat *heat,
			   const struct skua_cpu *const *cpus, unsigned count,
			   unsigned room)
{
	unsigned found = 0;

	heat->count = 0;
	for (unsigned i = 0; i < count; i++) {
		unsigned name = name_of(cpus[i], heat->kind), k = 0;

		while (k < i && name_of(cpus[k], heat->kind) != name)
			k++;
		if (k < i)
			continue;
		if (found++ < room)
			heat->names[heat->count++] = name;
	}
	return found;
}

static int by_size(const void *a, const void *b)
{
	const unsigned *left = a, *right = b;

	return compare_numbers(*left, *right);
}

static unsigned median(const struct heat *heat,
		       const struct skua_cpu *const *cpus, unsigned count,
		       unsigned from, unsigned to, unsigned *values)
{
	size_t found = 0;

	for (unsigned i = 0; i < count; i++) {
		if (name_of(cpus[i], heat->kind) != from)
			continue;
		for (unsigned k = 0; k < count; k++) {
			unsigned ns;

			if (name_of(cpus[k], heat->kind) != to)
				continue;
			ns = skua_topology_latency(heat->topo->topology,
						   cpus[i]->cpu, cpus[k]->cpu);
			if (ns != 0)
				values[found++] = ns;
		}
	}
	qsort(values, found, sizeof(*values), by_size);
	return found ? values[found / 2] : 0;
}

static void fill(struct heat *heat, const struct skua_cpu *const *cpus,
		 unsigned count, unsigned *values)
{
	heat->low = UINT32_MAX;
	for (unsigned i = 0; i < heat->count; i++) {
		for (unsigned k = 0; k < heat->count; k++) {
			unsigned ns = median(heat, cpus, count, heat->names[i],
					     heat->names[k], values);

			heat->ns[i][k] = ns;
			if (ns != 0 && ns < heat->low)
				heat->low = ns;
			if (ns > heat->high)
				heat->high = ns;
		}
	}
}

/* ---- printing -------------------------------------------------------------- */

/* Whether all latencies count as equal: the highest is below 1.4 times the
 * lowest. */
static bool are_alike(const struct heat *heat)
{
	return heat->high * 5ull < heat->low * 7ull;
}

static unsigned level_of(const struct heat *heat, unsigned ns)
{
	if (are_alike(heat))
		return 0;
	return (unsigned)((uint64_t)(ns - heat->low) * LEVELS /
			  (heat->high - heat->low + 1));
}

static const char *shade_of(const struct heat *heat, unsigned level)
{
	return heat->line_art ? blocks[level] : letters[level];
}

static void print_cell(FILE *file, const struct heat *heat, unsigned ns)
{
	unsigned wide = heat->numbers ? NUMBER : SHADE;
	unsigned level;

	if (ns == 0) {
		fprintf(file, "%*s", (int)wide, "");
		return;
	}
	level = level_of(heat, ns);
	if (heat->colour)
		fprintf(file, "\033[38;5;231;48;5;%dm", colours[level]);
	if (heat->numbers)
		fprintf(file, "%*u", (int)wide,
			ns < MAX_NUMBER ? ns : MAX_NUMBER);
	else
		fputs(shade_of(heat, level), file);
	if (heat->colour)
		fputs("\033[0m", file);
}

/* Print the names of the columns; in columns of two characters they stand
 * upright. */
static void print_names(FILE *file, const struct heat *heat)
{
	char digits[MAX_ITEMS][16];
	size_t longest = 0;

	fprintf(file, "%*s", (int)LABEL, "");
	if (heat->numbers) {
		for (unsigned i = 0; i < heat->count; i++)
			fprintf(file, "%*u", (int)NUMBER, heat->names[i]);
		fputc('\n', file);
		return;
	}
	for (unsigned i = 0; i < heat->count; i++) {
		sprintf(digits[i], "%u", heat->names[i]);
		if (strlen(digits[i]) > longest)
			longest = strlen(digits[i]);
	}
	for (size_t at = longest; at > 0; at--) {
		if (at < longest)
			fprintf(file, "%*s", (int)LABEL, "");
		for (unsigned i = 0; i < heat->count; i++) {
			size_t length = strlen(digits[i]);

			fprintf(file, " %c",
				length >= at ? digits[i][length - at] : ' ');
		}
		fputc('\n', file);
	}
}

static void print_levels(FILE *file, const struct heat *heat)
{
	unsigned span = heat->high - heat->low + 1;

	for (unsigned i = 0; i < LEVELS; i++) {
		/* The lowest and the highest latency of this level. */
		unsigned from = heat->low + (i * span + LEVELS - 1) / LEVELS;
		unsigned to = heat->low + ((i + 1) * span - 1) / LEVELS;

		if (are_alike(heat)) {
			fprintf(file, "  %s %u-%u ns: all alike\n",
				shade_of(heat, 0), heat->low, heat->high);
			return;
		}
		if (from <= to)
			fprintf(file, "  %s %u-%u ns\n", shade_of(heat, i),
				from, to);
	}
}

static void print_heat(FILE *file, const struct heat *heat)
{
	fprintf(file, "\nns for a cache line between %s\n",
		kind_names[heat->kind]);
	print_names(file, heat);
	for (unsigned i = 0; i < heat->count; i++) {
		fprintf(file, "%*u ", (int)LABEL - 1, heat->names[i]);
		for (unsigned k = 0; k < heat->count; k++)
			print_cell(file, heat, heat->ns[i][k]);
		fputc('\n', file);
	}
	if (heat->left_out > 0)
		fprintf(file, "  and %u more\n", heat->left_out);
	if (!heat->numbers)
		print_levels(file, heat);
}

/* Choose the first kind for which all items have room; if none fits, leave out
 * items. */
static void choose_kind(struct heat *heat, const struct skua_cpu *const *cpus,
			unsigned count, unsigned width)
{
	unsigned room = width > LABEL ? (width - LABEL) / SHADE : 0;
	unsigned found = 0;

	if (room > MAX_ITEMS)
		room = MAX_ITEMS;
	for (unsigned kind = KIND_CORE; kind < KINDS; kind++) {
		heat->kind = kind;
		found = find_items(heat, cpus, count, room);
		if (found <= room)
			break;
	}
	heat->left_out = found - heat->count;
	heat->numbers = LABEL + heat->count * NUMBER <= width;
}

void topo_heat(FILE *file, const struct topo *topo, unsigned width,
	       bool line_art, bool colour)
{
	struct heat heat = { .topo = topo,
			     .line_art = line_art,
			     .colour = colour };
	const struct skua_cpu **cpus = calloc(topo->cpu_count, sizeof(*cpus));
	unsigned count = 0;
	unsigned *values;

	for (unsigned i = 0; cpus && i < topo->cpu_count; i++)
		if (was_measured(topo, &topo->cpus[i]))
			cpus[count++] = &topo->cpus[i];
	values = calloc((size_t)count * count + 1, sizeof(*values));
	if (count == 0)
		fputs("\nno latency was measured\n", file);
	if (values && count > 0) {
		choose_kind(&heat, cpus, count, width);
		fill(&heat, cpus, count, values);
		print_heat(file, &heat);
	}
	free(values);
	free(cpus);
}
