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

/* The table. @left_out: parts without a column */
struct types {
	const struct why *why;
	bool left_out[LEDGER_PARTS];
};

/* The largest mean of a part. */
static uint64_t most_of(const struct why *why, unsigned part)
{
	const struct ledger_verdict *v = &why->verdict;
	uint64_t most = 0;

	for (size_t i = 0; i < v->type_count; i++)
		most = v->types[i].means[part] > most ? v->types[i].means[part]
						      : most;
	return most;
}

/* Leave out the parts that are in no row. */
static void leave_out_empty(struct types *types)
{
	for (unsigned k = 0; k < LEDGER_PARTS; k++)
		types->left_out[k] = most_of(types->why, k) == 0 &&
				     (k != LEDGER_PREEMPTED ||
				      types->why->source == WHY_BPF);
}

/* Leave out the smallest part that is left. Return: false if none is left. */
static bool leave_out_smallest(struct types *types)
{
	unsigned least = LEDGER_PARTS;

	for (unsigned k = 0; k < LEDGER_PARTS; k++)
		if (!types->left_out[k] &&
		    (least == LEDGER_PARTS ||
		     most_of(types->why, k) < most_of(types->why, least)))
			least = k;
	if (least < LEDGER_PARTS)
		types->left_out[least] = true;
	return least < LEDGER_PARTS;
}

static void add_type(struct table *table, const struct types *types,
		     const struct ledger_type *type)
{
	const struct why *why = types->why;
	uint64_t whole = greatest(type);
	double unit_ns;

	table_count(table, type->count);
	table_add(table, "%s", text_unit((double)whole, &unit_ns));
	add_time(table, type->p50_ns, whole);
	add_time(table, type->p99_ns, whole);
	add_time(table, type->p999_ns, whole);
	for (unsigned k = 0; k < LEDGER_PARTS; k++) {
		if (types->left_out[k])
			continue;
		if (k == LEDGER_PREEMPTED && why->source != WHY_BPF)
			table_add(table, "?");
		else
			add_time(table, type->means[k], whole);
	}
}

/* A name longer than @room characters leaves its cell empty. */
static void print_rows(FILE *file, const struct types *types, size_t room)
{
	const struct why *why = types->why;
	static const char *const parts[LEDGER_PARTS] = { "waited",  "queued",
							 "parked",  "stolen",
							 "running", "preempted",
							 "desched", "?" };
	const char *titles[TABLE_COLUMNS + 1] = { "task", "count", "unit",
						  "p50",  "p99",   "p99.9" };
	const struct ledger_verdict *v = &why->verdict;
	unsigned columns = 6;
	struct table table;

	for (unsigned k = 0; k < LEDGER_PARTS; k++)
		if (!types->left_out[k])
			titles[columns++] = parts[k];
	table_begin(&table, titles, "1");
	for (size_t i = 0; i < v->type_count; i++) {
		const char *name = name_of(why, &v->types[i]);

		table_add(&table, "%s", text_width(name) > room ? "" : name);
		add_type(&table, types, &v->types[i]);
	}
	table_print(file, &table);
}

/* Return the rows as text, with @room for names; the caller frees it. NULL: no
 * memory */
static char *make_rows(const struct types *types, size_t room)
{
	char *text = NULL;
	size_t bytes;
	FILE *file = open_memstream(&text, &bytes);

	if (!file)
		return NULL;
	print_rows(file, types, room);
	fclose(file);
	return text;
}

/* The width of the table without names that are longer than its title. */
static size_t width_of(const struct types *types)
{
	char *rows = make_rows(types, 0);
	size_t most = 0;

	for (char *next = rows, *line; (line = strsep(&next, "\n"));)
		most = text_width(line) > most ? text_width(line) : most;
	free(rows);
	return most;
}

/* How many of the WHY_WIDTH columns are left for names. Parts are left out until the table
 * fits. */
static size_t make_fit(struct types *types)
{
	size_t least = strlen("task"), width;

	leave_out_empty(types);
	while ((width = width_of(types)) > WHY_WIDTH &&
	       leave_out_smallest(types))
		;
	return width > least && width < WHY_WIDTH ? WHY_WIDTH - width + least
						  : least;
}

/* Name the parts that were left out although they are not empty. */
static void print_left_out(FILE *file, const struct types *types)
{
	const char *before = "without the smallest parts: ";

	for (unsigned k = 0; k < LEDGER_PARTS; k++) {
		if (!types->left_out[k] || most_of(types->why, k) == 0)
			continue;
		fprintf(file, "%s%s", before, ledger_word(k));
		before = ", ";
	}
	if (before[0] == ',')
		fputc('\n', file);
}

void why_print_types(FILE *file, const struct why *why)
{
	const struct ledger_verdict *v = &why->verdict;
	struct types types = { .why = why };
	size_t room = make_fit(&types), i = 0;
	char *rows = make_rows(&types, room), *next = rows;
	const char *titles = strsep(&next, "\n");

	fputs("From ready, or a wait for a lock before, to the end of the "
	      "poll; means of the slowest 1 %\n",
	      file);
	fprintf(file, "%s\n", titles ? titles : "");
	for (; titles && next && i < v->type_count; i++) {
		const char *name = name_of(why, &v->types[i]);

		if (text_width(name) > room)
			fprintf(file, "%s\n", name);
		fprintf(file, "%s\n", strsep(&next, "\n"));
	}
	free(rows);
	print_left_out(file, &types);
	fputc('\n', file);
}
