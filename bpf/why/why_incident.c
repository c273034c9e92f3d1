/* SPDX-License-Identifier: MIT */
/* why_incident.c - prints an incident: its slowest task, and where the time went */
#include <string.h>

#include "bpf/cli/table.h"
#include "bpf/why/why.h"

#define BAR 20u /* width in characters */

static const char letters[LEDGER_PARTS] = { 'w', 'q', 'p', 's',
					    'r', 'x', 'd', '?' };

/* Each part gets letters in proportion to its time, rounded so that there are
 * BAR of them. */
static void draw_bar(char *bar, const struct ledger_split *split,
		     uint64_t took_ns)
{
	double sum = 0;
	unsigned at = 0;

	for (unsigned i = 0; i < LEDGER_PARTS; i++) {
		sum += (double)split->parts[i];
		while (at < BAR &&
		       (double)at + 0.5 < BAR * sum / (double)took_ns)
			bar[at++] = letters[i];
	}
	bar[at] = '\0';
}

/* Print each part to a thousandth of the whole's unit, so that they add up to
 * it. */
static void print_parts(FILE *file, const struct ledger_split *split,
			uint64_t took_ns)
{
	const char *before = "";
	double unit_ns;
	const char *unit = text_unit((double)took_ns, &unit_ns);

	for (unsigned i = 0; i < LEDGER_PARTS; i++) {
		double value = (double)split->parts[i] / unit_ns;

		if (split->parts[i] == 0)
			continue;
		fprintf(file, "%s%s ", before, ledger_word(i));
		if (value < 0.001)
			fprintf(file, "<0.001 %s", unit);
		else
			fprintf(file, "%.*f %s", unit_ns > 1 ? 3 : 0, value,
				unit);
		before = ", ";
	}
	fputc('\n', file);
}

static void print_hits(FILE *file, const struct why *why,
		       const struct ledger_incident *in)
{
	char tasks[32], looked[32], from[WHY_TIME], to[WHY_TIME];
	uint64_t others = in->tasks;

	if (in->tasks == 1)
		return;
	fprintf(file, "    one incident with %s of the slowest %s tasks, ",
		text_count(tasks, in->tasks),
		text_count(looked, why->verdict.looked));
	fprintf(file, "from %s to %s:", why_when(why, in->from_ns, from),
		why_when(why, in->to_ns, to));
	for (unsigned i = 0; i < in->hit_count; i++) {
		fprintf(file, "%s %s %s", i > 0 ? "," : "",
			text_count(tasks, in->hits[i].count),
			why->ledger.names[in->hits[i].name]);
		others -= in->hits[i].count;
	}
	if (others > 0)
		fprintf(file, ", %s of other types", text_count(tasks, others));
	fputc('\n', file);
}

static void print_late(FILE *file, const struct why *why,
		       const struct ledger_item *item)
{
	const struct ledger_late *late = ledger_late_of(&why->ledger, item);
	char who[TRACE_LABEL], by[32];

	if (!late)
		return;
	trace_label(why->trace, late->track, who);
	text_time(by, (double)ledger_late_by(late));
	if (late->io)
		fprintf(file,
			"    before it was ready, no worker had looked for its "
			"event for up to %s\n",
			by);
	else
		fprintf(file,
			"    before it was ready, %s had not called its pollers "
			"for %s\n",
			who, by);
}

void why_print_incident(FILE *file, const struct why *why, size_t index,
			size_t number)
{
	const struct ledger_incident *in = &why->verdict.incidents[index];
	const struct ledger_slow *slow = &why->verdict.slow[in->worst];
	uint64_t took = ledger_took(&slow->item);
	char bar[BAR + 1], who[TRACE_LABEL], text[LEDGER_TEXT], time[32];
	char at[WHY_TIME], task[LEDGER_WHO];

	draw_bar(bar, &slow->split, took > 0 ? took : 1);
	trace_label(why->trace, slow->item.track, who);
	fprintf(file, "%2zu  [%-*s] %s: %s on %s%s", number, (int)BAR, bar,
		text_time(time, (double)took),
		ledger_task(&why->ledger, slow->item.name, slow->item.label,
			    task),
		who, why->where);
	if (slow->split.stolen) {
		trace_label(why->trace, slow->split.victim, who);
		fprintf(file, ", stolen from %s", who);
	}
	fprintf(file, "\n    at %s: ", why_when(why, slow->item.from_ns, at));
	print_parts(file, &slow->split, took);
	for (unsigned i = 0; i < slow->reason_count; i++) {
		ledger_say(&why->ledger, &slow->reasons[i], 1, text,
			   sizeof(text));
		fprintf(file, "    %s\n", text);
	}
	print_late(file, why, &slow->item);
	print_hits(file, why, in);
}

void why_print_legend(FILE *file)
{
	fputs("    [", file);
	for (unsigned i = 0; i < LEDGER_PARTS; i++)
		fprintf(file, "%s%c %s", i ? ", " : "", letters[i],
			ledger_word(i));
	fputs("]\n\n", file);
}
