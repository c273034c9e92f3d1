/* SPDX-License-Identifier: MIT */
/* topo.h - a machine, and the workers planned for it */
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

	unsigned *allowed; /* allowed CPUs, ascending */
	unsigned allowed_count;
	unsigned *workers; /* the CPU of each worker */
	unsigned worker_count;
	enum skua_binding binding; /* what each worker is bound to */
	bool measured;             /* latencies were measured */
};

/* topo_cpu - return the CPU with that number, or the first CPU if it is not
 * online */
const struct skua_cpu *topo_cpu(const struct topo *topo, unsigned cpu);

/* topo_picture - draw cores, caches and nodes as boxes, @width columns wide; in
 * ASCII unless @line_art */
void topo_picture(FILE *file, const struct topo *topo, unsigned width,
		  bool line_art);

/**
 * topo_heat - draw latencies between cores as a heat map, @width columns wide
 * @line_art: use block characters; otherwise ASCII
 * @colour: use background colours
 *
 * Cells are numbers if there is room, otherwise shades. If there are more than
 * 32 cores, or more than there is room for, the rows are caches, or else nodes,
 * and the cells are medians of their cores.
 */
void topo_heat(FILE *file, const struct topo *topo, unsigned width,
	       bool line_art, bool colour);

/* topo_json - print one JSON object. Return: false if memory is short */
bool topo_json(FILE *file, const struct topo *topo);

#endif
