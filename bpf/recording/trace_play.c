/* SPDX-License-Identifier: MIT */
/* trace_play.c - see trace_play.h */
#include "bpf/recording/trace_play.h"

#include "bpf/recording/trace_player.h"

#define COUNT_NS 50000u /* shortest time between two counts of waiting tasks */

/* ---- polls that began before the recording ---------------------------------- */

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Begin a track at its first event, or at the end if it has none. If the worker
 * was in a poll when the recording began, draw its beginning; the event of its
 * end may still follow. */
static void begin_track(struct player *p, unsigned source, uint64_t ns)
{
	const struct trace_before *before =
		&trace_source(p->trace, source)->before;
	struct trace_slices *track = &p->tracks[source].slices;
	struct trace_mark mark = { .kind = TRACE_POLL,
				   .track = source,
				   .ns = earlier(before->from_ns, ns),
				   .partial = true };

	track->begun = true;
	track->since_ns = ns;
	if (before->until_ns == 0 || trace_about(p->trace)->timeless)
		return;
	player_set_name(p, &mark, "", player_name_kind(before->detail),
			before->name);
	mark_say_address(&mark, "task", before->task);
	player_begin(p, &mark, before->task);
	track->last_ns = mark.ns;
}

/* The worker notices only now that it is recorded, so the poll that it was in
 * before has ended: draw it up to the last time that it was seen. */
static void end_before(struct player *p, unsigned source, uint64_t ns)
{
	uint64_t until = trace_source(p->trace, source)->before.until_ns;
	struct trace_slices *track = &p->tracks[source].slices;

	if (track->depth == 0)
		return;
	slices_end_all(track, earlier(until, ns));
	track->floor_ns = track->drawn_ns;
}

/* ---- missing events -------------------------------------------------------- */

static void on_lost(struct player *p, const struct trace_event *e)
{
	struct player_track *track = &p->tracks[e->source];
	struct trace_mark mark = mark_of(TRACE_GAP, "events lost", e);

	if (track->gap) {
		slices_cut(&track->slices, e->ns);
		p->gaps--;
		track->gap = false;
	}
	/* The poll from before may have ended in the gap. */
	if (!track->started)
		end_before(p, e->source, e->ns);
	mark_say_number(&mark, "events", e->lost);
	if (track->slices.last_ns > 0)
		mark.ns = later(track->slices.last_ns, track->slices.floor_ns);
	mark.end_ns = mark.ns;
	slices_instant(&track->slices, &mark);
}

/* In the gap a waiting task may be polled and become runnable again unseen, so
 * forget all waits. */
static void on_gap(struct player *p, struct player_track *track)
{
	track->gap = true;
	p->gaps++;
	addresses_clear(&p->waits);
}

static void count_waiting(struct player *p, bool last)
{
	if (!p->sink->count || p->gaps > 0 || p->waits.count == p->counted)
		return;
	if (!last && p->ns - p->counted_ns < COUNT_NS)
		return;
	p->counted = p->waits.count;
	p->counted_ns = p->ns;
	p->sink->count(p->sink, p->ns, p->counted);
}

static void take(struct player *p, const struct trace_event *e)
{
	struct player_track *track = &p->tracks[e->source];

	if (!track->slices.begun)
		begin_track(p, e->source, e->ns);
	if (e->lost > 0)
		on_lost(p, e);
	if (e->event.kind == EVENT_START) {
		if (!track->started)
			end_before(p, e->source, e->ns);
		slices_begin_anew(&track->slices, e->ns);
	}
	track->started |= e->event.kind != EVENT_CLOCK;
	player_draw(p, e);
	p->ns = track->slices.last_ns = e->ns;
	if (e->event.kind == EVENT_STOP)
		slices_cut(&track->slices, e->ns);
	if (e->gap)
		on_gap(p, track);
	count_waiting(p, false);
}

static void send_left(struct player *p)
{
	if (p->sink->stop)
		p->sink->stop(p->sink, p->ns);
	for (size_t i = 0; p->sink->left && i < p->waits.size; i++)
		if (p->waits.slots[i].address != 0)
			p->sink->left(p->sink, p->waits.slots[i].ns,
				      p->waits.slots[i].track);
}

/* End the slices that are still open at the end of the recording. */
static void finish(struct player *p)
{
	uint64_t stop = trace_about(p->trace)->end.stop.monotonic_ns;

	count_waiting(p, true);
	if (p->ns < stop)
		p->ns = stop;
	for (unsigned i = 0; i < trace_sources(p->trace); i++)
		if (!p->tracks[i].slices.begun)
			begin_track(p, i, UINT64_MAX);
	send_left(p);
	for (unsigned i = 0; i < trace_sources(p->trace); i++) {
		if (!p->tracks[i].started)
			end_before(p, i, UINT64_MAX);
		slices_end_all(&p->tracks[i].slices, p->ns);
	}
}

int trace_play(struct trace *trace, struct trace_sink *sink)
{
	struct trace_event event;
	struct player p;

	p.failed = player_open(&p, trace, sink);
	while (p.failed == 0 && trace_next(trace, &event))
		take(&p, &event);
	if (p.failed == 0)
		p.failed = trace_failed(trace);
	if (p.failed == 0)
		finish(&p);
	player_close(&p);
	return p.failed;
}
