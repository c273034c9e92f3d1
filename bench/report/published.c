/* SPDX-License-Identifier: MIT */
/* published.c - see published.h */
#include "bench/report/published.h"

#include "bench/harness/table.h"

/* Tokio 1.53.1 beside skua of November 2026 on two virtual CPUs of an Ice Lake Xeon
 * at 2.8 GHz: medians of five alternating runs, ns an operation, [0] with one worker
 * and [1] with two. */
static const struct published {
	const char *workload;
	double skua[2];
	double tokio[2];
} published[] = {
	{ "spawn_many_local", { 90, 96 }, { 881, 1052 } },
	{ "spawn_many_worker", { 175, 107 }, { 854, 802 } },
	{ "spawn_many_remote_idle", { 74, 118 }, { 722, 697 } },
	{ "spawn_many_remote_busy1", { 269, 268 }, { 564, 641 } },
	{ "yield_many", { 31.7, 20.9 }, { 100, 72 } },
	{ "ping_pong", { 274, 146 }, { 1253, 1584 } },
	{ "chained_spawn", { 99, 90 }, { 403, 471 } },
	{ "join_one", { 138, 119 }, { 532, 684 } },
};

#define PUBLISHED (sizeof(published) / sizeof(published[0]))

/* The rows of the workloads that the comparison has. */
struct rows {
	const struct published *row[PUBLISHED];
	size_t count;
};

/* Two rows for each: one worker, two workers. */
static void fill_row(struct table_row *row, const void *of, size_t i)
{
	const struct rows *rows = of;
	const struct published *p = rows->row[i / 2];
	double skua = p->skua[i % 2], tokio = p->tokio[i % 2];

	snprintf(row->cell[0], TABLE_CELL_BYTES, "%s", p->workload);
	snprintf(row->cell[1], TABLE_CELL_BYTES, "%zu", i % 2 + 1);
	snprintf(row->cell[2], TABLE_CELL_BYTES, "%.4g", skua);
	snprintf(row->cell[3], TABLE_CELL_BYTES, "%.4g", tokio);
	snprintf(row->cell[4], TABLE_CELL_BYTES, "%.2f", skua / tokio);
}

static void print_tokio(FILE *file, const struct rows *rows)
{
	static const char *const head[] = { "workload", "workers",
					    "skua, ns/op",
					    "Tokio 1.53.1, ns/op", "ratio" };
	const struct table table = { .columns = 5,
				     .text = 1u << 0,
				     .head = head,
				     .count = 2 * rows->count,
				     .fill = fill_row,
				     .of = rows };

	if (rows->count == 0)
		return;
	fputs("Published, not measured here: Tokio 1.53.1 beside skua of November "
	      "2026, on two virtual CPUs of another machine (Ice Lake, 2.8 GHz).\n\n",
	      file);
	table_print(file, &table);
	fputc('\n', file);
}

void published_print(FILE *file,
		     bool (*compared)(const void *of, const char *workload),
		     const void *of)
{
	struct rows rows = { .count = 0 };

	for (size_t i = 0; i < PUBLISHED; i++) {
		if (compared(of, published[i].workload))
			rows.row[rows.count++] = &published[i];
	}
	print_tokio(file, &rows);
	if (compared(of, "fib"))
		fputs("Not run, because no package provides them: Lace, chili, "
		      "OpenCilk, libfork, Taskflow. Published for fib on that "
		      "machine, best: skua 2.5 ns a fork, Lace 1.2, chili 5.0, "
		      "Rayon 16.6.\n\n",
		      file);
}
