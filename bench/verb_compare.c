/* SPDX-License-Identifier: MIT */
/* verb_compare.c - what changed between two reports */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/args.h"
#include "bench/changes.h"
#include "bench/output.h"
#include "bench/table.h"
#include "bench/verbs.h"

/* What runs of one program, minutes apart, differ by on a shared machine: README. */
#define LEAST_DEFAULT 5

/* Of a loop that always does the same: then one machine was slower. */
#define LOOP_LEAST 0.05

struct compare_options {
	const char *path[2];
	unsigned paths;
	uint64_t least_percent;
	bool json;
	bool all;
	bool fail_on_slower;
};

enum { OPTION_ALL = 0x100, OPTION_FAIL_ON_SLOWER, OPTION_JSON, OPTION_LEAST };

/* ---- files ----------------------------------------------------------------- */

static int complain(const char *path, const char *why)
{
	fprintf(stderr, ARGS_PROGRAM " compare: %s: %s\n", path, why);
	return -EINVAL;
}

/* All of a file, which may be a pipe; NULL, and errno, if that fails. */
static char *read_all(FILE *file, size_t *length)
{
	char *text = NULL;
	size_t room = 0, got = 1;

	for (*length = 0; got > 0; *length += got) {
		if (*length == room) {
			char *grown = reallocarray(text, room + 4096, 2);

			if (grown == NULL)
				break;
			text = grown;
			room = (room + 4096) * 2;
		}
		got = fread(text + *length, 1, room - *length, file);
	}
	if (got == 0 && !ferror(file))
		return text;
	free(text);
	return NULL;
}

static int read_file(const char *path, json_t **out)
{
	char *text = NULL, why[200];
	size_t length;
	FILE *file;
	int err = 0;

	errno = 0;
	file = fopen(path, "re");
	if (file != NULL)
		text = read_all(file, &length);
	if (text == NULL)
		err = complain(path, strerror(errno != 0 ? errno : EIO));
	else if (changes_read(text, length, out, why, sizeof(why)) != 0)
		err = complain(path, why);
	free(text);
	if (file != NULL)
		fclose(file);
	return err;
}

/* ---- what to know beside the figures ---------------------------------------- */

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
	/* A file may have any text in it. */
	for (char *c = line; *c != '\0'; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	json_array_append_new(lines, json_string(line));
	free(line);
}

static void compare_machines(json_t *lines, json_t *const files[2])
{
	static const char *const members[] = { "cpu", "cpus", "kernel",
					       "compiler" };

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		char *text[2];

		for (unsigned f = 0; f < 2; f++)
			text[f] = json_dumps(
				json_object_get(
					json_object_get(files[f], "machine"),
					members[i]),
				JSON_ENCODE_ANY);
		if (text[0] != NULL && text[1] != NULL &&
		    strcmp(text[0], text[1]) != 0)
			add_line(lines, "%s differs: %s, %s", members[i],
				 text[0], text[1]);
		free(text[0]);
		free(text[1]);
	}
}

static void compare_loops(json_t *lines, json_t *const files[2])
{
	double ns[2];

	for (unsigned f = 0; f < 2; f++)
		ns[f] = json_number_value(json_object_get(files[f], "loop_ns"));
	if (ns[0] > 0 && ns[1] > 0 &&
	    fabs(log(ns[1] / ns[0])) > log(1 + LOOP_LEAST))
		add_line(lines,
			 "a loop that always does the same took %.1f %% %s in "
			 "the second: so may everything",
			 100 * fabs(ns[1] / ns[0] - 1),
			 ns[1] > ns[0] ? "longer" : "less");
}

static json_t *remarks(json_t *const files[2])
{
	json_t *lines = json_array();

	compare_machines(lines, files);
	compare_loops(lines, files);
	return lines;
}

/* ---- for people ------------------------------------------------------------ */

static void put_label(char *cell, const struct change *change)
{
	const char *name =
		json_string_value(json_object_get(change->row, "workload"));
	const struct workload *workload = workload_find(name);
	json_t *params = json_object_get(change->row, "params");
	json_t *shown = workload != NULL ? output_changed(workload, params)
					 : json_incref(params);

	output_label(name, shown, cell, TABLE_CELL_BYTES);
	json_decref(shown);
}

static void put_ns(char *cell, double ns)
{
	snprintf(cell, TABLE_CELL_BYTES, "%.*f", ns < 1000 ? 1 : 0, ns);
}

/* "4.2 % slower", or "3.1 times as slow" where percents say little. */
static void put_change(char *cell, double by)
{
	double times = by > 0 ? 1 + by : 1 / (1 + by);
	const char *word = by > 0 ? "slower" : "faster";

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
	const char *peer =
		json_string_value(json_object_get(change->row, "peer"));

	memset(row, 0, sizeof(*row));
	put_label(row->cell[0], change);
	snprintf(row->cell[1], TABLE_CELL_BYTES, "%lld",
		 json_integer_value(json_object_get(change->row, "workers")));
	snprintf(row->cell[2], TABLE_CELL_BYTES, "%s",
		 peer != NULL ? peer : "skua");
	for (unsigned f = 0; f < 2; f++) {
		put_ns(row->cell[3 + f], change->ns[f]);
		snprintf(row->cell[6 + f], TABLE_CELL_BYTES, "%zu",
			 change->values[f]);
	}
	put_change(row->cell[5], change->by);
	snprintf(row->cell[8], TABLE_CELL_BYTES, "%.2g", change->corrected);
	strcpy(row->cell[9], changes_word(change->verdict));
	clean(row);
}

/* Whether anything could be told. */
static const char *say_nothing(const struct changes *changes)
{
	return changes->counts[CHANGE_SAME] > 0
		       ? "Nothing changed beyond noise."
		       : "Nothing can be told: too few values, or all beside "
			 "noise. Reports have more rounds without --quick.";
}

static void print_table(const struct changes *changes, size_t count)
{
	static const char *const head[] = {
		"workload", "workers",  "of",       "A, ns",     "B, ns",
		"B is",     "A values", "B values", "by chance", "verdict",
	};
	const struct table table = { .columns = 10,
				     .text = 1u << 0 | 1u << 2 | 1u << 9,
				     .head = head,
				     .count = count,
				     .fill = fill_row,
				     .of = changes->change };

	if (count > 0)
		table_print(stdout, &table);
	else
		puts(say_nothing(changes));
}

static void print_text(const struct changes *changes, json_t *lines,
		       const struct compare_options *options)
{
	size_t count = changes->count;
	json_t *line;
	size_t i;

	if (!options->all)
		count = changes->counts[CHANGE_SLOWER] +
			changes->counts[CHANGE_FASTER];
	print_table(changes, count);
	putchar('\n');
	for (unsigned v = 0; v < CHANGE_VERDICTS; v++)
		printf("%s%zu %s", v == 0 ? "" : ", ", changes->counts[v],
		       changes_word(v));
	printf("; only in A %zu, only in B %zu\n", changes->only[0],
	       changes->only[1]);
	json_array_foreach(lines, i, line)
	{
		printf("Note: %s\n", json_string_value(line));
	}
}

/* ---- for programs ---------------------------------------------------------- */

static json_t *change_json(const struct change *change)
{
	json_t *row =
		json_pack("{s:O, s:O, s:O, s:O}", "workload",
			  json_object_get(change->row, "workload"), "params",
			  json_object_get(change->row, "params"), "workers",
			  json_object_get(change->row, "workers"), "peer",
			  json_object_get(change->row, "peer"));
	json_t *figures = json_pack(
		"{s:[f, f], s:f, s:[I, I], s:f, s:f, s:b, s:s}", "ns",
		change->ns[0], change->ns[1], "change_percent",
		100 * change->by, "values", (json_int_t)change->values[0],
		(json_int_t)change->values[1], "p", change->p, "p_corrected",
		change->corrected, "single_run", (int)change->single, "verdict",
		changes_word(change->verdict));

	json_object_update(row, figures);
	json_decref(figures);
	return row;
}

static json_t *counts_json(const struct changes *changes)
{
	json_t *counts = json_object();

	for (unsigned v = 0; v < CHANGE_VERDICTS; v++)
		json_object_set_new(
			counts, changes_word(v),
			json_integer((json_int_t)changes->counts[v]));
	return counts;
}

/* Return: 0; -EINVAL. */
static int print_json(const struct changes *changes, json_t *lines,
		      const struct compare_options *options)
{
	json_t *rows = json_array(), *object;

	for (size_t i = 0; i < changes->count; i++)
		json_array_append_new(rows, change_json(&changes->change[i]));
	object = json_pack("{s:i, s:I, s:f, s:[s, s], s:o, s:I, s:I, s:O, s:o}",
			   "format", CHANGES_FORMAT, "least_percent",
			   (json_int_t)options->least_percent, "significance",
			   CHANGES_SIGNIFICANCE, "files", options->path[0],
			   options->path[1], "counts", counts_json(changes),
			   "only_a", (json_int_t)changes->only[0], "only_b",
			   (json_int_t)changes->only[1], "notes", lines, "rows",
			   rows);
	if (object == NULL)
		return complain(options->path[1],
				"a name is no UTF-8, or there is no memory");
	json_dumpf(object, stdout, JSON_INDENT(1) | OUTPUT_JSON_FLAGS);
	putchar('\n');
	json_decref(object);
	return 0;
}

/* ---- the verb -------------------------------------------------------------- */

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct compare_options *options = state->input;

	switch (key) {
	case OPTION_ALL:
		options->all = true;
		return 0;
	case OPTION_FAIL_ON_SLOWER:
		options->fail_on_slower = true;
		return 0;
	case OPTION_JSON:
		options->json = true;
		return 0;
	case OPTION_LEAST:
		return args_number("--least", arg, 0, 1000,
				   &options->least_percent);
	case ARGP_KEY_ARG:
		if (options->paths == 2)
			return args_refuse("a third file, '%s'; allowed: two",
					   arg);
		options->path[options->paths++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (options->paths < 2)
			return args_refuse(
				"two files are needed; allowed: "
				"report.json, or lines of " ARGS_PROGRAM
				" run --json");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option argp_options[] = {
	{ .name = "all",
	  .key = OPTION_ALL,
	  .doc = "Show also the rows that did not change" },
	{ .name = "fail-on-slower",
	  .key = OPTION_FAIL_ON_SLOWER,
	  .doc = "Exit with 1 if anything is slower beyond noise, or wrong" },
	{ .name = "json", .key = OPTION_JSON, .doc = "Print all rows as JSON" },
	{ .name = "least",
	  .key = OPTION_LEAST,
	  .arg = "PERCENT",
	  .doc = "What a change is at least (default 5); twice that where a "
		 "file has a single run of the workload" },
	{ 0 },
};

static const struct argp argp = {
	.options = argp_options,
	.parser = parse,
	.args_doc = "A B",
	.doc = "Say which workloads are slower or faster in B than in A, beyond "
	       "noise: files report.json, or of what run --json prints, one run "
	       "or more\v"
	       "A row has changed if its medians differ by --least, its rounds "
	       "by more than chance explains (Mann and Whitney's test, with "
	       "Holm's correction for all rows: all together are wrong in 5 % of "
	       "cases at most), the medians of its runs do not overlap, and the "
	       "machine was not busy beside all of them. With three rounds a "
	       "file or less, nothing can be told.\n"
	       "Exit codes: 0 compared, whatever changed; 1 failure, and with "
	       "--fail-on-slower if anything is slower; 2 usage.",
};

static int compare_files(const struct compare_options *options,
			 json_t *const files[2])
{
	struct changes changes;
	json_t *lines;
	bool worse;
	int err = 0;

	if (changes_find(&changes, files,
			 (double)options->least_percent / 100) != 0) {
		complain(options->path[1], strerror(ENOMEM));
		return EXIT_FAILED;
	}
	if (changes.count == 0) {
		complain(options->path[1], "nothing in it is in the other");
		changes_free(&changes);
		return EXIT_FAILED;
	}
	lines = remarks(files);
	if (options->json)
		err = print_json(&changes, lines, options);
	else
		print_text(&changes, lines, options);
	worse = changes.counts[CHANGE_SLOWER] + changes.counts[CHANGE_WRONG] >
		0;
	json_decref(lines);
	changes_free(&changes);
	return err != 0 || (options->fail_on_slower && worse) ? EXIT_FAILED
							      : EXIT_OK;
}

int verb_compare(int argc, char **argv)
{
	struct compare_options options = { .least_percent = LEAST_DEFAULT };
	json_t *files[2] = { NULL, NULL };
	int code = EXIT_FAILED;

	if (args_parse(&argp, "compare", argc, argv, &options) != 0)
		return EXIT_USAGE;
	if (read_file(options.path[0], &files[0]) == 0 &&
	    read_file(options.path[1], &files[1]) == 0)
		code = compare_files(&options, files);
	json_decref(files[0]);
	json_decref(files[1]);
	return code;
}
