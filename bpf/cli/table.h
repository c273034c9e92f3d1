/* SPDX-License-Identifier: MIT */
/**
 * table.h - prints columns of text, each as wide as its contents
 *
 * 	worker  state    polls
 * 	     0  parked  12,345
 *
 * Widths count characters, each of which may have more than one byte.
 */
#ifndef SKUA_BPF_CLI_TABLE_H
#define SKUA_BPF_CLI_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define TABLE_COLUMNS 16u
#define TABLE_CELL    96u /* size with the 0 byte */

struct table {
	const char *titles[TABLE_COLUMNS]; /* up to the first NULL */
	const char *left; /* "0110": 1 for each left-aligned column; or NULL */
	unsigned columns;
	size_t width; /* columns that end beyond it are left out; 0: no limit */
	size_t cells, room; /* cells in the last row may be missing */
	char (*text)[TABLE_CELL];
};

/* table_begin - begin an empty table; @titles and @left as above, borrowed */
void table_begin(struct table *table, const char *const *titles,
		 const char *left);

/* table_add - add the next cell */
void table_add(struct table *table, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* table_count - add a number as the next cell, as 1,234,567 */
void table_count(struct table *table, uint64_t number);

/* table_rank - add the rank of a process in its MPI job; UINT32_MAX: "-", it has none */
void table_rank(struct table *table, uint32_t rank);

/* table_print - print the titles and all rows, and free the memory */
void table_print(FILE *file, struct table *table);

/* text_count - write @number as 1,234,567; text_time - write @ns as 1.2 ms.
 * @text: 32 bytes. Return: @text */
const char *text_count(char *text, uint64_t number);
const char *text_time(char *text, double ns);

/* text_time_in - write @ns in the unit that text_time() uses for @whole_ns, so
 * that times in a line have the same unit; text_unit - return that unit, and
 * set @unit_ns to its length */
const char *text_time_in(char *text, double ns, double whole_ns);
const char *text_unit(double whole_ns, double *unit_ns);

/* text_sparks - draw each number as a character whose height is in proportion
 * to it, from the first to the last that is not 0, at most TEXT_SPARKS. @text:
 * TABLE_CELL bytes. @line_art: use characters beyond ASCII. Return: @text */
#define TEXT_SPARKS 31u
const char *text_sparks(char *text, const uint64_t *numbers, unsigned count,
			bool line_art);

/* text_width - return the number of characters */
size_t text_width(const char *text);

#endif
