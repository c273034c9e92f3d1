/* SPDX-License-Identifier: MIT */
/* counts_text.c - print counts as tables */
#include <stdlib.h>
#include <string.h>

#include "bpf/trace/counts_view.h"
#include "bpf/cli/table.h"

#define MAX_NUMBERS 10u  /* up to this many workers, steals are numbers */
#define MAX_SHADES  128u /* up to this many, they are shades */
#define MAX_ENDED   64u  /* rows for ended workers, if none lives */

/* ---- workers --------------------------------------------------------------- */

static void add_count(struct table *table, bool known, uint64_t count)
{
	if (known)
		table_count(table, count);
	else
		table_add(table, "-");
}

static void add_time(struct table *table, bool known, uint64_t ns)
{
	char text[32];

	if (known && ns > 0)
		table_add(table, "%s", text_time(text, (double)ns));
	else
		table_add(table, "-");
}

static void add_lifo(struct table *table, const struct count_worker *worker)
{
	uint64_t hits, polls = worker ? worker->lifo_polls : 0;

	if (polls == 0) {
		table_add(table, "-");
		return;
	}
	/* A report between a hit and the end of its poll has the hit alone. */
	hits = worker->lifo_hits < polls ? worker->lifo_hits : polls;
	table_add(table, "%.0f %%", 100 * (double)hits / (double)polls);
}

static void add_cells(struct table *table, const struct count_worker *worker,
		      const struct count_switches *switches, bool by_kernel)
{
	add_count(table, worker, worker ? worker->steals : 0);
	add_count(table, worker, worker ? worker->tasks_stolen : 0);
	add_count(table, worker, worker ? worker->searches_failed : 0);
	add_count(table, worker, worker ? worker->parks : 0);
	add_time(table, worker, worker ? worker->parked_ns : 0);
	add_lifo(table, worker);
	add_count(table, worker, worker ? worker->overflows : 0);
	add_count(table, switches, switches ? switches->involuntary : 0);
	add_time(table, switches, switches ? switches->preempted_ns : 0);
	if (by_kernel && switches)
		add_time(table, switches->wakes,
			 switches->wakes ? switches->wake_ns / switches->wakes
					 : 0);
	else
		add_time(table, switches, switches ? switches->wake_ns : 0);
}

/* Whether ended workers share one row. If the process has ended, each has its
 * own row, up to MAX_ENDED. */
static bool is_one_row(const struct counts_view *view)
{
	for (unsigned i = 0; i < view->line_count; i++)
		if (!view->lines[i].ended)
			return true;
	return view->line_count > MAX_ENDED;
}

static void add_sum(struct table *table, const struct counts_view *view,
		    bool ended)
{
	struct count_switches switches;
	struct count_worker worker;
	unsigned count = counts_sum(view, ended, &worker, &switches);

	if (ended && count == 0)
		return;
	table_add(table, ended ? "ended" : "all");
	table_add(table, "%u", count);
	add_cells(table, &worker, view->path ? NULL : &switches,
		  view->attached->switches);
}

/* Add a row for each worker, at most @most (0: no limit). Return: how many were
 * left out. */
static unsigned add_lines(struct table *table, const struct counts_view *view,
			  bool ended, unsigned most)
{
	unsigned shown = 0, cut = 0;

	for (unsigned i = 0; i < view->line_count; i++) {
		const struct counts_line *line = &view->lines[i];

		if (line->ended && !ended)
			continue;
		if (most && shown == most) {
			cut++;
			continue;
		}
		table_add(table, "%u", line->index);
		table_add(table, "%u", line->thread);
		add_cells(table, line->worker, line->switches,
			  view->attached->switches);
		shown++;
	}
	return cut;
}

static void print_workers(FILE *file, const struct counts_view *view,
			  const struct counts_style *style)
{
	bool by_kernel = view->attached->switches;
	const char *const titles[] = {
		"worker",    "thread", "steals",
		"tasks",     "failed", "parks",
		"slept",     "LIFO",   "spills",
		"preempted", "for",    by_kernel ? "wake-up" : "waited",
		NULL
	};
	bool one_row = is_one_row(view);
	struct table table;
	unsigned cut;

	table_begin(&table, titles, "1");
	cut = add_lines(&table, view, !one_row, style->rows);
	if (one_row)
		add_sum(&table, view, true);
	add_sum(&table, view, false);
	if (view->rest_count > 0) {
		table_add(&table, "others");
		table_add(&table, "%u", view->rest_count);
		add_cells(&table, NULL, &view->rest, by_kernel);
	}
	table.width = style->width;
	table_print(file, &table);
	if (cut > 0)
		fprintf(file, "and %u more\n", cut);
	if (view->rest_count > 0)
		fprintf(file, "(others: threads of the process that are no "
			      "workers)\n");
}

/* ---- steals, by thief and victim ----------------------------------------------- */

/* Sums of the steals of one process, by indices of thief and victim. The caller
 * frees @cells. */
struct square {
	uint64_t *cells;
	uint64_t most;
	unsigned side;
};

static uint64_t *cell(const struct square *square, uint32_t thief,
		      uint32_t victim)
{
	return &square->cells[thief * square->side + victim];
}

static struct square make_square(const struct counts_view *view)
{
	struct square square = { .side = 0 };
	const struct count_steals *steals;
	uint32_t side = 0;

	for (unsigned i = 0; counts_row(view->counts, COUNTS_MATRIX, i); i++) {
		const struct count_pair *pair =
			counts_key(view->counts, COUNTS_MATRIX, i);

		side = pair->thief >= side ? pair->thief + 1 : side;
		side = pair->victim >= side ? pair->victim + 1 : side;
	}
	if (side == 0 || side > MAX_SHADES)
		return square;
	square.cells = calloc((size_t)side * side, sizeof(*square.cells));
	square.side = square.cells ? side : 0;
	for (unsigned i = 0;
	     square.cells &&
	     (steals = counts_row(view->counts, COUNTS_MATRIX, i));
	     i++) {
		const struct count_pair *pair =
			counts_key(view->counts, COUNTS_MATRIX, i);
		uint64_t *sum = cell(&square, pair->thief, pair->victim);

		*sum += steals->steals;
		square.most = *sum > square.most ? *sum : square.most;
	}
	return square;
}

static void print_numbers(FILE *file, const struct square *square)
{
	static const char *const columns[MAX_NUMBERS] = {
		"from 0", "1", "2", "3", "4", "5", "6", "7", "8", "9"
	};
	const char *titles[MAX_NUMBERS + 2] = { "thief" };
	struct table table;

	memcpy(titles + 1, columns, square->side * sizeof(*titles));
	table_begin(&table, titles, "1");
	for (unsigned i = 0; i < square->side; i++) {
		table_add(&table, "%u", i);
		for (unsigned k = 0; k < square->side; k++)
			add_count(&table, i != k, *cell(square, i, k));
	}
	table_print(file, &table);
}

static void print_shades(FILE *file, const struct square *square, bool line_art)
{
	static const char *const shades[2][5] = { { ".", "-", "+", "*", "#" },
						  { "·", "░", "▒", "▓", "█" } };
	char text[32];

	for (unsigned i = 0; i < square->side; i++) {
		fprintf(file, "%5u ", i);
		for (unsigned k = 0; k < square->side; k++) {
			uint64_t n = *cell(square, i, k);
			unsigned shade =
				n ? 1 + (unsigned)(3.999 * (double)n /
						   (double)(square->most + 1))
				  : 0;

			fputs(shades[line_art][shade], file);
		}
		fputc('\n', file);
	}
	fprintf(file, "(a column a victim, from 0 on; the darkest: %s)\n",
		text_count(text, square->most));
}

static void print_matrix(FILE *file, const struct counts_view *view,
			 bool line_art)
{
	struct square square = make_square(view);

	if (square.side > 0) {
		fprintf(file, "\nsteals by thief and victim, times\n");
		if (square.side <= MAX_NUMBERS)
			print_numbers(file, &square);
		else
			print_shades(file, &square, line_art);
	}
	free(square.cells);
}

/* ---- histograms ------------------------------------------------------------ */

/* Return the upper bound of the octave that contains the quantile @part. */
static uint64_t below(const uint64_t *octaves, uint64_t total, double part)
{
	double seen = 0;
	unsigned i = 0;

	for (; i + 1 < COUNT_OCTAVES; i++) {
		seen += (double)octaves[i];
		if (seen >= part * (double)total)
			break;
	}
	return UINT64_C(2) << i;
}

static void print_histograms(FILE *file, const struct counts_view *view,
			     const struct counts_style *style)
{
	static const char *const titles[] = {
		"times",   "count",     "p50 <",       "p90 <", "p99 <",
		"p99.9 <", "longest <", "each octave", NULL
	};
	static const char *const names[COUNTS_HISTOGRAMS] = {
		"searches that stole", "sleeps", "preempted",
		"from wake-up to running"
	};
	static const double parts[] = { 0.5, 0.9, 0.99, 0.999, 1 };
	uint64_t octaves[COUNT_OCTAVES];
	char text[TABLE_CELL];
	struct table table;

	table_begin(&table, titles, "10000001");
	for (unsigned i = 0; i < COUNTS_HISTOGRAMS; i++) {
		uint64_t total = counts_octaves(view, i, octaves);

		table_add(&table, "%s", names[i]);
		table_count(&table, total);
		for (unsigned k = 0; k < 5; k++)
			add_time(&table, total > 0,
				 below(octaves, total, parts[k]));
		table_add(&table, "%s",
			  text_sparks(text, octaves, COUNT_OCTAVES,
				      style->line_art));
	}
	fputc('\n', file);
	table.width = style->width;
	table_print(file, &table);
	fprintf(file, "(p50 <: half of them were shorter; a bar is an octave: "
		      "times up to twice\nthose of the bar before)\n");
}

/* ---- all of it ------------------------------------------------------------- */

static void print_head(FILE *file, const struct counts_view *view)
{
	char comm[TARGET_NAME], time[32];

	text_time(time, (double)view->counts->at_ns);
	if (view->target) {
		target_comm(view->target, comm);
		fprintf(file, "process %d (%s), ", target_pid(view->target),
			comm);
	} else {
		fprintf(file, "%s, ", view->path);
	}
	fprintf(file, "%s %s\n\n", view->whole ? "all of" : "the last", time);
}

static void print_foot(FILE *file, const struct counts_view *view)
{
	const struct attachment *attached = view->attached;
	struct count_switches switches;
	struct count_worker worker;
	char text[32];

	fputc('\n', file);
	if (attached->how == ATTACH_NOT)
		fprintf(file,
			"missing: steals by thief and victim; the other "
			"counts are from the debug area, as no probes are "
			"attached: %s\n",
			attached->probes_missing);
	else if (attached->how == ATTACH_PINNED)
		fprintf(file, "attached: to probes, by skua pin\n");
	else
		fprintf(file, "attached: to %u probes, %s\n", attached->places,
			attached->how == ATTACH_MULTI ? "by uprobe_multi"
						      : "each by a perf event");
	if (attached->switches)
		fprintf(file, "attached: to context switches\n");
	else if (view->target)
		fprintf(file,
			"missing: for how long threads were preempted; the "
			"other counts are from /proc, as context switches "
			"are not counted: %s\n",
			attached->switches_missing);
	else
		fprintf(file, "missing: context switches: %s\n",
			attached->switches_missing);
	counts_sum(view, false, &worker, &switches);
	switches.unseen += view->rest.unseen;
	if (switches.unseen > 0)
		fprintf(file,
			"unseen: how long %s of the preemptions took, as "
			"this kernel does not report all switches\n",
			text_count(text, switches.unseen));
	if (view->counts->lost > 0)
		fprintf(file, "lost: %s events, as a map was full\n",
			text_count(text, view->counts->lost));
}

void counts_text(FILE *file, const struct counts_view *view,
		 const struct counts_style *style)
{
	print_head(file, view);
	print_workers(file, view, style);
	print_matrix(file, view, style->line_art);
	print_histograms(file, view, style);
	print_foot(file, view);
}
