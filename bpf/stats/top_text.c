/* SPDX-License-Identifier: MIT */
/* top_text.c - print an interval as tables */
#include <string.h>

#include "bpf/cli/table.h"
#include "bpf/stats/top.h"

#define BAR     10u
#define LEVELS  8u
#define OCTAVES (PROBES_BUCKETS / PROBES_STEPS)

static const char *const eighths[LEVELS + 1] = { " ", "▏", "▎", "▍", "▌",
						 "▋", "▊", "▉", "█" };
/* ---- cells ----------------------------------------------------------------- */

/* Add a share (0 to 1) as a bar of BAR characters and a percentage. */
static void add_bar(struct table *table, double part, bool line_art)
{
	char text[TABLE_CELL] = "";
	unsigned filled = (unsigned)(part * BAR * LEVELS + 0.5);

	for (unsigned i = 0; i < BAR; i++) {
		unsigned level = filled > i * LEVELS ? filled - i * LEVELS : 0;

		level = level < LEVELS ? level : LEVELS;
		if (line_art)
			strcat(text, eighths[level]);
		else
			strcat(text, level >= LEVELS / 2 ? "#" : ".");
	}
	table_add(table, "%s %3.0f %%", text, 100 * part);
}

/* Round a rate. A process may report any numbers, so it is limited first. */
static uint64_t whole(double rate)
{
	return rate < 1e18 ? (uint64_t)(rate + 0.5) : (uint64_t)1e18;
}

/* Add a rate; below ten with one digit after the point; "-" if it is not
 * known. */
static void add_rate(struct table *table, double rate)
{
	if (rate > 0 && rate < 9.95)
		table_add(table, "%.1f", rate);
	else if (rate >= 0)
		table_count(table, whole(rate));
	else
		table_add(table, "-");
}

static void add_part(struct table *table, double part)
{
	if (part >= 0)
		table_add(table, "%.0f %%", 100 * part);
	else
		table_add(table, "-");
}

static void add_time(struct table *table, double ns)
{
	char text[32];

	if (ns > 0)
		table_add(table, "%s", text_time(text, ns));
	else
		table_add(table, "-");
}

static void add_mean(struct table *table, uint64_t sum, uint64_t count)
{
	add_time(table, count ? (double)sum / (double)count : 0);
}

/* ---- the head -------------------------------------------------------------- */

static void print_head(FILE *file, struct target *target,
		       const struct target_runtime *at,
		       const struct top_runtime *runtime)
{
	struct top_rates all = top_rates_all(runtime);
	uint64_t began = at->area.started_ns, now = runtime->after.at_ns;
	char comm[TARGET_NAME], up[32], text[32];

	target_comm(target, comm);
	fprintf(file, "process %d (%s), skua %s, up %s, %u worker%s\n",
		target_pid(target), comm, at->version,
		text_time(up, now > began ? (double)(now - began) : 0),
		runtime->worker_count, runtime->worker_count == 1 ? "" : "s");
	fprintf(file, "busy %.0f %%", 100 * all.busy);
	if (all.on_cpu >= 0)
		fprintf(file, ", on a CPU %.0f %%", 100 * all.on_cpu);
	fprintf(file, ", %s polls/s, LIFO hits ",
		text_count(text, whole(all.polls)));
	fprintf(file, all.lifo < 0 ? "-" : "%.0f %%", 100 * all.lifo);
	fprintf(file, ", %s tasks/s spawned",
		text_count(text, whole(all.spawns)));
	fprintf(file, ", %s/s stolen\n", text_count(text, whole(all.steals)));
	fprintf(file, "%s parks/s", text_count(text, whole(all.parks)));
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
	add_bar(table, rates.busy, line_art);
	add_part(table, rates.on_cpu);
	table_count(table, worker->area.counters.stalls);
	add_doing(table, target, runtime, index);
	add_rate(table, rates.polls);
	table_count(table, worker->queue_depth);
	add_rate(table, rates.steals);
	add_rate(table, rates.parks);
	add_part(table, rates.lifo);
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
	add_bar(table, top_share(runtime, kind), line_art);
	add_time(table,
		 (double)(longest > kind->longest_ns ? longest
						     : kind->longest_ns));
	add_rate(table, top_kind_polls(runtime, kind));
	add_mean(table, kind->rows.run_ns, kind->rows.polls);
	add_mean(table, kind->rows.wait_ns, kind->rows.waits);
	add_time(table, (double)kind->rows.longest_wait_ns);
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
		add_rate(&table, (double)total / seconds);
		for (unsigned k = 0; k < 5; k++)
			add_time(&table,
				 total ? (double)figure_quantile(&sum, parts[k])
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
