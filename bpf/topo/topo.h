/* SPDX-License-Identifier: MIT */
/* topo.h - a machine, and the workers that are planned for it */
#ifndef SKUA_BPF_TOPO_H
#define SKUA_BPF_TOPO_H

#include <stdbool.h>
#include <stdio.h>

#include "skua/topology.h"

struct topo {
	struct skua_topology *topology;
	const struct skua_cpu *cpus;
	unsigned cpu_count;
	const struct skua_numa_node *nodes;
	unsigned node_count;

	unsigned *allowed; /* numbers of CPUs, ascending */
	unsigned allowed_count;
	unsigned *workers; /* the CPU of each */
	unsigned worker_count;
	enum skua_binding binding; /* to what each is bound */
	bool measured;             /* there may be latencies */
};

/* topo_cpu - the CPU of that number; the first, if it is not online */
const struct skua_cpu *topo_cpu(const struct topo *topo, unsigned cpu);

/* topo_picture - as boxes of cores, caches and nodes, @width columns wide;
 * without @line_art in ASCII */
void topo_picture(FILE *file, const struct topo *topo, unsigned width,
		  bool line_art);

/**
 * topo_heat - latencies between cores as a heat map, @width columns wide
 * @line_art: with blocks; else in ASCII
 * @colour: with background colours
 *
 * As numbers where there is room for them, else in shades. Of more cores than
 * there is room for, or 32: between caches, or nodes, the median of their cores.
 */
void topo_heat(FILE *file, const struct topo *topo, unsigned width,
	       bool line_art, bool colour);

/* topo_json - as one object; false: there is no memory */
bool topo_json(FILE *file, const struct topo *topo);

#endif
