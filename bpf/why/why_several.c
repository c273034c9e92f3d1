/* SPDX-License-Identifier: MIT */
/* why_several.c - prints the results of several recordings together, for people */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/cli/table.h"
#include "bpf/why/why.h"

/* ---- a row for each recording ----------------------------------------------- */

static void add_time(struct table *table, uint64_t ns, uint64_t whole_ns)
{
	char text[32];

	text_time_in(text, (double)ns, (double)whole_ns);
	*strchr(text, ' ') = '\0';
	table_add(table, "%s", ns ? text : "-");
}

/* Add the part that took most of the slowest tasks' time, as "queued 76 %". */
static void add_most(struct table *table, const struct ledger_verdict *v)
{
	if (v->share_count == 0)
		table_add(table, "-");
	else
		table_add(table, "%s %.0f %%",
			  ledger_word(v->shares[0].reason.kind),
			  100 * v->shares[0].part_share);
}

static void add_row(struct table *table, const struct why *why)
{
	const struct trace_about *about = trace_about(why->trace);
	const struct ledger_type *all = &why->verdict.types[0];
	double unit_ns;

	table_rank(table, about->origin.rank);
	table_add(table, "%" PRIu32, about->meta.pid);
	table_add(table, "%.16s", about->meta.program);
	table_count(table, about->lost);
	table_count(table, all->count);
	table_add(table, "%s", text_unit((double)all->longest_ns, &unit_ns));
	add_time(table, all->p50_ns, all->longest_ns);
	add_time(table, all->p99_ns, all->longest_ns);
	add_time(table, all->p999_ns, all->longest_ns);
	add_time(table, all->longest_ns, all->longest_ns);
	add_most(table, &why->verdict);
}

static void print_rows(FILE *file, const struct why *whys, size_t count)
{
	static const char *const titles[] = { "rank", "PID",         "process",
					      "lost", "count",       "unit",
					      "p50",  "p99",         "p99.9",
					      "most", "slowest 1 %", NULL };
	struct table table;

	table_begin(&table, titles, "00100000001");
	for (size_t i = 0; i < count; i++)
		add_row(&table, &whys[i]);
	table_print(file, &table);
}

/* Name the recordings in which the threads that had the CPUs are not known. */
static void print_unknown(FILE *file, const struct why *whys, size_t count)
{
	const char *before = "the threads that had the CPUs are not known, as "
			     "there are no --switches: ";

	for (size_t i = 0; i < count; i++) {
		if (whys[i].source == WHY_BPF)
			continue;
		fprintf(file, "%s%s", before, whys[i].label);
		before = ", ";
	}
	if (before[0] == ',')
		fputc('\n', file);
}

/* ---- incidents of all -------------------------------------------------------- */

struct place {
	const struct why *why;
	size_t index;
};

static uint64_t worst_of(const struct place *place)
{
	const struct ledger_verdict *v = &place->why->verdict;

	return ledger_took(&v->slow[v->incidents[place->index].worst].item);
}

/* Return the slowest of the recordings' next incidents; each recording has them sorted.
 * If none is left, @why is NULL. */
static struct place next_incident(const struct why *whys, size_t count,
				  size_t *next)
{
	struct place worst = { NULL, 0 };

	for (size_t i = 0; i < count; i++) {
		const struct place place = { &whys[i], next[i] };

		if (next[i] < whys[i].verdict.incident_count &&
		    (!worst.why || worst_of(&place) > worst_of(&worst)))
			worst = place;
	}
	if (worst.why)
		next[worst.why - whys]++;
	return worst;
}

static void print_incidents(FILE *file, const struct why *whys, size_t count,
			    size_t most)
{
	size_t *next = calloc(count, sizeof(*next));

	for (size_t shown = 0; next && shown < most; shown++) {
		struct place worst = next_incident(whys, count, next);

		if (!worst.why)
			break;
		why_print_incident(file, worst.why, worst.index, shown + 1);
	}
	if (next && most > 0 && count > 0)
		why_print_legend(file);
	free(next);
}

/* ---- the whole ------------------------------------------------------------------ */

static void print_verdicts(FILE *file, const struct why *whys, size_t count)
{
	char text[LEDGER_TEXT];

	for (size_t i = 0; i < count; i++) {
		ledger_say_verdict(&whys[i].ledger, &whys[i].verdict, text,
				   sizeof(text));
		fprintf(file, "verdict on %s: %s\n", whys[i].label, text);
	}
}

static void print_all(FILE *file, const struct why *whys, size_t count,
		      size_t most)
{
	print_rows(file, whys, count);
	print_unknown(file, whys, count);
	fputc('\n', file);
	print_incidents(file, whys, count, most);
	print_verdicts(file, whys, count);
}

void why_print_several(FILE *file, const struct why *whys, size_t count,
		       size_t most)
{
	char *text = NULL;
	size_t bytes;
	FILE *lines = open_memstream(&text, &bytes);

	if (!lines) {
		print_all(file, whys, count, most);
		return;
	}
	print_all(lines, whys, count, most);
	fclose(lines);
	why_wrap(file, text);
	free(text);
}
