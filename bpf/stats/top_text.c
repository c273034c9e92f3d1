/* SPDX-License-Identifier: MIT */
/* top_text.c - print an interval as tables */
#include <string.h>

#include "bpf/cli/table.h"
#include "bpf/stats/top.h"
#include "bpf/stats/top_cells.h"

#define OCTAVES (PROBES_BUCKETS / PROBES_STEPS)

/* ---- the head -------------------------------------------------------------- */

static void print_head(FILE *file, struct target *target,
		       const struct target_runtime *at,
		       const struct top_runtime *runtime)
{
	struct top_rates all = top_rates_all(runtime);
	uint64_t began = at->area.started_ns, now = runtime->after.at_ns;
	char comm[TARGET_NAME], up[32], text[32], which[FIGURE_RUNTIME];

	target_comm(target, comm);
	fprintf(file, "process %d (%s), skua %s%s, up %s, %u worker%s\n",
		target_pid(target), comm, at->version,
		figure_runtime(target, at, which),
		text_time(up, now > began ? (double)(now - began) : 0),
		runtime->worker_count, runtime->worker_count == 1 ? "" : "s");
	fprintf(file, "busy %.0f %%", 100 * all.busy);
	if (all.on_cpu >= 0)
		fprintf(file, ", on a CPU %.0f %%", 100 * all.on_cpu);
	fprintf(file, ", %s polls/s, LIFO hits ",
		text_count(text, top_whole(all.polls)));
	fprintf(file, all.lifo < 0 ? "-" : "%.0f %%", 100 * all.lifo);
	fprintf(file, ", %s tasks/s spawned",
		text_count(text, top_whole(all.spawns)));
	fprintf(file, ", %s/s stolen\n",
		text_count(text, top_whole(all.steals)));
	fprintf(file, "%s parks/s", text_count(text, top_whole(all.parks)));
	fprintf(file, ", queued %s",
		text_count(text, runtime->after.queue_depth));
	fprintf(file, ", in the injection queue %s\n",
		text_count(text, runtime->after.injection_depth +
					 runtime->after.urgent_depth));
}

/* Print how many polls exceeded the limit, including those that ended before
 * they could be reported as stalls. */
static void print_over(FILE *file, const struct target_runtime *at,
		       const struct top_runtime *runtime)
{
	uint64_t over = top_over(at, runtime);
	uint64_t reported = figure_difference(runtime->after.total.stalls,
					      runtime->before.total.stalls);
	char limit[32], polls[32], stalls[32];

	if (over == 0)
		return;
	fprintf(file,
		"about %s poll%s took longer than the limit of %s; %s "
		"reported as stalls\n",
		text_count(polls, over), over == 1 ? "" : "s",
		text_time(limit, (double)at->area.stall_limit_ns),
		text_count(stalls, reported));
}

/* Print the workers that are stuck in one poll: these tasks keep others from
 * running, so they come first. */
static void print_hogs(FILE *file, struct target *target,
		       const struct top_runtime *runtime, bool bold)
{
	for (unsigned i = 0; i < runtime->kind_count; i++) {
		const struct top_kind *kind = &runtime->kinds[i];
		char name[TOP_POLL_NAME], text[32];

		if (kind->in_ns == 0)
			continue;
		top_poll_name(target, &runtime->polls[kind->in_worker], name);
		fprintf(file, "%sworker %u is in one poll of %s for %s%s%s\n",
			bold ? "\033[1m" : "", kind->in_worker, name,
			kind->in_longer ? "more than " : "",
			text_time(text, (double)kind->in_ns),
			bold ? "\033[0m" : "");
	}
}

/* ---- workers --------------------------------------------------------------- */

/* Add what a worker does, as "http_read 12 ms" or "serve (get) 12 ms". The time is known if two
 * scans saw the same poll. */
static void add_doing(struct table *table, struct target *target,
		      const struct top_runtime *runtime, unsigned index)
{
	const struct top_poll *poll = &runtime->polls[index];
	char name[TOP_POLL_NAME], text[32];

	if (!poll->task || !poll->known) {
		table_add(table, "%s", poll->task ? "(a short poll)" : "");
		return;
	}
	top_poll_name(target, poll, name);
	if (poll->last_ns > poll->first_ns)
		table_add(table, "%.60s %s%s", name, poll->begun ? ">" : "",
			  text_time(text,
				    (double)(poll->last_ns - poll->first_ns)));
	else
		table_add(table, "%.60s", name);
}

static void add_worker(struct table *table, struct target *target,
		       const struct top_runtime *runtime, unsigned index,
		       bool line_art)
{
	const struct target_worker *worker = &runtime->after.workers[index];
	struct top_rates rates = top_rates(runtime, index);

	table_add(table, "%u", index);
	if (worker->area.cpu >= 0)
		table_add(table, "%d", worker->area.cpu);
	else
		table_add(table, "any");
	table_add(table, "%s",
		  thread_state(&runtime->threads[index],
			       figure_state(worker->area.times.state)));
	top_add_bar(table, rates.busy, line_art);
	top_add_part(table, rates.on_cpu);
	table_count(table, worker->area.counters.stalls);
	add_doing(table, target, runtime, index);
	top_add_rate(table, rates.polls);
	table_count(table, worker->queue_depth);
	top_add_rate(table, rates.steals);
	top_add_rate(table, rates.parks);
	top_add_part(table, rates.lifo);
}

static void print_workers(FILE *file, struct target *target,
			  const struct top_runtime *runtime,
			  const struct top_style *style)
{
	static const char *const titles[] = { "worker",   "CPU",     "state",
					      "busy",     "on CPU",  "stalls",
					      "doing",    "polls/s", "queue",
					      "steals/s", "parks/s", "LIFO",
					      NULL };
	unsigned count = runtime->worker_count;
	struct table table;

	count = count < style->rows ? count : style->rows;
	table_begin(&table, titles, "0011001");
	for (unsigned i = 0; i < count; i++)
		add_worker(&table, target, runtime, i, style->line_art);
	table.width = style->width;
	table_print(file, &table);
	if (count < runtime->worker_count)
		fprintf(file, "and %u more\n", runtime->worker_count - count);
}

/* ---- task types ------------------------------------------------------------ */

/* Add where the kind ran, as "100 % of worker 1, one poll for 3.2 s". */
static void add_where(struct table *table, const struct top_runtime *runtime,
		      const struct top_kind *kind)
{
	char text[32];
	double part;
	unsigned worker = top_busiest(runtime, kind, &part);

	if (kind->in_ns) {
		part = (double)kind->workers[kind->in_worker] /
		       (double)(runtime->looks ? runtime->looks : 1);
		table_add(table, "%.0f %% of worker %u, one poll for %s%s",
			  100 * part, kind->in_worker,
			  kind->in_longer ? ">" : "",
			  text_time(text, (double)kind->in_ns));
	} else if (part > 0) {
		table_add(table, "%.0f %% of worker %u", 100 * part, worker);
	} else {
		table_add(table, "%s", "");
	}
}

static void add_kind(struct table *table, struct target *target,
		     const struct top_runtime *runtime,
		     const struct top_kind *kind, bool line_art)
{
	uint64_t longest = kind->rows.longest_ns;
	char name[TARGET_NAME];

	top_kind_name(target, kind, name);
	table_add(table, "%s", name);
	top_add_bar(table, top_share(runtime, kind), line_art);
	top_add_time(table,
		     (double)(longest > kind->longest_ns ? longest
							 : kind->longest_ns));
	top_add_rate(table, top_kind_polls(runtime, kind));
	top_add_mean(table, kind->rows.run_ns, kind->rows.polls);
	top_add_mean(table, kind->rows.wait_ns, kind->rows.waits);
	top_add_time(table, (double)kind->rows.longest_wait_ns);
	add_where(table, runtime, kind);
}

static void print_kinds(FILE *file, struct target *target,
			const struct top_runtime *runtime,
			const struct top_style *style)
{
	static const char *const titles[] = {
		"tasks", "of busy time", "longest",      "polls/s",
		"mean",  "wait",         "longest wait", "most in the interval",
		NULL
	};
	unsigned shown = 0;
	struct table table;

	table_begin(&table, titles, "11000001");
	for (unsigned i = 0; i < runtime->kind_count; i++) {
		const struct top_kind *kind = &runtime->kinds[i];

		if (kind->looks <= 0 && kind->rows.polls == 0)
			continue;
		if (shown++ < style->rows)
			add_kind(&table, target, runtime, kind,
				 style->line_art);
	}
	if (shown == 0)
		return;
	fputc('\n', file);
	table.width = style->width;
	table_print(file, &table);
	if (shown > style->rows)
		fprintf(file, "and %u more\n", shown - style->rows);
}

/* ---- histograms ------------------------------------------------------------ */

/* Add a character for each octave of times; the more frequent, the higher. */
static void add_sparks(struct table *table,
		       const struct probes_histogram *histogram, bool line_art)
{
	uint64_t octaves[OCTAVES] = { 0 };
	char text[TABLE_CELL];

	for (unsigned i = 0; i < PROBES_BUCKETS; i++)
		octaves[i / PROBES_STEPS] += histogram->count[i];
	table_add(table, "%s", text_sparks(text, octaves, OCTAVES, line_art));
}

static void print_histograms(FILE *file, const struct top_runtime *runtime,
			     const struct top_style *style)
{
	static const char *const titles[] = { "times", "a second",    "p50",
					      "p90",   "p99",         "p99.9",
					      "most",  "each octave", NULL };
	static const char *const names[] = { "polls", "waits in queues",
					     "searches that stole", "sleeps" };
	static const double parts[] = { 0.5, 0.9, 0.99, 0.999, 1 };
	double seconds = top_rates_all(runtime).seconds;
	struct probes_histogram sum, before;
	struct table table;

	table_begin(&table, titles, "10000001");
	for (unsigned i = 0; i < FIGURE_HISTOGRAMS; i++) {
		uint64_t total;

		figure_sum(&runtime->after, i, &sum);
		figure_sum(&runtime->before, i, &before);
		figure_since(&sum, &before);
		total = figure_total(&sum);
		table_add(&table, "%s", names[i]);
		top_add_rate(&table, (double)total / seconds);
		for (unsigned k = 0; k < 5; k++)
			top_add_time(&table, total ? (double)figure_quantile(
							     &sum, parts[k])
						   : 0);
		add_sparks(&table, &sum, style->line_art);
	}
	fputc('\n', file);
	table.width = style->width;
	table_print(file, &table);
}

void top_text(FILE *file, struct target *target,
	      const struct target_runtime *at,
	      const struct top_runtime *runtime, const struct top_style *style)
{
	print_head(file, target, at, runtime);
	print_over(file, at, runtime);
	print_hogs(file, target, runtime, style->bold);
	fputc('\n', file);
	print_workers(file, target, runtime, style);
	print_kinds(file, target, runtime, style);
	print_histograms(file, runtime, style);
	if (*target_symbols_missing(target))
		fprintf(file, "\n%s\n", target_symbols_missing(target));
}
