/* SPDX-License-Identifier: MIT */
/* top_ranks.c - print an interval of several processes as one table */
#include <inttypes.h>

#include "bpf/stats/top.h"
#include "bpf/stats/top_cells.h"

/* Figures of several runtimes together. @busy, @on_cpu: sums over the workers; @on_cpu
 * is below 0 if it is not known. @hits: polls from LIFO slots, per second. */
struct sum {
	unsigned workers;
	double busy, on_cpu;
	double polls, hits, steals, parks;
	uint64_t queued, stalls;
};

static void add_runtime(struct sum *sum, const struct top_runtime *runtime)
{
	struct top_rates rates = top_rates_all(runtime);
	unsigned workers = runtime->worker_count;

	sum->workers += workers;
	sum->busy += rates.busy * workers;
	if (rates.on_cpu < 0 || sum->on_cpu < 0)
		sum->on_cpu = -1;
	else
		sum->on_cpu += rates.on_cpu * workers;
	sum->polls += rates.polls;
	sum->hits += rates.lifo > 0 ? rates.lifo * rates.polls : 0;
	sum->steals += rates.steals;
	sum->parks += rates.parks;
	sum->queued += runtime->after.queue_depth +
		       runtime->after.injection_depth +
		       runtime->after.urgent_depth;
	sum->stalls += runtime->after.total.stalls;
}

static void add_sum(struct sum *all, const struct sum *one)
{
	all->workers += one->workers;
	all->busy += one->busy;
	all->on_cpu = all->on_cpu < 0 || one->on_cpu < 0
			      ? -1
			      : all->on_cpu + one->on_cpu;
	all->polls += one->polls;
	all->hits += one->hits;
	all->steals += one->steals;
	all->parks += one->parks;
	all->queued += one->queued;
	all->stalls += one->stalls;
}

/* Add the tasks that took most of a runtime's time, as "http_read 87 %". */
static void add_busiest(struct table *table, const struct top_process *process,
			const struct top_runtime *runtime)
{
	const struct top_kind *kind = runtime ? runtime->kinds : NULL;
	char name[TARGET_NAME], text[32];

	if (!kind || runtime->kind_count == 0 || kind->looks <= 0) {
		table_add(table, "%s", "");
		return;
	}
	top_kind_name(process->target, kind, name);
	if (kind->in_ns)
		table_add(table, "%.50s %.0f %%, one poll for %s%s", name,
			  100 * top_share(runtime, kind),
			  kind->in_longer ? ">" : "",
			  text_time(text, (double)kind->in_ns));
	else
		table_add(table, "%.50s %.0f %%", name,
			  100 * top_share(runtime, kind));
}

/* Add the cells after the busiest tasks; those before are added by add_shares(). */
static void add_rates(struct table *table, const struct sum *sum)
{
	top_add_rate(table, sum->polls);
	table_count(table, sum->queued);
	top_add_rate(table, sum->steals);
	top_add_rate(table, sum->parks);
	top_add_part(table, sum->polls > 0 ? sum->hits / sum->polls : -1);
}

static void add_shares(struct table *table, const struct sum *sum,
		       bool line_art)
{
	double workers = sum->workers ? sum->workers : 1;

	table_add(table, "%u", sum->workers);
	top_add_bar(table, sum->busy / workers, line_art);
	top_add_part(table, sum->on_cpu < 0 ? -1 : sum->on_cpu / workers);
	table_count(table, sum->stalls);
}

/* Sum up the runtimes of a process. @busiest receives the one with most work. */
static struct sum sum_of(const struct top_process *process,
			 const struct top_runtime **busiest)
{
	struct sum sum = { 0 };
	double most = -1;

	*busiest = NULL;
	for (unsigned i = 0; !process->gone && i < process->count; i++) {
		const struct top_runtime *runtime = &process->runtimes[i];
		double before = sum.busy;

		if (!top_process_whole(process, i))
			continue;
		add_runtime(&sum, runtime);
		if (sum.busy - before > most) {
			most = sum.busy - before;
			*busiest = runtime;
		}
	}
	return sum;
}

static void add_process(struct table *table, const struct top_process *process,
			const struct sum *sum,
			const struct top_runtime *busiest, bool line_art)
{
	char comm[TARGET_NAME];

	table_rank(table, target_rank(process->target));
	table_add(table, "%d", target_pid(process->target));
	target_comm(process->target, comm);
	table_add(table, "%s", comm);
	add_shares(table, sum, line_art);
	add_busiest(table, process, busiest);
	add_rates(table, sum);
}

void top_ranks(FILE *file, const struct top_process *processes, size_t count,
	       const struct top_style *style)
{
	static const char *const titles[] = {
		"rank",     "PID",     "process",       "workers", "busy",
		"on CPU",   "stalls",  "busiest tasks", "polls/s", "queue",
		"steals/s", "parks/s", "LIFO",          NULL
	};
	struct sum all = { 0 };
	size_t shown = 0, left = 0, gone = 0;
	struct table table;

	table_begin(&table, titles, "00101001");
	for (size_t i = 0; i < count; i++) {
		const struct top_runtime *busiest;
		struct sum sum = sum_of(&processes[i], &busiest);

		gone += processes[i].gone;
		if (processes[i].gone)
			continue;
		add_sum(&all, &sum);
		if (shown < style->rows && ++shown)
			add_process(&table, &processes[i], &sum, busiest,
				    style->line_art);
		else
			left++;
	}
	table_add(&table, "all");
	table_add(&table, "%s", "");
	table_add(&table, "%s", "");
	add_shares(&table, &all, style->line_art);
	table_add(&table, "%s", "");
	add_rates(&table, &all);
	table.width = style->width;
	table_print(file, &table);
	if (left > 0)
		fprintf(file, "and %zu more\n", left);
	if (gone > 0)
		fprintf(file, "%zu of %zu processes ha%s ended\n", gone, count,
			gone == 1 ? "s" : "ve");
}
