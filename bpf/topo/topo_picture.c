/* SPDX-License-Identifier: MIT */
/*
 * topo_picture.c - draw a machine as boxes in a terminal
 *
 * Each last-level cache is a box. It has a cell for each core, with the core's
 * CPUs, and below them the workers planned for these:
 *
 * 	node 0, 62.5 GiB
 * 	  cache of CPU 0
 * 	  +-------+-------+
 * 	  | 0   2 | 1   3 |
 * 	  | w0 w2 | w1 w3 |
 * 	  +-------+-------+
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/topo/topo.h"

#define INDENT    2u
#define CELL_TEXT 200u

struct art {
	const char *flat, *upright;
	const char *left[3], *middle[3], *right[3]; /* top, between, bottom */
};

static const struct art ascii = {
	"-", "|", { "+", "+", "+" }, { "+", "+", "+" }, { "+", "+", "+" }
};
static const struct art lines = {
	"─", "│", { "┌", "├", "└" }, { "┬", "┼", "┴" }, { "┐", "┤", "┘" }
};

/* The text of a core's cell. */
struct cell {
	char cpus[CELL_TEXT], workers[CELL_TEXT];
};

/* ---- cells ----------------------------------------------------------------- */

static int worker_on(const struct topo *topo, unsigned cpu)
{
	for (unsigned i = 0; i < topo->worker_count; i++)
		if (topo->binding != SKUA_BOUND_NOT && topo->workers[i] == cpu)
			return (int)i;
	return -1;
}

static bool is_allowed(const struct topo *topo, unsigned cpu)
{
	for (unsigned i = 0; i < topo->allowed_count; i++)
		if (topo->allowed[i] == cpu)
			return true;
	return false;
}

/* Append a word to each of the two lines, in a column that fits both. */
static void append(struct cell *cell, const char *cpu, const char *worker)
{
	size_t used = strlen(cell->cpus);
	size_t wide =
		strlen(cpu) > strlen(worker) ? strlen(cpu) : strlen(worker);

	if (used + wide + 2 > CELL_TEXT)
		return;
	sprintf(cell->cpus + used, " %-*s", (int)wide, cpu);
	sprintf(cell->workers + used, " %-*s", (int)wide, worker);
}

static void fill_cell(struct cell *cell, const struct topo *topo, unsigned core)
{
	*cell = (struct cell){ "", "" };
	for (unsigned i = 0; i < topo->cpu_count; i++) {
		const struct skua_cpu *cpu = &topo->cpus[i];
		char name[32], worker[16] = "";
		int index = worker_on(topo, cpu->cpu);

		if (cpu->core != core)
			continue;
		/* (n): not allowed for this process; n*: isolated. */
		snprintf(name, sizeof(name),
			 is_allowed(topo, cpu->cpu) ? "%u%s" : "(%u)%s",
			 cpu->cpu, cpu->isolated ? "*" : "");
		if (index >= 0)
			snprintf(worker, sizeof(worker), "w%d", index);
		append(cell, name, worker);
	}
}

/* ---- boxes ----------------------------------------------------------------- */

static void rule(FILE *file, const struct art *art, unsigned cells,
		 unsigned wide, unsigned kind)
{
	fprintf(file, "%*s%s", (int)INDENT, "", art->left[kind]);
	for (unsigned i = 0; i < cells; i++) {
		for (unsigned k = 0; k < wide; k++)
			fputs(art->flat, file);
		fputs(i + 1 < cells ? art->middle[kind] : art->right[kind],
		      file);
	}
	fputc('\n', file);
}

static void row(FILE *file, const struct art *art, const struct cell *cells,
		unsigned count, unsigned wide, bool workers)
{
	fprintf(file, "%*s%s", (int)INDENT, "", art->upright);
	for (unsigned i = 0; i < count; i++)
		fprintf(file, "%-*s%s", (int)wide,
			workers ? cells[i].workers : cells[i].cpus,
			art->upright);
	fputc('\n', file);
}

static void print_cells(FILE *file, const struct art *art,
			const struct cell *cells, unsigned count,
			unsigned width)
{
	unsigned wide = 0, a_row;

	for (unsigned i = 0; i < count; i++)
		if (strlen(cells[i].cpus) + 1 > wide)
			wide = (unsigned)strlen(cells[i].cpus) + 1;
	a_row = (width - INDENT - 1) / (wide + 1);
	if (a_row == 0)
		a_row = 1;
	if (a_row > count)
		a_row = count;
	/* The last row may be shorter; then it has no cells to its right. */
	for (unsigned at = 0; at < count; at += a_row) {
		unsigned n = count - at < a_row ? count - at : a_row;

		rule(file, art, n == a_row || at == 0 ? a_row : n, wide,
		     at == 0 ? 0 : 1);
		row(file, art, cells + at, n, wide, false);
		row(file, art, cells + at, n, wide, true);
		if (at + a_row >= count)
			rule(file, art, n, wide, 2);
	}
}

static void print_cache(FILE *file, const struct art *art,
			const struct topo *topo, unsigned llc, unsigned width)
{
	struct cell *cells = calloc(topo->cpu_count, sizeof(*cells));
	unsigned count = 0;

	if (!cells)
		return;
	for (unsigned i = 0; i < topo->cpu_count; i++)
		if (topo->cpus[i].llc == llc &&
		    topo->cpus[i].core == topo->cpus[i].cpu)
			fill_cell(&cells[count++], topo, topo->cpus[i].core);
	fprintf(file, "%*scache of CPU %u\n", (int)INDENT, "", llc);
	print_cells(file, art, cells, count, width);
	free(cells);
}

static void print_node(FILE *file, const struct art *art,
		       const struct topo *topo,
		       const struct skua_numa_node *node, unsigned width)
{
	fprintf(file, "\nnode %u", node->node);
	if (node->memory_bytes > 0)
		fprintf(file, ", %.1f GiB",
			(double)node->memory_bytes / (1 << 30));
	else
		fprintf(file, ", no memory told");
	fputs(node->cpus > 0 ? "\n" : ", no CPUs\n", file);
	for (unsigned i = 0; i < topo->cpu_count; i++)
		if (topo->cpus[i].node == node->node &&
		    topo->cpus[i].llc == topo->cpus[i].cpu)
			print_cache(file, art, topo, topo->cpus[i].llc, width);
}

/* ---- below the boxes ------------------------------------------------------- */

static void print_legend(FILE *file, const struct topo *topo)
{
	bool isolated = false;

	for (unsigned i = 0; i < topo->cpu_count; i++)
		isolated |= topo->cpus[i].isolated;
	if (topo->allowed_count < topo->cpu_count)
		fputs("\n(n): a CPU that is not allowed here\n", file);
	if (isolated)
		fputs("\nn*: a CPU that the kernel isolates\n", file);
}

static void print_distances(FILE *file, const struct topo *topo)
{
	if (topo->node_count < 2)
		return;
	fprintf(file, "\ndistances of nodes\n      ");
	for (unsigned k = 0; k < topo->node_count; k++)
		fprintf(file, "%5u", topo->nodes[k].node);
	for (unsigned i = 0; i < topo->node_count; i++) {
		fprintf(file, "\n%5u:", topo->nodes[i].node);
		for (unsigned k = 0; k < topo->node_count; k++)
			fprintf(file, "%5u",
				skua_topology_distance(topo->topology,
						       topo->nodes[i].node,
						       topo->nodes[k].node));
	}
	fputc('\n', file);
}

/* Return what two workers share, or their distance: the tiers of the steal
 * order. */
static const char *nearness(const struct topo *topo, unsigned a, unsigned b)
{
	const struct skua_cpu *one = topo_cpu(topo, topo->workers[a]);
	const struct skua_cpu *two = topo_cpu(topo, topo->workers[b]);
	static char text[32];

	if (one->core == two->core)
		return "core";
	if (one->llc == two->llc)
		return "cache";
	if (one->node == two->node)
		return "node";
	snprintf(text, sizeof(text), "distance %u",
		 skua_topology_distance(topo->topology, one->node, two->node));
	return text;
}

/* Print the next tier of victims, as "0-3,8": those in @order from @at on that
 * are equally near. Return: the index after the tier. */
static unsigned print_tier(FILE *file, const struct topo *topo, unsigned thief,
			   const unsigned *order, unsigned at)
{
	char name[32];
	unsigned end = at;

	snprintf(name, sizeof(name), "%s", nearness(topo, thief, order[at]));
	fprintf(file, "%s%s ", at ? "; " : "", name);
	while (end < topo->worker_count - 1 &&
	       strcmp(nearness(topo, thief, order[end]), name) == 0) {
		unsigned last = end;

		while (last + 1 < topo->worker_count - 1 &&
		       order[last + 1] == order[last] + 1 &&
		       strcmp(nearness(topo, thief, order[last + 1]), name) ==
			       0)
			last++;
		fprintf(file, end > at ? ",%u" : "%u", order[end]);
		if (last > end)
			fprintf(file, "-%u", order[last]);
		end = last + 1;
	}
	return end;
}

/* Indexed by enum skua_binding. */
static const char *const bindings[] = { "not pinned", "each pinned to its CPU",
					"each on its core",
					"each on its cache" };

static void print_steal_orders(FILE *file, const struct topo *topo)
{
	unsigned *order = calloc(topo->worker_count, sizeof(*order));

	fprintf(file, "\n%u worker%s, %s; the first victims of each\n",
		topo->worker_count, topo->worker_count == 1 ? "" : "s",
		bindings[topo->binding]);
	for (unsigned i = 0; order && i < topo->worker_count; i++) {
		fprintf(file, "  w%-4u CPU %-5u", i, topo->workers[i]);
		if (skua_topology_steal_order(topo->topology, topo->workers,
					      topo->worker_count, i, order))
			break;
		for (unsigned at = 0; at + 1 < topo->worker_count;)
			at = print_tier(file, topo, i, order, at);
		fputs(topo->worker_count == 1 ? "nobody\n" : "\n", file);
	}
	free(order);
}

void topo_picture(FILE *file, const struct topo *topo, unsigned width,
		  bool line_art)
{
	fprintf(file, "%u CPU%s online, %u allowed\n", topo->cpu_count,
		topo->cpu_count == 1 ? "" : "s", topo->allowed_count);
	for (unsigned i = 0; i < topo->node_count; i++)
		print_node(file, line_art ? &lines : &ascii, topo,
			   &topo->nodes[i], width);
	print_legend(file, topo);
	print_distances(file, topo);
	print_steal_orders(file, topo);
}
