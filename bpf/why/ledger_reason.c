/* SPDX-License-Identifier: MIT */
/* ledger_reason.c - what an item's time went to above all, also in words */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "bpf/why/ledger.h"
#include "bpf/table.h"

/*
 * What makes a burst. Who waits in a long queue, behind nobody who takes long, came
 * when many did, if a third of those before it came in the last eighth of its wait:
 * at a steady rate that would be an eighth of them. Guesses; tests/service/test_why.sh
 * shows that they tell its programs apart.
 */
#define BURST_AHEAD 16u
#define BURST_PART  3u
#define BURST_SPAN  8u

/* Of a part, what makes who had so much of it the only one to name. */
#define ALONE 0.8

static const char *const words[LEDGER_REASONS] = { "queued",    "parked",
						   "stolen",    "running",
						   "preempted", "descheduled",
						   "unknown",   "burst" };

const char *ledger_word(unsigned part)
{
	return words[part];
}

/* ---- the reason for one ---------------------------------------------------- */

static const struct ledger_cause *find_cause(const struct ledger_split *split,
					     enum ledger_part part)
{
	const struct ledger_cause *most = NULL;

	for (unsigned i = 0; i < split->cause_count; i++)
		if (split->causes[i].part == part &&
		    (!most || split->causes[i].ns > most->ns))
			most = &split->causes[i];
	return most;
}

/* The first time that is not before @ns. */
static size_t find_ready(const struct ledger *l, uint64_t ns)
{
	size_t low = 0, high = l->ready_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (l->ready[middle] < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_burst(const struct ledger *l, const struct ledger_item *item,
		     const struct ledger_split *split,
		     struct ledger_reason *reason)
{
	uint64_t wait = item->begin_ns - item->ready_ns, came;
	uint64_t span = wait / BURST_SPAN < item->ready_ns ? wait / BURST_SPAN
							   : item->ready_ns;
	size_t first = find_ready(l, item->ready_ns - span);

	came = find_ready(l, item->ready_ns + 1) - first;
	if (split->ahead < BURST_AHEAD ||
	    split->longest_ns > split->parts[LEDGER_QUEUED] / 2 ||
	    came < split->ahead * l->workers / BURST_PART)
		return false;
	reason->kind = LEDGER_BURST;
	reason->ns = split->parts[LEDGER_QUEUED];
	reason->times = split->ahead;
	reason->longest_ns = split->longest_ns;
	reason->burst = came;
	reason->burst_ns = item->ready_ns - l->ready[first];
	snprintf(reason->culprit, sizeof(reason->culprit), "burst");
	return true;
}

static void blame(const struct ledger *l, const struct ledger_cause *cause,
		  struct ledger_reason *reason)
{
	reason->track = cause->track;
	reason->thread = cause->thread;
	reason->ns = cause->ns;
	reason->times = cause->times;
	reason->longest_ns = cause->longest_ns;
	if (cause->part == LEDGER_PREEMPTED)
		snprintf(reason->culprit, sizeof(reason->culprit), "%s",
			 cause->comm[0] ? cause->comm : "?");
	else if (cause->name < l->name_count)
		snprintf(reason->culprit, sizeof(reason->culprit), "%s",
			 l->names[cause->name]);
}

struct ledger_reason ledger_reason(const struct ledger *l,
				   const struct ledger_item *item,
				   const struct ledger_split *split)
{
	struct ledger_reason reason = { .track = item->track };
	const struct ledger_cause *cause;

	for (unsigned i = 1; i < LEDGER_PARTS; i++)
		if (split->parts[i] > split->parts[reason.kind])
			reason.kind = i;
	reason.ns = split->parts[reason.kind];
	if (reason.kind == LEDGER_QUEUED && is_burst(l, item, split, &reason))
		return reason;
	cause = find_cause(split, (enum ledger_part)reason.kind);
	if (cause)
		blame(l, cause, &reason);
	return reason;
}

/* ---- in words -------------------------------------------------------------- */

static void say_queued(const struct ledger_reason *r, const char *who,
		       char *text, size_t bytes)
{
	char took[32], longest[32], times[32];

	text_time(took, (double)r->ns);
	if (!r->culprit[0])
		snprintf(text, bytes, "waited %s while %s was between polls",
			 took, who);
	else if (r->times == 1)
		snprintf(text, bytes, "waited %s behind %s on %s", took,
			 r->culprit, who);
	else
		snprintf(text, bytes,
			 "waited %s behind %s on %s: %s polls, up to %s", took,
			 r->culprit, who, text_count(times, r->times),
			 text_time(longest, (double)r->longest_ns));
}

static void say_burst(const struct ledger_reason *r, char *text, size_t bytes)
{
	char came[32], within[32], ahead[32];

	snprintf(text, bytes,
		 "burst: %s tasks became runnable within %s before it, and it "
		 "waited behind %s polls",
		 text_count(came, r->burst),
		 text_time(within, (double)r->burst_ns),
		 text_count(ahead, r->times));
}

static void say_preempted(const struct ledger_reason *r, const char *who,
			  char *text, size_t bytes)
{
	char took[32], thread[32] = "";

	if (r->thread)
		snprintf(thread, sizeof(thread), " (thread %" PRIu32 ")",
			 r->thread);
	snprintf(text, bytes, "%s was preempted for %s by %s%s", who,
		 text_time(took, (double)r->ns), r->culprit, thread);
}

void ledger_say(const struct ledger *l, const struct ledger_reason *r,
		char *text, size_t bytes)
{
	char who[TRACE_LABEL], took[32];

	trace_label(l->trace, r->track, who);
	text_time(took, (double)r->ns);
	switch (r->kind) {
	case LEDGER_QUEUED:
		say_queued(r, who, text, bytes);
		break;
	case LEDGER_BURST:
		say_burst(r, text, bytes);
		break;
	case LEDGER_PREEMPTED:
		say_preempted(r, who, text, bytes);
		break;
	case LEDGER_DESCHEDULED:
		snprintf(text, bytes,
			 "%s slept for %s in the kernel, in a poll of %s", who,
			 took, r->culprit[0] ? r->culprit : "?");
		break;
	case LEDGER_RUNNING:
		snprintf(text, bytes, "ran for %s itself", took);
		break;
	case LEDGER_PARKED:
		snprintf(text, bytes, "waited %s for %s to wake up", took, who);
		break;
	case LEDGER_STOLEN:
		snprintf(text, bytes, "took %s to be stolen by %s", took, who);
		break;
	default:
		snprintf(text, bytes, "it is not known where %s went", took);
		break;
	}
}

/* What a part of the time went to; of a part that somebody has a share of, as much
 * of a sentence as his name ends. */
static const char *say_part(unsigned kind, bool several)
{
	switch (kind) {
	case LEDGER_QUEUED:
		return several ? "waiting behind others" : "waiting behind ";
	case LEDGER_PREEMPTED:
		return several ? "waiting for a CPU that others had"
			       : "waiting for a CPU that another had: ";
	case LEDGER_DESCHEDULED:
		return several ? "sleeps in the kernel in polls"
			       : "sleeps in the kernel in polls of ";
	case LEDGER_RUNNING:
		return "their own polls";
	case LEDGER_PARKED:
		return "waking a worker up";
	case LEDGER_STOLEN:
		return "being stolen";
	default:
		return "what is not known";
	}
}

void ledger_say_verdict(const struct ledger_verdict *v, char *text,
			size_t bytes)
{
	const struct ledger_reason *r = &v->reason;
	bool several = r->culprit[0] && v->share < ALONE * v->part_share;
	char count[32];
	int used;

	if (v->judged == 0) {
		snprintf(text, bytes, "no task was seen to wait and be polled");
		return;
	}
	text_count(count, v->judged);
	if (r->kind == LEDGER_BURST) {
		char came[32];

		snprintf(text, bytes,
			 "burst: %.0f %% of the time of the slowest %s went to "
			 "waiting in queues, when up to %s tasks came at once",
			 100 * v->share, count, text_count(came, r->burst));
		return;
	}
	used = snprintf(text, bytes,
			"%s%.0f %% of the time of the slowest %s went to %s%s",
			r->culprit[0] ? "" : "nobody is to blame: ",
			100 * (several ? v->part_share : v->share), count,
			say_part(r->kind, several), several ? "" : r->culprit);
	if (several && used > 0 && (size_t)used < bytes)
		snprintf(text + used, bytes - (size_t)used,
			 "; the most of it, %.0f %%, to %s", 100 * v->share,
			 r->culprit);
}
