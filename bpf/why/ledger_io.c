/* SPDX-License-Identifier: MIT */
/*
 * ledger_io.c - waits for descriptors: for how long the peer let a task wait, and for how
 * long the kernel had the event and no worker looked
 *
 * Nothing records when the kernel had an event. But a look takes all events that there are,
 * unless they are too many. So an event that a look finds came after the look before, and it
 * was seen late by at most the time between the two. If the worker slept until the event
 * came, the kernel woke it at that moment, which a recording with switches has.
 */
#include <errno.h>
#include <stdlib.h>

#include "bpf/cli/grow.h"
#include "bpf/cli/saturated.h"
#include "bpf/recording/offcpu.h"
#include "bpf/why/ledger.h"
#include "bpf/why/ledger_parts.h"
#include "probes/area.h"
#include "probes/events.h"

/* A sleep that is shorter may have ended at once, because there were events already. A
 * guess: such a call takes a microsecond. */
#define SLEEP_NS UINT64_C(10000)

/* Rows; the waits of further types of tasks share the last one. */
#define MAX_ROWS 1024u

static bool is_io(uint64_t kind)
{
	return kind == AREA_WAITS_IO_READ || kind == AREA_WAITS_IO_WRITE;
}

/* Find the row of a type, which is added if it is new. Return: its index; l->io_count: there
 * is no memory. */
static size_t find_row(struct ledger *l, uint32_t name, uint32_t kind)
{
	for (size_t i = 0; i < l->io_count; i++)
		if (l->io[i].name == name && l->io[i].kind == kind)
			return i;
	if (l->io_count == MAX_ROWS)
		return MAX_ROWS - 1;
	if (!grow(&l->io, sizeof(*l->io), l->io_count, &l->io_room)) {
		l->failed = -ENOMEM;
		return l->io_count;
	}
	l->io[l->io_count] = (struct ledger_io){ .name = name, .kind = kind };
	return l->io_count++;
}

/* The type of the task that a track polls. */
static uint32_t type_on(const struct ledger *l, unsigned track, uint64_t task)
{
	const struct ledger_steps *s = &l->tracks[track];

	for (size_t i = s->depth; i > 0; i--)
		if (s->open[i - 1].step.doing == LEDGER_POLL &&
		    s->open[i - 1].task == task)
			return s->open[i - 1].step.name;
	return LEDGER_NOBODY;
}

void ledger_on_io_wait(struct ledger *l, const struct trace_mark *mark)
{
	uint64_t task = mark->args[0].number;
	struct address entry = { .address = task, .ns = mark->ns };

	if (!is_io(mark->number))
		return;
	entry.number = find_row(l, type_on(l, mark->track, task),
				(uint32_t)mark->number);
	if (entry.number == l->io_count)
		return;
	/* A task that goes on with its wait, because an event was of no use, waits in
	 * pieces. */
	l->io[entry.number].times += !mark->again;
	if (task && addresses_put(&l->io_open, &entry))
		l->failed = -ENOMEM;
}

/* ---- events ---------------------------------------------------------------- */

/* When the kernel woke a worker that slept until @until_ns; 0: it is not known. */
static uint64_t woken_ns(const struct ledger *l, uint32_t tid, uint64_t from_ns,
			 uint64_t until_ns)
{
	const struct offcpu *offs = trace_offcpu(l->trace);
	struct offcpu_look look;
	uint64_t woken = 0, end;
	enum offcpu_kind before = OFFCPU_NOT;

	if (!offcpu_any(offs))
		return 0;
	look = offcpu_look(offs, tid, from_ns);
	for (uint64_t ns = from_ns; ns < until_ns; ns = end) {
		const struct offcpu_span *off = NULL;
		enum offcpu_kind kind = offcpu_at(&look, ns, &end, &off);

		if (before == OFFCPU_ASLEEP && kind != OFFCPU_ASLEEP)
			woken = ns;
		before = kind;
	}
	return woken;
}

static uint64_t later(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns > b_ns ? a_ns : b_ns;
}

/* Return the io_full_ns of the runtime of a track: that of its first track. */
static uint64_t *full_ns(const struct ledger *l, unsigned track)
{
	uint32_t runtime = trace_source(l->trace, track)->stream.runtime;
	unsigned first = 0;

	while (trace_source(l->trace, first)->stream.runtime != runtime)
		first++;
	return &l->tracks[first].io_full_ns;
}

/* Find out between which times the kernel got the events of a look. */
static void bound_times(struct ledger *l, struct ledger_steps *s,
			const struct trace_mark *mark, struct ledger_reap *out)
{
	bool parks =
		s->depth > 0 && s->open[s->depth - 1].step.doing == LEDGER_PARK;
	uint64_t park = parks ? s->open[s->depth - 1].step.from_ns : 0;
	uint64_t full = *full_ns(l, mark->track), woken;

	*out = (struct ledger_reap){ .from_ns = mark->number,
				     .until_ns = mark->ns,
				     .ns = mark->ns,
				     .since_ns = mark->number };
	if (full > 0 && full < out->from_ns)
		out->from_ns = full;
	if (!mark->slept)
		return;
	if (!parks) {
		/* The beginning of the sleep was not recorded. */
		out->from_ns = out->until_ns = mark->ns;
		return;
	}
	if (mark->ns - park < SLEEP_NS) {
		out->until_ns = park;
		return;
	}
	woken = woken_ns(l, s->tid, park, mark->ns);
	out->from_ns = out->until_ns = woken ? woken : mark->ns;
}

/* Note the look if it came late. Return: as ledger_add_late(); 0 also if it did not. */
static size_t add_late(struct ledger *l, const struct trace_mark *mark,
		       const struct ledger_reap *reap)
{
	const struct ledger_late late = { .track = mark->track,
					  .io = true,
					  .from_ns = reap->from_ns,
					  .until_ns = reap->until_ns };

	if (reap->from_ns == 0 || reap->until_ns <= reap->from_ns ||
	    ledger_late_by(&late) <= EVENT_LATE_NS)
		return 0;
	return ledger_add_late(l, &late);
}

void ledger_on_reap(struct ledger *l, const struct trace_mark *mark)
{
	struct ledger_steps *s = &l->tracks[mark->track];
	bool same = s->reap.ns > 0 && s->reap.since_ns == mark->number;

	/* The events of a look follow each other. */
	if (same)
		return;
	bound_times(l, s, mark, &s->reap);
	*full_ns(l, mark->track) = mark->full ? s->reap.from_ns : 0;
	s->late = add_late(l, mark, &s->reap);
}

/* ---- the end of waits -------------------------------------------------------- */

/* The times of a damaged recording can be any. */
static void add_piece(struct ledger_io *io, uint64_t ns, uint64_t unseen_ns)
{
	io->ns = add_saturated(io->ns, ns);
	io->unseen_ns = add_saturated(io->unseen_ns, unseen_ns);
	if (io->longest_ns < ns)
		io->longest_ns = ns;
	if (io->longest_unseen_ns < unseen_ns)
		io->longest_unseen_ns = unseen_ns;
}

void ledger_on_io_woken(struct ledger *l, const struct trace_mark *mark)
{
	const struct ledger_reap *reap = &l->tracks[mark->track].reap;
	struct address wait;
	uint64_t unseen = 0;

	if (!addresses_take(&l->io_open, mark->args[0].number, &wait) ||
	    mark->ns < wait.ns)
		return;
	/* Deadlines and cancels wake a task without an event. */
	if (reap->ns > 0) {
		uint64_t from = later(reap->from_ns, wait.ns);

		/* A worker that was woken has yet to get a CPU, and to look. */
		unseen = reap->from_ns == reap->until_ns ? mark->ns - from
			 : reap->until_ns > from         ? reap->until_ns - from
							 : 0;
	}
	add_piece(&l->io[wait.number], mark->ns - wait.ns, unseen);
}

void ledger_io_polled(struct ledger *l, uint64_t task)
{
	struct address wait;

	/* The event came before the wait was noted: it took no time. */
	addresses_take(&l->io_open, task, &wait);
}

static int compare_io(const void *left, const void *right)
{
	const struct ledger_io *a = left, *b = right;

	if (a->longest_ns != b->longest_ns)
		return a->longest_ns < b->longest_ns ? 1 : -1;
	return (a->name > b->name) - (a->name < b->name);
}

void ledger_io_stop(struct ledger *l)
{
	for (size_t i = 0; i < l->io_open.size; i++) {
		const struct address *entry = &l->io_open.slots[i];
		struct ledger_io *io;
		uint64_t ns;

		if (entry->address == 0)
			continue;
		io = &l->io[entry->number];
		ns = l->stop_ns > entry->ns ? l->stop_ns - entry->ns : 0;
		add_piece(io, ns, 0);
		io->still++;
		io->still_ns = later(io->still_ns, ns);
	}
	if (l->io_count > 0)
		qsort(l->io, l->io_count, sizeof(*l->io), compare_io);
}
