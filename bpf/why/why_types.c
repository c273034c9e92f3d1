/* SPDX-License-Identifier: MIT */
/* why_types.c - the table of task types and where their time went */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/cli/table.h"
#include "bpf/why/why.h"

/* Add a time as a number in the unit of its row, which has a column of its own. */
static void add_time(struct table *table, uint64_t ns, uint64_t whole_ns)
{
	char text[32];

	text_time_in(text, (double)ns, (double)whole_ns);
	*strchr(text, ' ') = '\0';
	table_add(table, "%s", ns ? text : "-");
}

static uint64_t greatest(const struct ledger_type *type)
{
	uint64_t most = type->p999_ns;

	for (unsigned i = 0; i < LEDGER_PARTS; i++)
		most = type->means[i] > most ? type->means[i] : most;
	return most;
}

static const char *name_of(const struct why *why,
			   const struct ledger_type *type)
{
	return type->name == LEDGER_NOBODY ? "all"
					   : why->ledger.names[type->name];
}

/* Whether a column is left out because the part is in no row. */
static bool is_empty(const struct why *why, unsigned part)
{
	const struct ledger_verdict *v = &why->verdict;

	for (size_t i = 0; i < v->type_count; i++)
		if (v->types[i].means[part] > 0)
			return false;
	return part != LEDGER_PREEMPTED || why->source == WHY_BPF;
}

static void add_type(struct table *table, const struct why *why,
		     const struct ledger_type *type)
{
	uint64_t whole = greatest(type);
	double unit_ns;

	table_count(table, type->count);
	table_add(table, "%s", text_unit((double)whole, &unit_ns));
	add_time(table, type->p50_ns, whole);
	add_time(table, type->p99_ns, whole);
	add_time(table, type->p999_ns, whole);
	for (unsigned k = 0; k < LEDGER_PARTS; k++) {
		if (is_empty(why, k))
			continue;
		if (k == LEDGER_PREEMPTED && why->source != WHY_BPF)
			table_add(table, "?");
		else
			add_time(table, type->means[k], whole);
	}
}

/* A name longer than @room characters leaves its cell empty. */
static void print_rows(FILE *file, const struct why *why, size_t room)
{
	static const char *const parts[LEDGER_PARTS] = { "queued",    "parked",
							 "stolen",    "running",
							 "preempted", "desched",
							 "?" };
	const char *titles[TABLE_COLUMNS + 1] = { "task", "count", "unit",
						  "p50",  "p99",   "p99.9" };
	const struct ledger_verdict *v = &why->verdict;
	unsigned columns = 6;
	struct table table;

	for (unsigned k = 0; k < LEDGER_PARTS; k++)
		if (!is_empty(why, k))
			titles[columns++] = parts[k];
	table_begin(&table, titles, "1");
	for (size_t i = 0; i < v->type_count; i++) {
		const char *name = name_of(why, &v->types[i]);

		table_add(&table, "%s", text_width(name) > room ? "" : name);
		add_type(&table, why, &v->types[i]);
	}
	table_print(file, &table);
}

/* Return the rows as text, with @room for names; the caller frees it. NULL: no
 * memory */
static char *make_rows(const struct why *why, size_t room)
{
	char *text = NULL;
	size_t bytes;
	FILE *file = open_memstream(&text, &bytes);

	if (!file)
		return NULL;
	print_rows(file, why, room);
	fclose(file);
	return text;
}

/* How many of the WHY_WIDTH columns are left for names. */
static size_t room_for_names(const struct why *why)
{
	char *rows = make_rows(why, 0);
	size_t least = strlen("task"), width = WHY_WIDTH, most = 0;

	for (char *next = rows, *line; (line = strsep(&next, "\n"));)
		most = text_width(line) > most ? text_width(line) : most;
	free(rows);
	return most > least && most < width ? width - most + least : least;
}

void why_print_types(FILE *file, const struct why *why)
{
	const struct ledger_verdict *v = &why->verdict;
	size_t room = room_for_names(why), i = 0;
	char *rows = make_rows(why, room), *next = rows;
	const char *titles = strsep(&next, "\n");

	fputs("From ready to the end of the poll; parts are means of each "
	      "type's slowest 1 %\n",
	      file);
	fprintf(file, "%s\n", titles ? titles : "");
	for (; titles && next && i < v->type_count; i++) {
		const char *name = name_of(why, &v->types[i]);

		if (text_width(name) > room)
			fprintf(file, "%s\n", name);
		fprintf(file, "%s\n", strsep(&next, "\n"));
	}
	free(rows);
	fputc('\n', file);
}
