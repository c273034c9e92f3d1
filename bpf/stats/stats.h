/* SPDX-License-Identifier: MIT */
/* stats.h - the parts of skua stats: a runtime as text, and as JSON */
#ifndef SKUA_BPF_STATS_H
#define SKUA_BPF_STATS_H

#include <stdio.h>

#include "bpf/target/target.h"

void stats_text(FILE *file, struct target *target,
		const struct target_runtime *runtime,
		const struct target_snapshot *snapshot);

/* stats_json - a line. Return: false: no memory, and nothing is printed */
bool stats_json(FILE *file, struct target *target,
		const struct target_runtime *runtime,
		const struct target_snapshot *snapshot);

/* The rows of all workers, those of the same tasks added up: to be freed. */
struct stats_rows {
	struct area_type *rows;
	unsigned count;
};

/* stats_collect - the busiest first; none, if there is no memory */
struct stats_rows stats_collect(const struct target_snapshot *snapshot);

/* stats_name - what to call those tasks; TARGET_NAME bytes */
void stats_name(struct target *target, const struct area_type *row, char *name);

#endif
