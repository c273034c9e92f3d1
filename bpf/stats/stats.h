/* SPDX-License-Identifier: MIT */
/* stats.h - the parts of skua stats: print a runtime as text and as JSON */
#ifndef SKUA_BPF_STATS_H
#define SKUA_BPF_STATS_H

#include <stdio.h>

#include "bpf/target/target.h"

void stats_text(FILE *file, struct target *target,
		const struct target_runtime *runtime,
		const struct target_snapshot *snapshot);

/* stats_json - print one line of JSON. Return: false if memory is short;
 * nothing is printed then */
bool stats_json(FILE *file, struct target *target,
		const struct target_runtime *runtime,
		const struct target_snapshot *snapshot);

/* Figures of task types, summed over all workers. The caller frees @rows with
 * free(). */
struct stats_rows {
	struct area_type *rows;
	unsigned count;
};

/* stats_collect - collect the rows of all workers, the busiest type first. If
 * memory is short, there are no rows */
struct stats_rows stats_collect(const struct target_snapshot *snapshot);

/* stats_name - write the name of the row's tasks to @name, TARGET_NAME bytes */
void stats_name(struct target *target, const struct area_type *row, char *name);

#endif
