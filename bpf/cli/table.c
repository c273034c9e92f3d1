/* SPDX-License-Identifier: MIT */
/* table.c - see table.h */
#include "bpf/cli/table.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define GAP    2u
#define LEVELS 8u

static const char *const sparks[2][LEVELS + 1] = {
	{ " ", ".", ":", "-", "=", "+", "*", "%", "#" },
	{ " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" },
};

size_t text_width(const char *text)
{
	size_t width = 0;

	/* Count all bytes except those that continue a UTF-8 character. */
	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

const char *text_count(char *text, uint64_t number)
{
	char digits[32];
	size_t length =
		(size_t)snprintf(digits, sizeof(digits), "%" PRIu64, number);
	char *to = text;

	for (size_t i = 0; i < length; i++) {
		if (i > 0 && (length - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = 0;
	return text;
}

const char *text_unit(double whole_ns, double *unit_ns)
{
	static const struct {
		double ns;
		const char *name;
	} units[] = { { 1, "ns" },     { 1e3, "us" },   { 1e6, "ms" },
		      { 1e9, "s" },    { 60e9, "min" }, { 3600e9, "h" },
		      { 86400e9, "d" } };
	unsigned i = 0;

	while (i + 1 < sizeof(units) / sizeof(*units) &&
	       whole_ns >= (i < 3 ? 999.5 * units[i].ns : 2 * units[i + 1].ns))
		i++;
	*unit_ns = units[i].ns;
	return units[i].name;
}

const char *text_time(char *text, double ns)
{
	double unit_ns, value;
	const char *unit = text_unit(ns, &unit_ns);

	value = ns / unit_ns;
	snprintf(text, 32, value < 9.95 && unit_ns > 1 ? "%.1f %s" : "%.0f %s",
		 value, unit);
	return text;
}

const char *text_time_in(char *text, double ns, double whole_ns)
{
	double unit_ns, value;
	const char *unit = text_unit(whole_ns, &unit_ns);
	int digits;

	value = ns / unit_ns;
	if (unit_ns <= 1 || value >= 9.95 || value <= 0)
		digits = 0;
	else if (value >= 0.995)
		digits = 1;
	else
		digits = value >= 0.0995 ? 2 : 3;
	if (digits == 3 && value < 0.001)
		snprintf(text, 32, "<0.001 %s", unit);
	else
		snprintf(text, 32, "%.*f %s", digits, value, unit);
	return text;
}

const char *text_sparks(char *text, const uint64_t *numbers, unsigned count,
			bool line_art)
{
	unsigned first = count, end = 0;
	uint64_t most = 1;

	for (unsigned i = 0; i < count; i++) {
		if (numbers[i] == 0)
			continue;
		first = i < first ? i : first;
		end = i + 1;
		most = numbers[i] > most ? numbers[i] : most;
	}
	text[0] = 0;
	for (unsigned i = first; i < end && i < first + TEXT_SPARKS; i++) {
		double part = (double)numbers[i] / (double)most;
		unsigned level = (unsigned)(part * (LEVELS - 1));

		strcat(text, sparks[line_art][numbers[i] ? level + 1 : 0]);
	}
	return text;
}

void table_begin(struct table *table, const char *const *titles,
		 const char *left)
{
	*table = (struct table){ .left = left };
	while (table->columns < TABLE_COLUMNS && titles[table->columns]) {
		table->titles[table->columns] = titles[table->columns];
		table->columns++;
	}
}

/* Return: NULL if there is no memory. */
static char *next_cell(struct table *table)
{
	if (table->cells == table->room) {
		size_t room = table->room ? table->room * 2 : 64;
		void *more = realloc(table->text, room * TABLE_CELL);

		if (!more)
			return NULL;
		table->text = more;
		table->room = room;
	}
	return table->text[table->cells++];
}

void table_add(struct table *table, const char *format, ...)
{
	char *cell = next_cell(table);
	va_list list;

	if (!cell)
		return;
	va_start(list, format);
	vsnprintf(cell, TABLE_CELL, format, list);
	va_end(list);
}

void table_count(struct table *table, uint64_t number)
{
	char text[32];

	table_add(table, "%s", text_count(text, number));
}

void table_rank(struct table *table, uint32_t rank)
{
	if (rank == UINT32_MAX)
		table_add(table, "-");
	else
		table_add(table, "%" PRIu32, rank);
}

static size_t column_width(const struct table *table, unsigned column)
{
	size_t width = text_width(table->titles[column]);

	for (size_t i = column; i < table->cells; i += table->columns) {
		size_t one = text_width(table->text[i]);

		width = one > width ? one : width;
	}
	return width;
}

static void print_cell(FILE *file, const char *text, size_t width, bool left,
		       bool last)
{
	int blanks = (int)(width - text_width(text));

	fprintf(file, "%*s%s%*s", left ? 0 : blanks, "", text,
		left && !last ? blanks : 0, "");
}

/* Print the row that begins with cell @first; SIZE_MAX: the titles. */
static void print_row(FILE *file, const struct table *table,
		      const size_t *widths, unsigned shown, size_t first)
{
	for (unsigned i = 0; i < shown; i++) {
		bool left = table->left && i < strlen(table->left) &&
			    table->left[i] == '1';
		const char *text = "";

		if (first == SIZE_MAX)
			text = table->titles[i];
		else if (first + i < table->cells)
			text = table->text[first + i];
		print_cell(file, text, widths[i], left, i + 1 == shown);
		if (i + 1 < shown)
			fprintf(file, "%*s", (int)GAP, "");
	}
	fputc('\n', file);
}

void table_print(FILE *file, struct table *table)
{
	size_t widths[TABLE_COLUMNS];
	size_t end = 0;
	unsigned shown = 0;

	for (; shown < table->columns; shown++) {
		widths[shown] = column_width(table, shown);
		end += widths[shown];
		if (shown > 0 && table->width && end > table->width)
			break;
		end += GAP;
	}
	print_row(file, table, widths, shown, SIZE_MAX);
	for (size_t i = 0; i < table->cells; i += table->columns)
		print_row(file, table, widths, shown, i);
	free(table->text);
	table->text = NULL;
	table->cells = table->room = 0;
}
