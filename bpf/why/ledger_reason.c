/* SPDX-License-Identifier: MIT */
/* ledger_reason.c - finds the main reasons for an item's time */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "bpf/target/wait_kind.h"
#include "bpf/why/ledger.h"

/*
 * An item that waited in a long queue, behind no long poll, counts as part of a burst if
 * a third of the tasks before it became runnable shortly before it did: within an eighth
 * of its wait. At a steady rate only an eighth of them would. Guesses;
 * tests/service/test_why.sh shows that they tell its programs apart.
 */
#define BURST_AHEAD 16u
#define BURST_PART  3u
#define BURST_SPAN  8u

/* If one poll has more than this fraction of the time in a queue, blame the
 * poll instead of the queue. A guess as well. */
#define LONGEST_PART 8u

/* A reason is named if it has more than this fraction of the item's time. */
#define NAMED_PART 10u

/* ---- queues -------------------------------------------------------------- */

/* The index of the first time that is not before @ns. */
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

/* Count the tasks that became runnable from index @first until the item did,
 * and measure the time in which they did. */
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

/* Without a burst, the workers had more work than they could do. To measure
 * this, set the time in which as many tasks became runnable as all workers
 * polled during the wait. @own: most of the wait was for the item's own
 * type. */
static void set_backlog(const struct ledger *l, const struct ledger_item *item,
			const struct ledger_split *split, bool own,
			struct ledger_reason *reason)
{
	size_t behind = find_ready(l, item->ready_ns + 1);
	uint64_t came = split->ahead * l->workers;

	reason->kind = LEDGER_BACKLOG;
	count_came(l, item, came < behind ? behind - (size_t)came : 0, reason);
	/* Tasks that yield are polled more often than they come. */
	if (reason->burst < split->ahead)
		reason->burst = reason->burst_ns = 0;
	if (own)
		snprintf(reason->culprit, sizeof(reason->culprit), "%s",
			 l->names[item->name]);
}

/* The time queued behind a type, whatever its labels were. */
static uint64_t queued_behind(const struct ledger_split *split, uint32_t name)
{
	uint64_t ns = 0;

	for (unsigned i = 0; i < split->cause_count; i++)
		if (split->causes[i].part == LEDGER_QUEUED &&
		    split->causes[i].name == name)
			ns += split->causes[i].ns;
	return ns;
}

/* Blame the queue as a whole if no poll, and no type except the item's own,
 * stands out. */
static bool is_queue(const struct ledger *l, const struct ledger_item *item,
		     const struct ledger_split *split,
		     struct ledger_reason *reason)
{
	uint64_t queued = split->parts[LEDGER_QUEUED], most = 0;
	bool own = false;

	for (unsigned i = 0; i < split->cause_count; i++) {
		const struct ledger_cause *cause = &split->causes[i];
		uint64_t ns = cause->part == LEDGER_QUEUED
				      ? queued_behind(split, cause->name)
				      : 0;

		if (ns > most) {
			most = ns;
			own = cause->name == item->name;
		}
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

static void set_name(const struct ledger *l, const struct ledger_cause *cause,
		     struct ledger_reason *reason)
{
	snprintf(reason->culprit, sizeof(reason->culprit), "%s",
		 l->names[cause->name]);
	if (cause->label < l->name_count)
		snprintf(reason->label, sizeof(reason->label), "%s",
			 l->names[cause->label]);
}

/* Is it a wait for the kernel? The task that woke the waiter only took the result. */
static bool is_of_file(const struct ledger_cause *cause)
{
	return cause->part == LEDGER_WAITED &&
	       cause->lock_kind == AREA_WAITS_FILE;
}

static struct ledger_reason blame(const struct ledger *l,
				  const struct ledger_cause *cause)
{
	struct ledger_reason reason = { .kind = cause->part,
					.how = cause->how,
					.track = cause->track,
					.thread = cause->thread,
					.ns = cause->ns,
					.times = cause->times,
					.longest_ns = cause->longest_ns,
					.lock = cause->lock,
					.lock_kind = cause->lock_kind,
					.holder = cause->holder };

	memcpy(reason.did, cause->did, sizeof(reason.did));

	if (cause->part == LEDGER_PREEMPTED)
		snprintf(reason.culprit, sizeof(reason.culprit), "%s",
			 cause->comm[0] ? cause->comm : "?");
	else if (cause->part == LEDGER_WAITED &&
		 wait_kind_is_io(cause->lock_kind))
		snprintf(reason.culprit, sizeof(reason.culprit), "peer");
	else if (cause->name < l->name_count && cause->how != LEDGER_STOP &&
		 !is_of_file(cause))
		set_name(l, cause, &reason);
	return reason;
}

/* Does each request have an object of this kind of its own? */
static bool comes_and_goes(uint32_t kind)
{
	return kind == AREA_WAITS_ONESHOT ||
	       (!wait_kind_is_lock(kind) && !wait_kind_is_channel(kind));
}

bool ledger_is_alike(const struct ledger_reason *a,
		     const struct ledger_reason *b)
{
	bool same_kind = a->lock_kind == b->lock_kind;

	if (a->lock == b->lock)
		return same_kind || !wait_kind_is_channel(a->lock_kind);
	return a->lock && b->lock && same_kind && comes_and_goes(a->lock_kind);
}

unsigned ledger_part_of(const struct ledger_reason *reason)
{
	return reason->kind < LEDGER_PARTS ? reason->kind : LEDGER_QUEUED;
}

/* List all causes; a part without a known cause is its own reason. */
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

/* Swap the largest reason to @to: the largest in @part, or of all if it is
 * LEDGER_PARTS. */
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
