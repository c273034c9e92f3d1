/* SPDX-License-Identifier: MIT */
/* ledger_reason.c - the causes of an item's time */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "bpf/why/ledger.h"

/*
 * The signs of a burst. A task that waits in a long queue, behind none that takes long,
 * came when many did, if a third of those before it came in the last eighth of its
 * wait: at a steady rate that would be an eighth of them. Guesses;
 * tests/service/test_why.sh shows that they tell its programs apart.
 */
#define BURST_AHEAD 16u
#define BURST_PART  3u
#define BURST_SPAN  8u

/* Of a queue, what one poll may have had if it was nobody's fault. Likewise. */
#define LONGEST_PART 8u

/* Of an item's time, what has to be named. */
#define NAMED_PART 10u

/* ---- queues -------------------------------------------------------------- */

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

/* How many became runnable from @from_ns until it did, and since when. */
static void count_came(const struct ledger *l, const struct ledger_item *item,
		       size_t first, struct ledger_reason *reason)
{
	reason->burst = find_ready(l, item->ready_ns + 1) - first;
	if (reason->burst > 0)
		reason->burst_ns = item->ready_ns - l->ready[first];
}

static bool is_burst(const struct ledger *l, const struct ledger_item *item,
		     const struct ledger_split *split,
		     struct ledger_reason *reason)
{
	uint64_t wait = item->begin_ns - item->ready_ns;
	uint64_t span = wait / BURST_SPAN < item->ready_ns ? wait / BURST_SPAN
							   : item->ready_ns;

	count_came(l, item, find_ready(l, item->ready_ns - span), reason);
	if (reason->burst < split->ahead * l->workers / BURST_PART)
		return false;
	reason->kind = LEDGER_BURST;
	snprintf(reason->culprit, sizeof(reason->culprit), "burst");
	return true;
}

/* Else it came when the workers had more to do than they could. How long those took
 * to come that it waited for tells how much more. @own: most of it was of its type. */
static void set_backlog(const struct ledger *l, const struct ledger_item *item,
			const struct ledger_split *split, bool own,
			struct ledger_reason *reason)
{
	size_t behind = find_ready(l, item->ready_ns + 1);
	uint64_t came = split->ahead * l->workers;

	reason->kind = LEDGER_BACKLOG;
	count_came(l, item, came < behind ? behind - (size_t)came : 0, reason);
	if (reason->burst < split->ahead) /* they yield */
		reason->burst = reason->burst_ns = 0;
	if (own)
		snprintf(reason->culprit, sizeof(reason->culprit), "%s",
			 l->names[item->name]);
}

/* The queue as a whole, if no poll, and no type but its own, stands out. */
static bool is_queue(const struct ledger *l, const struct ledger_item *item,
		     const struct ledger_split *split,
		     struct ledger_reason *reason)
{
	uint64_t queued = split->parts[LEDGER_QUEUED], most = 0;
	bool own = false;

	for (unsigned i = 0; i < split->cause_count; i++)
		if (split->causes[i].part == LEDGER_QUEUED &&
		    split->causes[i].ns > most) {
			most = split->causes[i].ns;
			own = split->causes[i].name == item->name;
		}
	if (split->ahead < BURST_AHEAD ||
	    split->longest_ns > queued / LONGEST_PART ||
	    (!own && most > queued / 2))
		return false;
	*reason = (struct ledger_reason){ .track = item->track,
					  .ns = queued,
					  .times = split->ahead,
					  .longest_ns = split->longest_ns };
	if (!is_burst(l, item, split, reason))
		set_backlog(l, item, split, own, reason);
	return true;
}

/* ---- all reasons --------------------------------------------------------- */

static struct ledger_reason blame(const struct ledger *l,
				  const struct ledger_cause *cause)
{
	struct ledger_reason reason = { .kind = cause->part,
					.how = cause->how,
					.track = cause->track,
					.thread = cause->thread,
					.ns = cause->ns,
					.times = cause->times,
					.longest_ns = cause->longest_ns };

	if (cause->part == LEDGER_PREEMPTED)
		snprintf(reason.culprit, sizeof(reason.culprit), "%s",
			 cause->comm[0] ? cause->comm : "?");
	else if (cause->name < l->name_count && cause->how != LEDGER_STOP)
		snprintf(reason.culprit, sizeof(reason.culprit), "%s",
			 l->names[cause->name]);
	return reason;
}

unsigned ledger_part_of(const struct ledger_reason *reason)
{
	return reason->kind < LEDGER_PARTS ? reason->kind : LEDGER_QUEUED;
}

/* All reasons, and the part itself where none is known. */
static unsigned list(const struct ledger *l, const struct ledger_item *item,
		     const struct ledger_split *split,
		     struct ledger_reason *all)
{
	bool known[LEDGER_PARTS] = { false };
	bool queue = is_queue(l, item, split, &all[0]);
	unsigned count = queue;

	known[LEDGER_QUEUED] = queue;
	for (unsigned i = 0; i < split->cause_count; i++) {
		const struct ledger_cause *cause = &split->causes[i];

		if (cause->part == LEDGER_QUEUED && queue)
			continue;
		all[count++] = blame(l, cause);
		known[cause->part] = true;
	}
	for (unsigned i = 0; i < LEDGER_PARTS; i++)
		if (!known[i])
			all[count++] =
				(struct ledger_reason){ .kind = i,
							.track = item->track,
							.ns = split->parts[i] };
	return count;
}

/* The one of that part that had most, or of all parts, goes to @to. */
static void choose(struct ledger_reason *to, struct ledger_reason *all,
		   unsigned count, unsigned part)
{
	struct ledger_reason *most = NULL, swap = *to;

	for (unsigned i = 0; i < count; i++)
		if ((part == LEDGER_PARTS || ledger_part_of(&all[i]) == part) &&
		    (!most || all[i].ns > most->ns))
			most = &all[i];
	*to = *most;
	*most = swap;
}

unsigned ledger_reasons(const struct ledger *l, const struct ledger_item *item,
			const struct ledger_split *split,
			struct ledger_reason *out)
{
	struct ledger_reason all[1 + LEDGER_CAUSES + LEDGER_PARTS];
	unsigned count = list(l, item, split, all), part = 0, named = 1;

	for (unsigned i = 1; i < LEDGER_PARTS; i++)
		if (split->parts[i] > split->parts[part])
			part = i;
	choose(&all[0], all, count, part);
	for (; named < LEDGER_NAMED; named++) {
		choose(&all[named], &all[named], count - named, LEDGER_PARTS);
		if (all[named].ns <= ledger_took(item) / NAMED_PART)
			break;
	}
	memcpy(out, all, named * sizeof(*out));
	return named;
}
