/* SPDX-License-Identifier: MIT */
/**
 * table.h - columns of text, each as wide as what is in it
 *
 *	worker  state    polls
 *	     0  parked  12,345
 *
 * A width is a number of characters; a cell may have some of more than one byte.
 */
#ifndef SKUA_BPF_CLI_TABLE_H
#define SKUA_BPF_CLI_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define TABLE_COLUMNS 16u
#define TABLE_CELL    96u /* bytes, with the 0 */

struct table {
	const char *titles[TABLE_COLUMNS]; /* up to the first NULL */
	const char *left; /* "0110": which columns are flush left; or NULL */
	unsigned columns;
	size_t width; /* columns that end beyond it are left out; 0: none is */
	size_t cells, room; /* the last row may have fewer cells */
	char (*text)[TABLE_CELL];
};

/* table_begin - the columns of an empty table; @left as above, borrowed */
void table_begin(struct table *table, const char *const *titles,
		 const char *left);

/* table_add - the next cell */
void table_add(struct table *table, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* table_count - likewise: a number, as 1,234,567 */
void table_count(struct table *table, uint64_t number);

/* table_print - lines, with titles; and give the memory back */
void table_print(FILE *file, struct table *table);

/* text_count - @number as 1,234,567; text_time - @ns as 1.2 ms; both to @text, of
 * 32 bytes. Return: @text */
const char *text_count(char *text, uint64_t number);
const char *text_time(char *text, double ns);

/* text_time_in - @ns in the unit that text_time() takes for @whole_ns, for lines of one
 * unit; text_unit - that unit, and how many nanoseconds it is to @unit_ns */
const char *text_time_in(char *text, double ns, double whole_ns);
const char *text_unit(double whole_ns, double *unit_ns);

/* text_sparks - a character for each number, the greatest the highest, from the first
 * that is not 0 to the last, TEXT_SPARKS of them at most; to @text, of TABLE_CELL
 * bytes. Return: @text */
#define TEXT_SPARKS 31u
const char *text_sparks(char *text, const uint64_t *numbers, unsigned count,
			bool line_art);

/* text_width - how many characters */
size_t text_width(const char *text);

#endif
