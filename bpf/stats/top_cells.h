/* SPDX-License-Identifier: MIT */
/* top_cells.h - cells of the tables of skua top */
#ifndef SKUA_BPF_TOP_CELLS_H
#define SKUA_BPF_TOP_CELLS_H

#include "bpf/cli/table.h"

/* top_add_bar - add a share (0 to 1) as a bar and a percentage */
void top_add_bar(struct table *table, double part, bool line_art);

/* top_add_rate - add a rate; below ten with one digit after the point; "-" if it is
 * not known */
void top_add_rate(struct table *table, double rate);

/* top_add_part - add a share (0 to 1) as a percentage; "-" if it is not known */
void top_add_part(struct table *table, double part);

/* top_add_time - add a time; top_add_mean - a mean; "-" if it is 0 */
void top_add_time(struct table *table, double ns);
void top_add_mean(struct table *table, uint64_t sum, uint64_t count);

/* top_whole - round a rate. A process may report any numbers, so it is limited first */
uint64_t top_whole(double rate);

#endif
