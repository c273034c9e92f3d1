/* SPDX-License-Identifier: MIT */
/* table.h - tables for a terminal, which are also Markdown */
#ifndef SKUA_BENCH_HARNESS_TABLE_H
#define SKUA_BENCH_HARNESS_TABLE_H

#include <stddef.h>
#include <stdio.h>

enum { TABLE_COLUMNS = 10, TABLE_CELL_BYTES = 64 };

struct table_row {
	char cell[TABLE_COLUMNS][TABLE_CELL_BYTES];
};

/**
 * struct table
 * @columns: up to TABLE_COLUMNS
 * @text: bit i: column i is text, to the left, and no figure
 * @head: a name a column
 * @count: rows
 * @fill: write the cells of row @i of @of; called twice for each
 */
struct table {
	unsigned columns;
	unsigned text;
	const char *const *head;
	size_t count;
	void (*fill)(struct table_row *row, const void *of, size_t i);
	const void *of;
};

void table_print(FILE *file, const struct table *table);

#endif
