/* SPDX-License-Identifier: MIT */
/* stats_text.c - print a runtime as tables */
#include <stdlib.h>

#include "bpf/stats/figures.h"
#include "bpf/stats/stats.h"
#include "bpf/cli/table.h"

/* The counters of each table. A column without a name is not shown. */
enum kind { TASKS, SEARCH, IO, KINDS };

static const struct figure_counter columns_of[KINDS][TABLE_COLUMNS] = {
#define COUNTER(name, place, kind, column, title, help) \
	[kind][column] = { title, help, offsetof(struct area_counters, name) },
	COUNTER_LIST(COUNTER)
#undef COUNTER
};

static void add_counts(struct table *table,
		       const struct area_counters *counters, enum kind kind)
{
	const struct figure_counter *columns = columns_of[kind];

	for (unsigned i = 0; i < TABLE_COLUMNS; i++)
		if (columns[i].name)
			table_count(table, figure_value(counters, &columns[i]));
}

static void begin(struct table *table, const char *first, const char *second,
		  enum kind kind, const char *last, const char *left)
{
	const struct figure_counter *columns = columns_of[kind];
	const char *titles[TABLE_COLUMNS] = { first, second };
	unsigned count = 2;

	for (unsigned i = 0; i < TABLE_COLUMNS; i++)
		if (columns[i].name)
			titles[count++] = columns[i].name;
	titles[count] = last;
	table_begin(table, titles, left);
}

static void print_tasks(FILE *file, const struct target_snapshot *snapshot)
{
	struct table table;

	begin(&table, "worker", "state", TASKS, "queue", "01");
	for (unsigned i = 0; i < snapshot->worker_count; i++) {
		const struct target_worker *worker = &snapshot->workers[i];

		table_add(&table, "%u", i);
		table_add(&table, "%s", figure_state(worker->area.times.state));
		add_counts(&table, &worker->area.counters, TASKS);
		table_count(&table, worker->queue_depth);
	}
	table_add(&table, "all");
	table_add(&table, "%s", "");
	add_counts(&table, &snapshot->total, TASKS);
	table_count(&table, snapshot->queue_depth);
	table_print(file, &table);
}

static void print_looking(FILE *file, const struct target_snapshot *snapshot)
{
	struct table table;

	begin(&table, "worker", "CPU", SEARCH, NULL, NULL);
	for (unsigned i = 0; i < snapshot->worker_count; i++) {
		const struct area_worker *area = &snapshot->workers[i].area;

		table_add(&table, "%u", i);
		if (area->cpu >= 0)
			table_add(&table, "%d", area->cpu);
		else
			table_add(&table, "any");
		add_counts(&table, &area->counters, SEARCH);
	}
	table_add(&table, "all");
	table_add(&table, "%s", "");
	add_counts(&table, &snapshot->total, SEARCH);
	table_print(file, &table);
}

static void print_delayed(FILE *file, const struct target_snapshot *snapshot)
{
	uint64_t delayed = snapshot->accepts_delayed;
	char count[32];

	if (delayed > 0)
		fprintf(file,
			"%s accept%s failed for lack of descriptors or "
			"memory, and %s tried again\n\n",
			text_count(count, delayed), delayed == 1 ? "" : "s",
			delayed == 1 ? "was" : "were");
}

/* Only of a runtime with descriptors. */
static void print_driver(FILE *file, const struct target_snapshot *snapshot)
{
	struct table table;

	if (snapshot->total.io_parks == 0 && snapshot->total.io_reaps == 0)
		return;
	begin(&table, "worker", "driver", IO, NULL, NULL);
	for (unsigned i = 0; i < snapshot->worker_count; i++) {
		table_add(&table, "%u", i);
		table_add(&table, "%s", "");
		add_counts(&table, &snapshot->workers[i].area.counters, IO);
	}
	table_add(&table, "all");
	table_add(&table, "%s", "");
	add_counts(&table, &snapshot->total, IO);
	table_print(file, &table);
	fputc('\n', file);
}

static void print_times(FILE *file, const struct target_snapshot *snapshot)
{
	static const char *const titles[] = { "worker", "run", "search",
					      "parked", NULL };
	struct table table;
	char text[32];

	table_begin(&table, titles, NULL);
	for (unsigned i = 0; i < snapshot->worker_count; i++) {
		struct area_times times = figure_times(
			&snapshot->workers[i].area.times, snapshot->at_ns);

		table_add(&table, "%u", i);
		table_add(&table, "%s", text_time(text, (double)times.run_ns));
		table_add(&table, "%s",
			  text_time(text, (double)times.search_ns));
		table_add(&table, "%s", text_time(text, (double)times.park_ns));
	}
	table_print(file, &table);
}

static void add_mean(struct table *table, uint64_t sum, uint64_t count)
{
	char text[32];

	if (count == 0)
		table_add(table, "-");
	else
		table_add(table, "%s",
			  text_time(text, (double)sum / (double)count));
}

static void print_histograms(FILE *file, const struct target_snapshot *snapshot)
{
	static const char *const titles[] = { "",    "count", "p50",     "p90",
					      "p99", "p99.9", "longest", NULL };
	static const char *const names[] = { "polls", "waits in queues",
					     "searches that stole", "sleeps" };
	static const double parts[] = { 0.5, 0.9, 0.99, 0.999 };
	struct probes_histogram sum;
	struct table table;
	char text[32];

	table_begin(&table, titles, "1");
	for (unsigned i = 0; i < FIGURE_HISTOGRAMS; i++) {
		figure_sum(snapshot, i, &sum);
		table_add(&table, "%s", names[i]);
		table_count(&table, figure_total(&sum));
		for (unsigned k = 0; k < 4; k++)
			table_add(&table, "%s",
				  text_time(text, (double)figure_quantile(
							  &sum, parts[k])));
		table_add(&table, "%s",
			  text_time(text, (double)sum.longest_ns));
	}
	table_print(file, &table);
}

/* Print how many polls exceeded the limit, including those that ended before
 * they could be reported as stalls. */
static void print_over(FILE *file, const struct target_runtime *runtime,
		       const struct target_snapshot *snapshot)
{
	uint64_t over = figure_over_limit(snapshot, &runtime->area);
	char limit[32], polls[32], stalls[32];

	if (runtime->area.stall_limit_ns == 0)
		return;
	fprintf(file,
		"\nabout %s poll%s took longer than the limit of %s; %s "
		"reported as stalls\n",
		text_count(polls, over), over == 1 ? "" : "s",
		text_time(limit, (double)runtime->area.stall_limit_ns),
		text_count(stalls, snapshot->total.stalls));
}

static void print_types(FILE *file, struct target *target,
			const struct target_snapshot *snapshot)
{
	static const char *const titles[] = { "tasks",     "polls",
					      "mean",      "longest",
					      "mean wait", "longest wait",
					      NULL };
	struct stats_rows rows = stats_collect(snapshot);
	struct table table;
	char name[TARGET_NAME], text[32];

	table_begin(&table, titles, "1");
	for (unsigned i = 0; i < rows.count; i++) {
		const struct area_type *row = &rows.rows[i];

		stats_name(target, row, name);
		table_add(&table, "%s", name);
		table_count(&table, row->polls);
		add_mean(&table, row->run_ns, row->polls);
		table_add(&table, "%s",
			  text_time(text, (double)row->longest_ns));
		add_mean(&table, row->wait_ns, row->waits);
		table_add(&table, "%s",
			  text_time(text, (double)row->longest_wait_ns));
	}
	if (rows.count) {
		fputc('\n', file);
		table_print(file, &table);
	}
	free(rows.rows);
}

void stats_text(FILE *file, struct target *target,
		const struct target_runtime *runtime,
		const struct target_snapshot *snapshot)
{
	char comm[TARGET_NAME], up[32], spawned[32], queued[32];
	char which[FIGURE_RUNTIME];
	uint64_t began = runtime->area.started_ns;

	target_comm(target, comm);
	fprintf(file,
		"process %d (%s), skua %s%s, up %s: %s task%s spawned, %s "
		"in the injection queue\n\n",
		target_pid(target), comm, runtime->version,
		figure_runtime(target, runtime, which),
		text_time(up, snapshot->at_ns > began
				      ? (double)(snapshot->at_ns - began)
				      : 0),
		text_count(spawned, snapshot->tasks_spawned),
		snapshot->tasks_spawned == 1 ? "" : "s",
		text_count(queued, snapshot->injection_depth));
	print_tasks(file, snapshot);
	fputc('\n', file);
	print_looking(file, snapshot);
	fputc('\n', file);
	print_driver(file, snapshot);
	print_delayed(file, snapshot);
	print_times(file, snapshot);
	fputc('\n', file);
	print_histograms(file, snapshot);
	print_over(file, runtime, snapshot);
	print_types(file, target, snapshot);
	if (*target_symbols_missing(target))
		fprintf(file, "\n%s\n", target_symbols_missing(target));
}
