/* SPDX-License-Identifier: MIT */
/* ledger_labels.c - the labels of tasks */
#include <stdio.h>
#include <string.h>

#include "bpf/why/ledger.h"
#include "bpf/why/ledger_parts.h"

struct ledger_open *ledger_find_poll(struct ledger_steps *s, uint64_t task)
{
	for (size_t i = s->depth; i > 0; i--)
		if (s->open[i - 1].step.doing == LEDGER_POLL &&
		    s->open[i - 1].task == task)
			return &s->open[i - 1];
	return NULL;
}

/* The labels of a poll as they are at @ns, with the time of the last one counted. */
static struct ledger_labels settled(const struct ledger_labels *labels,
				    uint64_t ns)
{
	struct ledger_labels out = *labels;
	uint64_t last_ns = ns > out.since_ns ? ns - out.since_ns : 0;

	if (out.now != LEDGER_NOBODY &&
	    (out.most == LEDGER_NOBODY || last_ns > out.most_ns)) {
		out.most = out.now;
		out.most_ns = last_ns;
	}
	return out;
}

void ledger_on_label(struct ledger *l, const struct trace_mark *mark)
{
	struct ledger_open *open =
		ledger_find_poll(&l->tracks[mark->track], mark->args[0].number);

	if (!open)
		return;
	open->labels = settled(&open->labels, mark->ns);
	open->labels.now =
		mark->named ? ledger_name(l, mark->name) : LEDGER_NOBODY;
	open->labels.since_ns = mark->ns;
}

uint32_t ledger_label(const struct ledger_open *open, uint64_t ns)
{
	return settled(&open->labels, ns).most;
}

const char *ledger_task(const struct ledger *l, uint32_t name, uint32_t label,
			char *text)
{
	const char *of = name < l->name_count ? l->names[name] : "a task";

	if (label < l->name_count)
		snprintf(text, LEDGER_WHO, "%s (%s)", of, l->names[label]);
	else
		snprintf(text, LEDGER_WHO, "%s", of);
	return text;
}

const char *ledger_who(const struct ledger_reason *reason, char *text)
{
	if (reason->label[0])
		snprintf(text, LEDGER_WHO, "%s (%s)", reason->culprit,
			 reason->label);
	else
		snprintf(text, LEDGER_WHO, "%s", reason->culprit);
	return text;
}
