/* SPDX-License-Identifier: MIT */
/* table.c - see table.h */
#include "bench/harness/table.h"

#include <stdbool.h>
#include <string.h>

static bool is_text(const struct table *table, unsigned column)
{
	return (table->text >> column & 1) != 0;
}

static void fill_head(struct table_row *row, const struct table *table)
{
	for (unsigned c = 0; c < table->columns; c++)
		snprintf(row->cell[c], TABLE_CELL_BYTES, "%s", table->head[c]);
}

static void widen(int *widths, const struct table *table,
		  const struct table_row *row)
{
	for (unsigned c = 0; c < table->columns; c++) {
		int width = (int)strlen(row->cell[c]);

		if (width > widths[c])
			widths[c] = width;
	}
}

static void print_row(FILE *file, const struct table *table, const int *widths,
		      const struct table_row *row)
{
	for (unsigned c = 0; c < table->columns; c++)
		fprintf(file, "| %*s ",
			is_text(table, c) ? -widths[c] : widths[c],
			row->cell[c]);
	fputs("|\n", file);
}

/* The line under the head, as Markdown needs it: a colon marks the side to
 * which a column is aligned. */
static void print_rule(FILE *file, const struct table *table, const int *widths)
{
	for (unsigned c = 0; c < table->columns; c++) {
		fputs(is_text(table, c) ? "|:" : "|-", file);
		for (int i = 0; i < widths[c]; i++)
			fputc('-', file);
		fputc(is_text(table, c) ? '-' : ':', file);
	}
	fputs("|\n", file);
}

void table_print(FILE *file, const struct table *table)
{
	struct table_row head, row;
	int widths[TABLE_COLUMNS] = { 0 };

	fill_head(&head, table);
	widen(widths, table, &head);
	for (size_t i = 0; i < table->count; i++) {
		table->fill(&row, table->of, i);
		widen(widths, table, &row);
	}
	print_row(file, table, widths, &head);
	print_rule(file, table, widths);
	for (size_t i = 0; i < table->count; i++) {
		table->fill(&row, table->of, i);
		print_row(file, table, widths, &row);
	}
}
