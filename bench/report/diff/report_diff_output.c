/* SPDX-License-Identifier: MIT */
/* report_diff_output.c - see report_diff_output.h */
#include "bench/report/diff/report_diff_output.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/output.h"
#include "bench/harness/table.h"
#include "bench/workloads/workloads.h"

/* If the time of the calibration loop differs by more than this between the
 * files, one machine was slower. */
#define LOOP_MIN_CHANGE 0.05

/* The greatest number of rows that are named because only one file has them. */
#define ONLY_MAX 10

/* ---- rows ------------------------------------------------------------------ */

static void put_label(char *cell, json_t *row)
{
	const char *name = json_string_value(json_object_get(row, "workload"));
	const struct workload *workload = workload_find(name);
	json_t *params = json_object_get(row, "params");
	json_t *shown = workload != NULL ? output_changed(workload, params)
					 : json_incref(params);

	output_label(name, shown, cell, TABLE_CELL_BYTES);
	json_decref(shown);
}

static const char *peer_of(json_t *row)
{
	const char *peer = json_string_value(json_object_get(row, "peer"));

	return peer != NULL ? peer : "skua";
}

/* ---- remarks ------------------------------------------------------------------ */

static void add_line(json_t *lines, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void add_line(json_t *lines, const char *format, ...)
{
	char *line;
	va_list list;
	int length;

	va_start(list, format);
	length = vasprintf(&line, format, list);
	va_end(list);
	if (length < 0)
		return;
	/* Replace control characters: a file may contain any text. */
	for (char *c = line; *c != '\0'; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	json_array_append_new(lines, json_string(line));
	free(line);
}

/* Return the values as a text, such as "one", "another", owned by the
 * caller; NULL: unknown, or no memory. */
static char *list(json_t *values)
{
	char *text = json_dumps(values, 0);
	size_t length = text != NULL ? strlen(text) : 0;

	if (length < 2) /* not even the two brackets, which are removed */
		return NULL;
	memmove(text, text + 1, length - 2);
	text[length - 2] = '\0';
	return text;
}

static void compare_member(json_t *lines, json_t *const files[2],
			   const char *member)
{
	char *text[2];

	for (unsigned f = 0; f < 2; f++)
		text[f] = list(json_object_get(
			json_object_get(files[f], "machine"), member));
	if (text[0] != NULL && text[1] != NULL && strcmp(text[0], text[1]) != 0)
		add_line(lines, "%s differs: A %s, B %s", member, text[0],
			 text[1]);
	free(text[0]);
	free(text[1]);
}

static void compare_machines(json_t *lines, json_t *const files[2])
{
	static const char *const members[] = { "skua",   "cpu",      "cpus",
					       "kernel", "compiler", "build" };

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		compare_member(lines, files, members[i]);
	for (unsigned f = 0; f < 2; f++)
		if (json_object_size(json_object_get(files[f], "machine")) == 0)
			add_line(lines, "%c does not name its machine",
				 "AB"[f]);
}

static void compare_loops(json_t *lines, json_t *const files[2])
{
	double ns[2];

	for (unsigned f = 0; f < 2; f++)
		ns[f] = json_number_value(json_object_get(files[f], "loop_ns"));
	if (ns[0] > 0 && ns[1] > 0 &&
	    fabs(log(ns[1] / ns[0])) > log(1 + LOOP_MIN_CHANGE))
		add_line(
			lines,
			"a loop of constant length took %.1f %% %s in "
			"the second file: all times may have changed by as much",
			100 * fabs(ns[1] / ns[0] - 1),
			ns[1] > ns[0] ? "longer" : "less");
}

static void list_rows(json_t *lines, json_t *rows, char file)
{
	char cell[TABLE_CELL_BYTES];
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		if (i == ONLY_MAX) {
			add_line(lines, "only in %c: %zu more", file,
				 json_array_size(rows) - i);
			return;
		}
		put_label(cell, row);
		add_line(lines, "only in %c: %s, workers %lld, of %s", file,
			 cell,
			 json_integer_value(json_object_get(row, "workers")),
			 peer_of(row));
	}
}

static void list_figures(json_t *lines, json_t *figures, char file)
{
	const char *figure;
	json_t *unused;

	json_object_foreach(figures, figure, unused)
	{
		add_line(lines, "%s is not compared where only %c has it",
			 figure, file);
	}
}

json_t *report_diff_remarks(const struct report_diff *diff,
			    json_t *const files[2])
{
	json_t *lines = json_array();

	compare_machines(lines, files);
	compare_loops(lines, files);
	for (unsigned f = 0; f < 2; f++)
		list_rows(lines, diff->only[f], "AB"[f]);
	for (unsigned f = 0; f < 2; f++)
		list_figures(lines, diff->figures[f], "AB"[f]);
	return lines;
}

/* ---- for people ------------------------------------------------------------ */

static bool is_instructions(const struct change *change)
{
	return strcmp(change->figure, REPORT_DIFF_INSTRUCTIONS) == 0;
}

static void put_number(char *cell, double number)
{
	snprintf(cell, TABLE_CELL_BYTES, "%.*f", number < 1000 ? 1 : 0, number);
}

/* Write "4.2 % slower", or, for a large change, "3.1 times as slow". */
static void put_change(char *cell, const struct change *change)
{
	double by = change->by, times = by > 0 ? 1 + by : 1 / (1 + by);
	const char *word = by > 0 ? "slower" : "faster";

	if (is_instructions(change))
		word = by > 0 ? "more" : "fewer";
	if (times > 2)
		snprintf(cell, TABLE_CELL_BYTES, "%.1f times %s", times, word);
	else
		snprintf(cell, TABLE_CELL_BYTES, "%.1f %% %s",
			 100 * (times - 1), word);
}

static void clean(struct table_row *row)
{
	for (unsigned i = 0; i < TABLE_COLUMNS; i++)
		for (char *c = row->cell[i]; *c != '\0'; c++)
			if ((unsigned char)*c < ' ' || *c == 0x7f || *c == '|')
				*c = '?';
}

static void fill_row(struct table_row *row, const void *of, size_t i)
{
	const struct change *change = (const struct change *)of + i;

	memset(row, 0, sizeof(*row));
	put_label(row->cell[0], change->row);
	snprintf(row->cell[1], TABLE_CELL_BYTES, "%lld",
		 json_integer_value(json_object_get(change->row, "workers")));
	snprintf(row->cell[2], TABLE_CELL_BYTES, "%s", peer_of(change->row));
	snprintf(row->cell[3], TABLE_CELL_BYTES, "%s", change->figure);
	for (unsigned f = 0; f < 2; f++)
		put_number(row->cell[4 + f], change->median[f]);
	put_change(row->cell[6], change);
	snprintf(row->cell[7], TABLE_CELL_BYTES, "%zu, %zu", change->values[0],
		 change->values[1]);
	snprintf(row->cell[8], TABLE_CELL_BYTES, "%.2g", change->corrected);
	strcpy(row->cell[9], report_diff_word(change->verdict));
	clean(row);
}

/* Nothing changed: print whether any figure could have been judged at all. */
static void say_nothing(const struct report_diff *diff)
{
	size_t judged = report_diff_judged(diff);

	if (judged == 0)
		puts("Nothing can be judged: too few values, or all runs "
		     "noisy. Reports have more rounds without --quick; a file "
		     "may hold several, concatenated.");
	else if (judged < diff->count)
		printf("Nothing changed beyond noise in the %zu of %zu figures "
		       "that can be judged.\n",
		       judged, diff->count);
	else
		puts("Nothing changed beyond noise.");
}

static void print_table(const struct report_diff *diff, size_t count)
{
	static const char *const head[] = {
		"workload", "workers", "of",     "figure",    "A",
		"B",        "B is",    "values", "by chance", "verdict",
	};
	const struct table table = { .columns = 10,
				     .text = 1u << 0 | 1u << 2 | 1u << 3 |
					     1u << 9,
				     .head = head,
				     .count = count,
				     .fill = fill_row,
				     .of = diff->change };

	if (count > 0)
		table_print(stdout, &table);
	else
		say_nothing(diff);
}

void report_diff_print(const struct report_diff *diff, json_t *lines, bool all)
{
	json_t *line;
	size_t i;

	print_table(diff, all ? diff->count
			      : diff->counts[CHANGE_WRONG] +
					  diff->counts[CHANGE_SLOWER] +
					  diff->counts[CHANGE_FASTER]);
	putchar('\n');
	for (unsigned v = 0; v < CHANGE_VERDICTS; v++)
		printf("%s%zu %s", v == 0 ? "" : ", ", diff->counts[v],
		       report_diff_word(v));
	printf("; only in A %zu, only in B %zu\n",
	       json_array_size(diff->only[0]), json_array_size(diff->only[1]));
	json_array_foreach(lines, i, line)
	{
		printf("Note: %s\n", json_string_value(line));
	}
}

/* ---- for programs ---------------------------------------------------------- */

static json_t *row_json(json_t *row)
{
	return json_pack("{s:O, s:O, s:O, s:O}", "workload",
			 json_object_get(row, "workload"), "params",
			 json_object_get(row, "params"), "workers",
			 json_object_get(row, "workers"), "peer",
			 json_object_get(row, "peer"));
}

static json_t *change_json(const struct change *change)
{
	json_t *row = row_json(change->row);
	json_t *figures = json_pack(
		"{s:s, s:[f, f], s:f, s:[I, I], s:f, s:f, s:f, s:b, s:s}",
		"figure", change->figure, "median", change->median[0],
		change->median[1], "change_percent", 100 * change->by, "values",
		(json_int_t)change->values[0], (json_int_t)change->values[1],
		"p", change->p, "p_corrected", change->corrected, "p_runs",
		change->runs_p, "single_run", (int)change->single, "verdict",
		report_diff_word(change->verdict));

	/* The older name of this figure, from versions that had no others. */
	if (strcmp(change->figure, REPORT_DIFF_TIME) == 0)
		json_object_set(figures, "ns",
				json_object_get(figures, "median"));
	json_object_update(row, figures);
	json_decref(figures);
	return row;
}

static json_t *rows_json(json_t *rows)
{
	json_t *all = json_array(), *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		json_array_append_new(all, row_json(row));
	}
	return all;
}

static json_t *counts_json(const struct report_diff *diff)
{
	json_t *counts = json_object();

	for (unsigned v = 0; v < CHANGE_VERDICTS; v++)
		json_object_set_new(counts, report_diff_word(v),
				    json_integer((json_int_t)diff->counts[v]));
	return counts;
}

json_t *report_diff_json(const struct report_diff *diff, json_t *lines)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < diff->count; i++)
		json_array_append_new(rows, change_json(&diff->change[i]));
	return json_pack("{s:i, s:f, s:o, s:I, s:I, s:[o, o], s:O, s:o}",
			 "format", REPORT_DIFF_FORMAT, "significance",
			 REPORT_DIFF_SIGNIFICANCE, "counts", counts_json(diff),
			 "only_a", (json_int_t)json_array_size(diff->only[0]),
			 "only_b", (json_int_t)json_array_size(diff->only[1]),
			 "only", rows_json(diff->only[0]),
			 rows_json(diff->only[1]), "notes", lines, "rows",
			 rows);
}
