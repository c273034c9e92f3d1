/* SPDX-License-Identifier: MIT */
/* report_diff_read.c - see report_diff.h */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/report/diff/report_diff.h"

/* Allowed range of times and counts, and greatest number of workers. */
#define MIN_NUMBER  1e-6
#define MAX_NUMBER  1e18
#define MAX_WORKERS 4096

/* For each member of "machine", this many different values are kept; more
 * are ignored. */
#define MAX_MACHINES 8

struct reader {
	const char *text;
	size_t length;
	size_t at;
	json_t *file;
	char *why;
	size_t size;
};

__attribute__((format(printf, 2, 3))) static int refuse(struct reader *r,
							const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(r->why, r->size, format, list);
	va_end(list);
	return -EINVAL;
}

static int no_memory(struct reader *r)
{
	refuse(r, "no memory");
	return -ENOMEM;
}

static bool is_figure(const json_t *value)
{
	double number = json_number_value(value);

	return number >= MIN_NUMBER && number <= MAX_NUMBER;
}

/* ---- figures --------------------------------------------------------------- */

/* The compared percentiles, and how many times a round needs for each, so that it is not
 * just the longest time. */
static const struct percentile {
	const char *name;
	json_int_t of;
} percentiles[] = { { "p50", 1 }, { "p99", 100 }, { "p999", 1000 } };

#define PERCENTILES (sizeof(percentiles) / sizeof(percentiles[0]))

/* The compared distributions, which measure the runtime. A report has others, such as
 * those of a bare futex and of a queue without overhead, which are not compared. */
static const char *const distributions[] = { "latency_ns", "awake_latency_ns",
					     "cold_latency_ns", "slowdown" };

#define DISTRIBUTIONS (sizeof(distributions) / sizeof(distributions[0]))

/* Return the times of the rounds; the median alone if the result has no times
 * of rounds; NULL if they are not valid. */
static json_t *values_of(json_t *result)
{
	json_t *rounds = json_object_get(result, "rounds_ns"), *value;
	size_t i;

	if (rounds == NULL)
		return json_pack("[O]", json_object_get(result, "ns_per_op"));
	if (json_array_size(rounds) == 0)
		return NULL;
	json_array_foreach(rounds, i, value)
	{
		if (!is_figure(value))
			return NULL;
	}
	return json_incref(rounds);
}

/* Return the percentile of each round that has enough times for it. */
static json_t *percentile_of(json_t *rounds,
			     const struct percentile *percentile)
{
	json_t *values = json_array(), *round;
	size_t i;

	json_array_foreach(rounds, i, round)
	{
		json_t *count = json_object_get(round, "count");
		json_t *value = json_object_get(round, percentile->name);

		if (json_integer_value(count) >= percentile->of &&
		    is_figure(value))
			json_array_append(values, value);
	}
	return values;
}

/* Return whether two figures have the same values. The time of an operation
 * may be the median of its latencies, which is then not compared again. */
static bool is_same(json_t *values, json_t *others)
{
	size_t count = json_array_size(values);

	if (count != json_array_size(others))
		return false;
	for (size_t i = 0; i < count; i++)
		if (json_number_value(json_array_get(values, i)) !=
		    json_number_value(json_array_get(others, i)))
			return false;
	return true;
}

static void add_figure(json_t *figures, const char *name, json_t *values)
{
	if (json_array_size(values) > 0 &&
	    !is_same(values, json_object_get(figures, REPORT_DIFF_TIME)))
		json_object_set(figures, name, values);
	json_decref(values);
}

static void add_distribution(json_t *figures, json_t *result, const char *of)
{
	json_t *rounds = json_object_get(json_object_get(result, of), "rounds");
	char name[40];

	for (size_t i = 0; i < PERCENTILES; i++) {
		snprintf(name, sizeof(name), "%s.%s", of, percentiles[i].name);
		add_figure(figures, name,
			   percentile_of(rounds, &percentiles[i]));
	}
}

/* Return the instructions of an operation in each round, or only that of the whole run, if
 * the result has no numbers for rounds. */
static json_t *instructions_of(json_t *result)
{
	json_t *rounds = json_object_get(result, "rounds_instructions"), *value;
	json_t *counters = json_object_get(result, "counters");
	double ops = json_number_value(json_object_get(result, "ops")) *
		     json_number_value(json_object_get(result, "rounds"));
	json_t *values = json_array();
	size_t i;

	json_array_foreach(rounds, i, value)
	{
		if (is_figure(value))
			json_array_append(values, value);
	}
	value = json_real(
		json_number_value(json_object_get(counters, "instructions")) /
		fmax(ops, 1));
	if (!json_is_array(rounds) && is_figure(value))
		json_array_append(values, value);
	json_decref(value);
	return values;
}

/* Return the values of each figure, by its name; NULL if the times are not
 * valid. */
static json_t *figures_of(json_t *result)
{
	json_t *times = values_of(result), *figures;

	if (times == NULL)
		return NULL;
	figures = json_pack("{s:o}", REPORT_DIFF_TIME, times);
	for (size_t i = 0; i < DISTRIBUTIONS; i++)
		add_distribution(figures, result, distributions[i]);
	/* With latencies, the number depends on how long the workload waits. */
	if (json_object_get(result, "latency_ns") == NULL)
		add_figure(figures, REPORT_DIFF_INSTRUCTIONS,
			   instructions_of(result));
	return figures;
}

/* ---- rows ------------------------------------------------------------------ */

/* Return a text that identifies a row. */
static char *key_of(json_t *row)
{
	return json_dumps(row, JSON_COMPACT | JSON_SORT_KEYS);
}

static json_t *row_of(json_t *result)
{
	json_t *params = json_object_get(result, "params");
	json_t *peer = json_object_get(result, "peer");

	return json_pack("{s:O, s:o, s:O, s:o}", "workload",
			 json_object_get(result, "workload"), "params",
			 params != NULL ? json_incref(params) : json_object(),
			 "workers", json_object_get(result, "workers"), "peer",
			 peer != NULL ? json_incref(peer) : json_null());
}

/* Return the row with this key, or a new row; NULL: no memory. */
static json_t *find_row(json_t *rows, json_t *row, const char *key)
{
	json_t *found = json_object_get(rows, key);

	if (found != NULL)
		return found;
	if (json_object_set_new(row, "runs", json_array()) != 0 ||
	    json_object_set_new(row, "figures", json_object()) != 0 ||
	    json_object_set(rows, key, row) != 0)
		return NULL;
	return row;
}

static int add_run(struct reader *r, json_t *row, json_t *run)
{
	char *key = key_of(row);
	json_t *found = NULL;
	int err = 0;

	if (key != NULL)
		found = find_row(json_object_get(r->file, "rows"), row, key);
	if (found == NULL ||
	    json_array_append(json_object_get(found, "runs"), run) != 0 ||
	    json_object_update(json_object_get(found, "figures"),
			       json_object_get(run, "figures")) != 0)
		err = no_memory(r);
	free(key);
	return err;
}

/* Return what is wrong with a result; NULL: nothing. */
static const char *fault(json_t *result)
{
	json_t *workers = json_object_get(result, "workers");
	json_t *params = json_object_get(result, "params");
	json_t *peer = json_object_get(result, "peer");

	if (!json_is_object(result))
		return "it is no object";
	if (!json_is_string(json_object_get(result, "workload")))
		return "\"workload\" is no text";
	if (!json_is_integer(workers) || json_integer_value(workers) < 0 ||
	    json_integer_value(workers) > MAX_WORKERS)
		return "\"workers\" is no number from 0 to 4096";
	if (params != NULL && !json_is_object(params))
		return "\"params\" is no object";
	if (peer != NULL && !json_is_string(peer))
		return "\"peer\" is no text";
	if (!is_figure(json_object_get(result, "ns_per_op")))
		return "\"ns_per_op\" is no time";
	return NULL;
}

static int add_result(struct reader *r, json_t *result, const char *where,
		      size_t i)
{
	const char *wrong = fault(result);
	json_t *figures, *row, *run;
	int err;

	if (wrong != NULL)
		return refuse(r, "result %zu%s: %s", i + 1, where, wrong);
	figures = figures_of(result);
	if (figures == NULL)
		return refuse(r,
			      "result %zu%s: \"rounds_ns\" is no list of times",
			      i + 1, where);
	row = row_of(result);
	run = json_pack("{s:o, s:b, s:b}", "figures", figures, "noisy",
			json_is_true(json_object_get(result, "noisy")), "ok",
			!json_is_false(json_object_get(result, "ok")));
	err = row != NULL && run != NULL ? add_run(r, row, run) : no_memory(r);
	json_decref(row);
	json_decref(run);
	return err;
}

static int add_results(struct reader *r, json_t *report, const char *member)
{
	json_t *results = json_object_get(report, member), *result;
	char where[40];
	size_t i;

	if (results != NULL && !json_is_array(results))
		return refuse(r, "\"%s\" is no list", member);
	snprintf(where, sizeof(where), " of \"%s\"", member);
	json_array_foreach(results, i, result)
	{
		int err = add_result(r, result, where, i);

		if (err != 0)
			return err;
	}
	return 0;
}

/* ---- files ----------------------------------------------------------------- */

/* Add the description of a machine: each member collects its different
 * values over several reports. */
static void add_machine(struct reader *r, json_t *machine)
{
	json_t *all = json_object_get(r->file, "machine"), *value, *seen;
	const char *member;

	json_object_foreach(machine, member, value)
	{
		json_t *values = json_object_get(all, member);
		size_t i;

		if (values == NULL) {
			values = json_array();
			json_object_set_new(all, member, values);
		}
		json_array_foreach(values, i, seen)
		{
			if (json_equal(seen, value))
				break;
		}
		if (i == json_array_size(values) && i < MAX_MACHINES)
			json_array_append(values, value);
	}
}

/* Keep the shortest loop time of several reports. */
static void add_loop(struct reader *r, json_t *loop)
{
	double before = json_number_value(json_object_get(r->file, "loop_ns"));

	if (is_figure(loop) &&
	    (before == 0 || json_number_value(loop) < before))
		json_object_set(r->file, "loop_ns", loop);
}

static int add_report(struct reader *r, json_t *report)
{
	static const char *const members[] = { "results", "skua_runs",
					       "peers" };
	json_t *format = json_object_get(report, "format");
	json_t *machine = json_object_get(report, "machine");
	json_t *loop = json_object_get(json_object_get(report, "calibration"),
				       "best_ns");
	int err = 0;

	/* The first versions wrote no format. */
	if (format != NULL && json_integer_value(format) != REPORT_DIFF_FORMAT)
		return refuse(r,
			      "its format is not %d: it is of another version "
			      "of skua-bench",
			      REPORT_DIFF_FORMAT);
	for (size_t i = 0; err == 0 && i < 3; i++)
		err = add_results(r, report, members[i]);
	add_machine(r, machine);
	add_loop(r, loop);
	return err;
}

static int add_value(struct reader *r, json_t *value)
{
	if (json_object_get(value, "results") != NULL)
		return add_report(r, value);
	if (json_object_get(value, "workload") != NULL)
		return add_result(r, value, "", 0);
	return refuse(r, "it is neither a report.json nor the output of "
			 "run --json");
}

static void skip_blanks(struct reader *r)
{
	while (r->at < r->length && strchr(" \t\r\n", r->text[r->at]) != NULL &&
	       r->text[r->at] != '\0')
		r->at++;
}

static int line_of(const struct reader *r)
{
	int line = 1;

	for (size_t i = 0; i < r->at; i++)
		line += r->text[i] == '\n';
	return line;
}

static int read_value(struct reader *r)
{
	json_error_t error;
	json_t *value = json_loadb(r->text + r->at, r->length - r->at,
				   JSON_DISABLE_EOF_CHECK, &error);
	int err;

	if (value == NULL)
		return refuse(r, "line %d: no JSON: %s",
			      line_of(r) + error.line - 1, error.text);
	r->at += (size_t)error.position;
	err = add_value(r, value);
	json_decref(value);
	return err;
}

int report_diff_read(const char *text, size_t length, json_t **out, char *why,
		     size_t size)
{
	struct reader r = { text, length, 0, NULL, why, size };
	int err = 0;

	*out = NULL;
	r.file =
		json_pack("{s:{}, s:i, s:{}}", "machine", "loop_ns", 0, "rows");
	if (r.file == NULL)
		return no_memory(&r);
	for (skip_blanks(&r); err == 0 && r.at < length; skip_blanks(&r))
		err = read_value(&r);
	if (err == 0 && json_object_size(json_object_get(r.file, "rows")) == 0)
		err = refuse(&r, "no results are in it");
	if (err == 0)
		*out = r.file;
	else
		json_decref(r.file);
	return err;
}
