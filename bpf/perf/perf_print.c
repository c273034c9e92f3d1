/* SPDX-License-Identifier: MIT */
/* perf_print.c - print counts as text and as JSON: see perf.h */
#include <jansson.h>
#include <string.h>

#include "bpf/cli/json.h"
#include "bpf/perf/perf.h"
#include "bpf/cli/table.h"

/* ---- text ------------------------------------------------------------------ */

/* The first columns, which are not for workers: their number and width; the
 * width of a worker's column. */
#define OTHERS       4u
#define OTHERS_WIDTH 56u
#define WORKER_WIDTH 9u
#define MAX_WORKERS  (TABLE_COLUMNS - OTHERS)

static bool is_time(const char *name)
{
	return strcasestr(name, "task-clock") != NULL ||
	       strcasestr(name, "cpu-clock") != NULL;
}

/* Add a number with three digits and a unit: 1.23G. */
static void add_short(struct table *table, double value)
{
	static const char units[] = " kMGTPE";
	unsigned unit = 0;

	for (; value >= 999.5 && units[unit + 1] != '\0'; unit++)
		value /= 1000;
	if (unit == 0)
		table_add(table, "%.0f", value);
	else
		table_add(table, "%.*f%c",
			  value < 9.995   ? 2
			  : value < 99.95 ? 1
					  : 0,
			  value, units[unit]);
}

static void add_value(struct table *table, const struct perf_group_event *event,
		      bool in_full)
{
	char text[32];

	if (event == NULL || !event->counted)
		table_add(table, "-");
	else if (is_time(event->name))
		table_add(table, "%s", text_time(text, (double)event->value));
	else if (in_full)
		table_count(table, event->value);
	else
		add_short(table, (double)event->value);
}

static void add_per_task(struct table *table, const struct perf_session *s,
			 const struct perf_group_event *event)
{
	double value;
	char text[32];

	if (!s->has_polled || s->polled == 0) {
		table_add(table, "-");
		return;
	}
	value = (double)event->value / (double)s->polled;
	if (is_time(event->name))
		table_add(table, "%s", text_time(text, value));
	else
		table_add(table, value < 99.95 ? "%.3f" : "%.0f", value);
}

static void add_ratio(struct table *table, double ratio)
{
	if (ratio < 0)
		table_add(table, "-");
	else
		table_add(table, "%.2f", ratio);
}

/* The @count workers from @first on, which fit into one table. */
struct block {
	const struct perf_session *session;
	unsigned first, count;
};

static void add_event_row(struct table *table, const struct block *block,
			  unsigned index)
{
	const struct perf_session *s = block->session;
	const struct perf_group_event *event = &s->total.event[index];

	table_add(table, "%s%s", event->name,
		  event->from_proc ? " (/proc)" : "");
	add_value(table, event, true);
	add_per_task(table, s, event);
	table_add(table, "%.0f %%", 100 * event->run_ratio);
	for (unsigned i = 0; i < block->count; i++) {
		const struct perf_worker *w = &s->workers[block->first + i];

		add_value(table,
			  index < w->span.count ? &w->span.event[index] : NULL,
			  false);
	}
}

static void add_cycle_row(struct table *table, const struct block *block)
{
	const struct perf_session *s = block->session;
	double ratio = perf_per_cycle(&s->total);

	if (ratio < 0)
		return;
	table_add(table, "instructions a cycle");
	add_ratio(table, ratio);
	table_add(table, " ");
	table_add(table, " ");
	for (unsigned i = 0; i < block->count; i++)
		add_ratio(table,
			  perf_per_cycle(&s->workers[block->first + i].span));
}

static void add_task_row(struct table *table, const struct block *block)
{
	const struct perf_session *s = block->session;

	table_add(table, "tasks polled");
	if (s->has_polled)
		table_count(table, s->polled);
	else
		table_add(table, "-");
	table_add(table, " ");
	table_add(table, " ");
	for (unsigned i = 0; i < block->count; i++) {
		const struct perf_worker *w = &s->workers[block->first + i];

		if (w->gone)
			table_add(table, "-");
		else
			add_short(table, (double)w->polled);
	}
}

static void print_block(FILE *file, const struct block *block)
{
	const char *titles[TABLE_COLUMNS] = { "", "total", "a task",
					      "counting" };
	char names[MAX_WORKERS][24];
	struct table table;

	for (unsigned i = 0; i < block->count; i++) {
		const struct perf_worker *w =
			&block->session->workers[block->first + i];

		if (block->session->runtimes > 1)
			snprintf(names[i], sizeof(names[i]), "r%u w%u",
				 w->runtime, w->index);
		else
			snprintf(names[i], sizeof(names[i]), "w%u", w->index);
		titles[OTHERS + i] = names[i];
	}
	table_begin(&table, titles, "1");
	for (unsigned i = 0; i < block->session->total.count; i++)
		if (block->session->total.event[i].counted)
			add_event_row(&table, block, i);
	add_cycle_row(&table, block);
	add_task_row(&table, block);
	table_print(file, &table);
}

static const char *why_missing(const struct perf_group_event *event)
{
	return event->why[0] != '\0' ? event->why
				     : "no counter was free, or it did not run";
}

/* Whether an event before @index is missing for the same reason. The line of
 * that event lists this one, too. */
static bool is_told(const struct perf_group_values *total, unsigned index)
{
	const char *why = why_missing(&total->event[index]);

	for (unsigned i = 0; i < index; i++)
		if (!total->event[i].counted &&
		    strcmp(why_missing(&total->event[i]), why) == 0)
			return true;
	return false;
}

/* Print a line for each reason why events are missing. */
static void print_missing(FILE *file, const struct perf_group_values *total)
{
	for (unsigned i = 0; i < total->count; i++) {
		const char *why = why_missing(&total->event[i]);

		if (total->event[i].counted || is_told(total, i))
			continue;
		fprintf(file, "missing: %s", total->event[i].name);
		for (unsigned k = i + 1; k < total->count; k++)
			if (!total->event[k].counted &&
			    strcmp(why_missing(&total->event[k]), why) == 0)
				fprintf(file, ", %s", total->event[k].name);
		fprintf(file, ": %s\n", why);
	}
}

void perf_print(FILE *file, const struct perf_session *session, unsigned width)
{
	struct block block = { .session = session };
	unsigned most = width < OTHERS_WIDTH + WORKER_WIDTH
				? 1
				: (width - OTHERS_WIDTH) / WORKER_WIDTH;

	if (most > MAX_WORKERS)
		most = MAX_WORKERS;
	fprintf(file, "process %d (%s), %u workers, %.3f s\n",
		target_pid(session->target), session->comm,
		session->worker_count, session->seconds);
	while (block.first < session->worker_count) {
		unsigned left = session->worker_count - block.first;

		block.count = left < most ? left : most;
		print_block(file, &block);
		block.first += block.count;
	}
	print_missing(file, &session->total);
}

/* ---- JSON ------------------------------------------------------------------ */

static json_t *count_json(const struct perf_group_event *event)
{
	if (!event->counted)
		return json_null();
	return json_pack("{s:o, s:f, s:s}", "value", json_count(event->value),
			 "run_ratio", event->run_ratio, "source",
			 event->from_proc ? "proc" : "counter");
}

static json_t *counts_json(const struct perf_group_values *values)
{
	json_t *object = json_object();

	for (unsigned i = 0; i < values->count; i++)
		json_object_set_new(object, values->event[i].name,
				    count_json(&values->event[i]));
	return object;
}

static json_t *ratio_json(const struct perf_group_values *values)
{
	double ratio = perf_per_cycle(values);

	return ratio < 0 ? json_null() : json_real(ratio);
}

static json_t *workers_json(const struct perf_session *s)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < s->worker_count; i++) {
		const struct perf_worker *w = &s->workers[i];

		json_array_append_new(
			array,
			json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "runtime",
				  json_count(w->runtime), "index",
				  json_count(w->index), "tid",
				  json_count((uint64_t)w->tid), "tasks_polled",
				  w->gone ? json_null() : json_count(w->polled),
				  "counts", counts_json(&w->span),
				  "instructions_per_cycle",
				  ratio_json(&w->span)));
	}
	return array;
}

static json_t *per_task_json(const struct perf_session *s)
{
	json_t *object = json_object();

	for (unsigned i = 0; i < s->total.count; i++) {
		const struct perf_group_event *event = &s->total.event[i];
		bool known = event->counted && s->has_polled && s->polled > 0;

		json_object_set_new(object, event->name,
				    known ? json_real((double)event->value /
						      (double)s->polled)
					  : json_null());
	}
	return object;
}

static json_t *missing_json(const struct perf_session *s)
{
	json_t *object = json_object();

	for (unsigned i = 0; i < s->total.count; i++)
		if (!s->total.event[i].counted)
			json_object_set_new(
				object, s->total.event[i].name,
				json_string(why_missing(&s->total.event[i])));
	return object;
}

bool perf_print_json(FILE *file, const struct perf_session *s)
{
	json_t *total, *object;
	bool written;

	total = json_pack("{s:o, s:o, s:o, s:o, s:f}", "tasks_polled",
			  s->has_polled ? json_count(s->polled) : json_null(),
			  "counts", counts_json(&s->total), "per_task",
			  per_task_json(s), "instructions_per_cycle",
			  ratio_json(&s->total), "run_ratio",
			  s->total.run_ratio);
	object = json_pack("{s:i, s:s, s:f, s:o, s:o, s:o}", "pid",
			   (int)target_pid(s->target), "comm", s->comm,
			   "seconds", s->seconds, "workers", workers_json(s),
			   "totals", total, "missing", missing_json(s));
	written = object && json_dumpf(object, file, JSON_COMPACT) == 0;
	fputc('\n', file);
	json_decref(object);
	return written;
}
