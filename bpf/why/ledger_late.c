/* SPDX-License-Identifier: MIT */
/*
 * ledger_late.c - delays before tasks became ready
 *
 * A connection with data to read waits until its worker calls the poller that watches
 * it, or until a worker looks for events of descriptors. Its task becomes ready only then, so
 * no item contains this wait.
 */
#include <string.h>

#include "bpf/why/ledger.h"

/* The shortest delay to report. A guess: twenty ticks; pollers are called at
 * the end of each tick. */
#define LATE_NS UINT64_C(1000000)

/* Return the delay as an item without a task, which waited for the worker of @track. */
static struct ledger_item item_of(const struct ledger_late *late,
				  uint32_t track)
{
	return (struct ledger_item){ .from_ns = late->from_ns,
				     .ready_ns = late->from_ns,
				     .begin_ns = late->until_ns,
				     .end_ns = late->until_ns,
				     .track = track,
				     .home = track,
				     .name = LEDGER_NOBODY - 1,
				     .label = LEDGER_NOBODY };
}

/* Return the longest time for which one cause kept the worker from looking. */
static uint64_t kept_ns(const struct ledger *l, const struct ledger_late *late,
			uint32_t track)
{
	const struct ledger_item item = item_of(late, track);
	struct ledger_split split;
	uint64_t most = 0;

	ledger_split(l, &item, &split);
	for (unsigned i = 0; i < split.cause_count; i++)
		if (split.causes[i].part != LEDGER_PARKED &&
		    split.causes[i].ns > most)
			most = split.causes[i].ns;
	return most;
}

/* Return the worker to blame for a late look. Any worker may look for events, and a worker
 * that sleeps is woken for that within a millisecond. So it is the one that a single cause
 * kept from looking for the longest time. */
static uint32_t blamed(const struct ledger *l, const struct ledger_late *late)
{
	uint32_t runtime = trace_source(l->trace, late->track)->stream.runtime;
	uint64_t most = kept_ns(l, late, late->track);
	uint32_t track = late->track;

	for (unsigned i = 0; i < trace_sources(l->trace); i++) {
		const struct trace_stream *stream =
			&trace_source(l->trace, i)->stream;
		uint64_t ns;

		if (stream->index == TRACE_OUTSIDE ||
		    stream->runtime != runtime)
			continue;
		ns = kept_ns(l, late, i);
		if (ns <= most)
			continue;
		most = ns;
		track = i;
	}
	return track;
}

static void explain(const struct ledger *l, struct ledger_delay *delay)
{
	struct ledger_item item;
	struct ledger_split split;

	if (delay->late.io)
		delay->late.track = blamed(l, &delay->late);
	item = item_of(&delay->late, delay->late.track);
	ledger_split(l, &item, &split);
	delay->reason_count = ledger_reasons(l, &item, &split, delay->reasons);
}

/* Count a delay, and insert it if it is one of the longest so far; the longest comes
 * first. */
static void insert(struct ledger_delays *to, const struct ledger_late *late)
{
	unsigned at = to->count;

	to->times++;
	while (at > 0 &&
	       ledger_late_by(&to->list[at - 1].late) < ledger_late_by(late))
		at--;
	if (at == LEDGER_NAMED)
		return;
	if (to->count < LEDGER_NAMED)
		to->count++;
	memmove(&to->list[at + 1], &to->list[at],
		(to->count - 1 - at) * sizeof(*to->list));
	to->list[at].late = *late;
}

void ledger_find_delays(const struct ledger *l, struct ledger_verdict *v)
{
	v->late_ns = v->slower_than_ns > 0 ? v->slower_than_ns : LATE_NS;
	for (size_t i = 0; i < l->late_count; i++) {
		const struct ledger_late *late = &l->lates[i];

		if (late->woken == 0 || ledger_late_by(late) <= v->late_ns)
			continue;
		insert(late->io ? &v->events : &v->pollers, late);
	}
	for (unsigned i = 0; i < v->pollers.count; i++)
		explain(l, &v->pollers.list[i]);
	for (unsigned i = 0; i < v->events.count; i++)
		explain(l, &v->events.list[i]);
}

const struct ledger_late *ledger_late_of(const struct ledger *l,
					 const struct ledger_item *item)
{
	size_t low = 0, high = l->late_count;

	/* Late calls are sorted by their ends: find the last that ended by
	 * @ready_ns. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (l->lates[middle].until_ns <= item->ready_ns)
			low = middle + 1;
		else
			high = middle;
	}
	/* That call may be of another worker. */
	for (; low > 0; low--) {
		const struct ledger_late *late = &l->lates[low - 1];

		if (late->track == item->home)
			return item->ready_ns <= late->last_ns ? late : NULL;
	}
	return NULL;
}
