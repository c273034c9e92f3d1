/* SPDX-License-Identifier: MIT */
/* stats_rows.c - sum up the figures of task types over all workers */
#include <stdlib.h>
#include <string.h>

#include "bpf/cli/sorted.h"
#include "bpf/stats/figures.h"
#include "bpf/stats/stats.h"

static bool same_row(const struct area_type *a, const struct area_type *b)
{
	return a->type == b->type && a->poll == b->poll;
}

static void add_row(struct stats_rows *rows, const struct area_type *row)
{
	struct area_type *to = rows->rows;

	while (to < rows->rows + rows->count && !same_row(to, row))
		to++;
	if (to == rows->rows + rows->count) {
		rows->count++;
		*to = (struct area_type){ .type = row->type,
					  .poll = row->poll };
	}
	to->polls += row->polls;
	to->run_ns += row->run_ns;
	to->waits += row->waits;
	to->wait_ns += row->wait_ns;
	if (row->longest_ns > to->longest_ns)
		to->longest_ns = row->longest_ns;
	if (row->longest_wait_ns > to->longest_wait_ns)
		to->longest_wait_ns = row->longest_wait_ns;
}

static int by_time(const void *a, const void *b)
{
	const struct area_type *left = a, *right = b;

	return compare_numbers(right->run_ns, left->run_ns);
}

struct stats_rows stats_collect(const struct target_snapshot *snapshot)
{
	struct stats_rows rows = { calloc((size_t)snapshot->worker_count *
						  AREA_TYPES,
					  sizeof(struct area_type)),
				   0 };

	for (unsigned i = 0; rows.rows && i < snapshot->worker_count; i++)
		for (unsigned k = 0; k < AREA_TYPES; k++) {
			const struct area_type *row =
				&snapshot->workers[i].samples.types[k];

			if (figure_is_row(row))
				add_row(&rows, row);
		}
	if (rows.rows)
		qsort(rows.rows, rows.count, sizeof(*rows.rows), by_time);
	return rows;
}

void stats_name(struct target *target, const struct area_type *row, char *name)
{
	if (figure_is_rest(row))
		strcpy(name, "(other tasks)");
	else
		target_name(target, row->type, row->poll, name);
}
