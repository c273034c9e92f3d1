/* SPDX-License-Identifier: MIT */
/* table.h - print tables that look right on a terminal and are valid Markdown */
#ifndef SKUA_BENCH_HARNESS_TABLE_H
#define SKUA_BENCH_HARNESS_TABLE_H

#include <stddef.h>
#include <stdio.h>

enum { TABLE_COLUMNS = 10, TABLE_CELL_BYTES = 64 };

struct table_row {
	char cell[TABLE_COLUMNS][TABLE_CELL_BYTES];
};

/**
 * struct table - a table to print
 * @columns: number of columns, up to TABLE_COLUMNS
 * @text: bit i is set if column i is text, aligned to the left; otherwise it is a
 *        figure, aligned to the right
 * @head: name of each column
 * @count: number of rows
 * @fill: writes the cells of row @i from @of; called twice for each row
 * @of: passed to @fill
 */
struct table {
	unsigned columns;
	unsigned text;
	const char *const *head;
	size_t count;
	void (*fill)(struct table_row *row, const void *of, size_t i);
	const void *of;
};

/* table_print - print a table, with each column as wide as its widest cell */
void table_print(FILE *file, const struct table *table);

#endif
