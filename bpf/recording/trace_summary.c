/* SPDX-License-Identifier: MIT */
/* trace_summary.c - a trace as tables: how long tasks ran and waited */
#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/cli/grow.h"
#include "bpf/stats/figures.h"
#include "bpf/cli/table.h"
#include "bpf/recording/trace_play.h"
#include "bpf/recording/trace_sinks.h"
#include "probes/histogram.h"

#define MAX_ROWS 4096u
#define OTHERS   "(others)"

/* Tasks of one name; or, when there are MAX_ROWS rows, of all further names. */
struct row {
	char name[TRACE_TEXT];
	struct probes_histogram run, wait;
	uint64_t polls, waits, stalls;
	uint64_t partial;    /* polls of which only a part was seen */
	uint64_t longest_ns; /* of the polls counted in partial */
};

struct worker {
	/* run_ns: in polls and jobs */
	uint64_t polls, run_ns, jobs, parks, park_ns, steals, stolen;
	unsigned open_jobs;
};

struct summary {
	struct trace_sink sink;
	void *tree; /* rows, by name */
	struct row *others;
	struct row **rows;
	size_t count, room;
	struct worker *workers;
	int failed;
};

/* ---- counting -------------------------------------------------------------- */

static int compare_rows(const void *left, const void *right)
{
	return strcmp(((const struct row *)left)->name,
		      ((const struct row *)right)->name);
}

static struct row *add_row(struct summary *s, const char *name)
{
	struct row *row = calloc(1, sizeof(*row));

	if (row)
		snprintf(row->name, sizeof(row->name), "%s", name);
	if (!row || !grow(&s->rows, sizeof(*s->rows), s->count, &s->room) ||
	    !tsearch(row, &s->tree, compare_rows)) {
		free(row);
		s->failed = -ENOMEM;
		return NULL;
	}
	return s->rows[s->count++] = row;
}

static struct row *row_of(struct summary *s, const char *name)
{
	struct row key;
	void *found;

	snprintf(key.name, sizeof(key.name), "%s", name);
	found = tfind(&key, &s->tree, compare_rows);
	if (found)
		return *(struct row **)found;
	if (s->count < MAX_ROWS)
		return add_row(s, name);
	if (!s->others)
		s->others = add_row(s, OTHERS);
	return s->others;
}

static void count_poll(struct summary *s, const struct trace_mark *mark)
{
	struct row *row = row_of(s, mark->name);
	uint64_t ns = mark->end_ns - mark->ns;

	if (!row)
		return;
	row->polls++;
	probes_count_owner(&row->run, ns, 1);
	if (mark->partial) {
		row->partial++;
		if (row->longest_ns < ns)
			row->longest_ns = ns;
	}
	if (!mark->waited)
		return;
	row->waits++;
	probes_count_owner(&row->wait, mark->waited_ns, 1);
}

static void on_begin(struct trace_sink *sink, const struct trace_mark *mark)
{
	struct summary *s = (struct summary *)sink;

	s->workers[mark->track].open_jobs += mark->kind == TRACE_JOB;
}

static void on_end(struct trace_sink *sink, const struct trace_mark *mark)
{
	struct summary *s = (struct summary *)sink;
	struct worker *worker = &s->workers[mark->track];

	switch (mark->kind) {
	case TRACE_POLL:
		worker->polls++;
		worker->run_ns += mark->end_ns - mark->ns;
		count_poll(s, mark);
		break;
	case TRACE_JOB:
		worker->jobs++;
		/* A job may run within another one. */
		if (--worker->open_jobs == 0)
			worker->run_ns += mark->end_ns - mark->ns;
		break;
	case TRACE_PARK:
		worker->parks++;
		worker->park_ns += mark->end_ns - mark->ns;
		break;
	default:
		break;
	}
}

static void on_instant(struct trace_sink *sink, const struct trace_mark *mark)
{
	struct summary *s = (struct summary *)sink;
	struct row *row;

	if (mark->kind == TRACE_STEAL) {
		s->workers[mark->track].steals++;
		s->workers[mark->track].stolen += mark->number;
	} else if (mark->kind == TRACE_STALL) {
		row = row_of(s, mark->name + strlen("stall "));
		if (row)
			row->stalls++;
	}
}

/* ---- printing -------------------------------------------------------------- */

static void add_time(struct table *table, uint64_t ns, bool known)
{
	char text[32];

	table_add(table, "%s", known ? text_time(text, (double)ns) : "-");
}

/* Median and 99th percentile. */
static void add_quantiles(struct table *table, const struct probes_histogram *h,
			  bool known)
{
	add_time(table, figure_quantile(h, 0.5), known);
	add_time(table, figure_quantile(h, 0.99), known);
}

static void add_to_table(struct table *table, const struct row *row)
{
	bool more = row->partial > 0 && row->longest_ns == row->run.longest_ns;
	char text[32];

	table_add(table, "%s", row->name);
	table_count(table, row->polls);
	add_time(table, row->run.sum_ns, row->polls > 0);
	add_quantiles(table, &row->run, row->polls > 0);
	if (more)
		table_add(table, "> %s",
			  text_time(text, (double)row->longest_ns));
	else
		add_time(table, row->run.longest_ns, row->polls > 0);
	add_quantiles(table, &row->wait, row->waits > 0);
	add_time(table, row->wait.longest_ns, row->waits > 0);
	table_count(table, row->stalls);
}

static void print_partial(const struct row *row, FILE *file)
{
	char text[32];

	if (row->partial > 0)
		fprintf(file,
			"%s: the beginning or the end of %s poll%s was not "
			"recorded: only the rest counts\n",
			row->name, text_count(text, row->partial),
			row->partial == 1 ? "" : "s");
}

static int compare_run(const void *left, const void *right)
{
	const struct row *a = *(struct row *const *)left;
	const struct row *b = *(struct row *const *)right;

	if (a->run.sum_ns != b->run.sum_ns)
		return a->run.sum_ns > b->run.sum_ns ? -1 : 1;
	return strcmp(a->name, b->name);
}

static void print_rows(const struct summary *s, FILE *file)
{
	static const char *const titles[] = { "task",     "polls", "run",
					      "p50",      "p99",   "longest",
					      "wait p50", "p99",   "longest",
					      "stalls",   NULL };
	struct table table;

	if (s->count > 0)
		qsort(s->rows, s->count, sizeof(struct row *), compare_run);
	table_begin(&table, titles, "1");
	for (size_t i = 0; i < s->count; i++)
		add_to_table(&table, s->rows[i]);
	table_print(file, &table);
	for (size_t i = 0; i < s->count; i++)
		print_partial(s->rows[i], file);
}

static void print_workers(const struct summary *s, const struct trace *trace,
			  FILE *file)
{
	static const char *const titles[] = { "thread", "polls",  "run",
					      "jobs",   "steals", "tasks",
					      "parks",  "parked", "lost",
					      NULL };
	struct table table;

	table_begin(&table, titles, "1");
	for (unsigned i = 0; i < trace_sources(trace); i++) {
		const struct worker *worker = &s->workers[i];
		char label[TRACE_LABEL];

		trace_label(trace, i, label);
		table_add(&table, "%s", label);
		table_count(&table, worker->polls);
		add_time(&table, worker->run_ns, true);
		table_count(&table, worker->jobs);
		table_count(&table, worker->steals);
		table_count(&table, worker->stolen);
		table_count(&table, worker->parks);
		add_time(&table, worker->park_ns, true);
		table_count(&table, trace_source(trace, i)->lost);
	}
	table_print(file, &table);
}

static void print_about(const struct trace *trace, FILE *file)
{
	const struct trace_about *about = trace_about(trace);
	uint64_t start = about->meta.start.monotonic_ns;
	uint64_t stop = about->end.stop.monotonic_ns;
	char text[32];

	fprintf(file, "%s, process %" PRIu32, about->meta.program,
		about->meta.pid);
	if (stop > start && start > 0)
		fprintf(file, ", %s", text_time(text, (double)(stop - start)));
	fprintf(file, ", %s events", text_count(text, about->events));
	fprintf(file, ", %s lost%s\n\n", text_count(text, about->lost),
		about->cut ? ", the end is missing" : "");
}

static int write_part(struct trace *trace, FILE *file)
{
	struct summary s = { .sink = { .begin = on_begin,
				       .end = on_end,
				       .instant = on_instant } };
	int code = -ENOMEM;

	s.workers = calloc(trace_sources(trace) + 1, sizeof(*s.workers));
	if (s.workers)
		code = trace_play(trace, &s.sink);
	if (code == 0)
		code = s.failed;
	if (code == 0) {
		print_about(trace, file);
		print_rows(&s, file);
		fputc('\n', file);
		print_workers(&s, trace, file);
	}
	tdestroy(s.tree, free);
	free(s.rows);
	free(s.workers);
	return code;
}

int trace_to_summary(struct trace_set *set, FILE *file)
{
	int code = 0;

	for (size_t i = 0; i < set->count && code == 0; i++) {
		set->bad = set->parts[i].path;
		if (i > 0)
			fputc('\n', file);
		if (set->count > 1)
			fprintf(file, "%s: ", set->parts[i].label);
		code = write_part(set->parts[i].trace, file);
	}
	return code;
}
