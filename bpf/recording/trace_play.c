/* SPDX-License-Identifier: MIT */
/* trace_play.c - see trace_play.h */
#include "bpf/cli/sorted.h"
#include "bpf/recording/trace_play.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/recording/addresses.h"
#include "bpf/recording/trace_slices.h"
#include "bpf/target/wait_kind.h"
#include "probes/area.h"
#include "skua/task.h"

#define COUNT_NS 50000u /* shortest time between two counts of waiting tasks */

struct track {
	struct trace_slices slices;
	bool gap;     /* events are missing after its last one */
	bool started; /* it had an event other than EVENT_CLOCK */
};

/* The track of a worker; an array of them is sorted by runtime and index. */
struct place {
	uint32_t runtime, index;
	unsigned track;
};

struct player {
	struct trace *trace;
	struct trace_sink *sink;
	struct track *tracks;
	struct place *places;
	struct addresses waits;
	unsigned gaps; /* tracks with a gap; while there is one, waits are
		        * unknown */
	uint64_t flows;
	uint64_t ns;
	uint64_t counted, counted_ns;
	int failed;
};

/* Set a mark's name to that of a function or type, or to its address. */
static void set_name(const struct player *p, struct trace_mark *mark,
		     const char *before, enum trace_name_of of,
		     uint64_t address)
{
	const char *name = trace_name(p->trace, of, address);

	if (name && name[0])
		snprintf(mark->name, sizeof(mark->name), "%s%s", before, name);
	else
		snprintf(mark->name, sizeof(mark->name), "%s0x%" PRIx64, before,
			 address);
}

static enum trace_name_of name_kind(uint32_t detail)
{
	return detail == EVENT_NAME_TYPE ? TRACE_NAME_TYPE
					 : TRACE_NAME_FUNCTION;
}

/* ---- marks to tracks ------------------------------------------------------- */

static struct trace_slices *slices_of(struct player *p,
				      const struct trace_mark *mark)
{
	return &p->tracks[mark->track].slices;
}

static void begin(struct player *p, struct trace_mark *mark, uint64_t key)
{
	int code = slices_begin(slices_of(p, mark), mark, key);

	if (code)
		p->failed = code;
}

static void end(struct player *p, struct trace_mark *mark, uint64_t key,
		const struct trace_arg *more)
{
	slices_end(slices_of(p, mark), mark, key, more);
}

static void whole(struct player *p, struct trace_mark *mark, uint64_t from_ns)
{
	slices_whole(slices_of(p, mark), mark, from_ns);
}

static void instant(struct player *p, const struct trace_mark *mark)
{
	slices_instant(slices_of(p, mark), mark);
}

/* ---- events: polls, jobs, sleeps ------------------------------------------- */

static void on_begin(struct player *p, const struct trace_event *e)
{
	struct trace_mark mark = mark_of(TRACE_POLL, "", e);
	struct address wait;

	set_name(p, &mark, "", name_kind(e->event.detail), e->event.b);
	mark_say_address(&mark, "task", e->event.a);
	if (p->gaps == 0 && addresses_take(&p->waits, e->event.a, &wait)) {
		mark.waited = true;
		mark.waited_ns = e->ns - wait.ns;
		mark.waited_on = wait.track;
		mark.flow_in = wait.number;
		mark_say_number(&mark, "waited_ns", mark.waited_ns);
	}
	begin(p, &mark, e->event.a);
}

/* Note that the task of an event is runnable and waits from now on. */
static void start_wait(struct player *p, const struct trace_event *e,
		       uint64_t flow)
{
	const struct address wait = { .address = e->event.a,
				      .ns = e->ns,
				      .number = flow,
				      .track = e->source };

	if (p->gaps == 0 && addresses_put(&p->waits, &wait))
		p->failed = -ENOMEM;
}

static void on_end(struct player *p, const struct trace_event *e)
{
	static const char *const results[] = { "done", "pending", "yield" };
	struct trace_mark mark = mark_of(TRACE_POLL, "a poll", e);
	struct trace_arg result = { .key = "result",
				    .number = e->event.detail };

	if (e->event.detail < sizeof(results) / sizeof(*results))
		result.text = results[e->event.detail];
	mark_say_address(&mark, "task", e->event.a);
	end(p, &mark, e->event.a, &result);
	if (e->event.detail == SKUA_YIELD)
		start_wait(p, e, 0);
}

static void on_job_begin(struct player *p, const struct trace_event *e)
{
	struct trace_mark mark = mark_of(TRACE_JOB, "", e);

	set_name(p, &mark, "job ", TRACE_NAME_FUNCTION, e->event.a);
	mark_say_number(&mark, "victim", e->event.other);
	begin(p, &mark, 0);
}

static void on_job_end(struct player *p, const struct trace_event *e)
{
	struct trace_mark mark = mark_of(TRACE_JOB, "a job", e);

	end(p, &mark, 0, NULL);
}

static void on_park(struct player *p, const struct trace_event *e)
{
	static const char *const reasons[] = { "searched", "crowded",
					       "driven" };
	struct trace_mark mark = mark_of(TRACE_PARK, "parked", e);
	struct trace_arg reason = { .key = "reason",
				    .number = e->event.detail };

	if (e->event.detail < sizeof(reasons) / sizeof(*reasons))
		reason.text = reasons[e->event.detail];
	mark_say(&mark, &reason);
	begin(p, &mark, 0);
}

/* If the beginning of the sleep was not recorded, the event says how long it
 * lasted. The slice begins then, but not before the recording or the last mark
 * drawn. */
static void on_unpark(struct player *p, const struct trace_event *e)
{
	struct trace_mark mark = mark_of(TRACE_PARK, "parked", e);
	const struct trace_arg waker = { .key = "waker",
					 .number = e->event.detail };
	const struct trace_slices *track = &p->tracks[e->source].slices;
	uint64_t from = trace_about(p->trace)->meta.start.monotonic_ns;
	uint64_t slept = e->event.a < e->ns ? e->event.a : e->ns;

	if (slices_has(track, TRACE_PARK, 0) || slept == 0) {
		end(p, &mark, 0, &waker);
		return;
	}
	if (from < track->drawn_ns)
		from = track->drawn_ns;
	if (from < e->ns - slept)
		from = e->ns - slept;
	mark.partial = true;
	mark_say(&mark, &waker);
	whole(p, &mark, from);
}

/* ---- events: instants ------------------------------------------------------ */

static void on_ready(struct player *p, const struct trace_event *e)
{
	struct trace_mark mark = mark_of(TRACE_READY, "ready", e);

	mark.flow_out = ++p->flows;
	mark_say_address(&mark, "task", e->event.a);
	instant(p, &mark);
	start_wait(p, e, mark.flow_out);
}

static int compare_places(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	int order = compare_numbers(a->runtime, b->runtime);

	return order ? order : compare_numbers(a->index, b->index);
}

static const struct place *find_victim(const struct player *p,
				       const struct trace_event *e)
{
	struct place key = {
		.runtime = trace_source(p->trace, e->source)->stream.runtime,
		.index = e->event.other
	};

	return bsearch(&key, p->places, trace_sources(p->trace), sizeof(key),
		       compare_places);
}

/* The arrow begins at an instant on the victim's track, which must be drawn
 * first. */
static void on_steal(struct player *p, const struct trace_event *e)
{
	struct trace_mark search = mark_of(TRACE_SEARCH, "search", e);
	struct trace_mark mark = mark_of(TRACE_STEAL, "steal", e);
	const struct place *victim = find_victim(p, e);
	const struct trace_slices *track = &p->tracks[e->source].slices;
	uint64_t from = e->event.b < e->ns ? e->ns - e->event.b : 0;

	whole(p, &search, from < track->drawn_ns ? track->drawn_ns : from);
	mark.number = e->event.detail;
	mark_say_number(&mark, "tasks", e->event.detail);
	mark_say_number(&mark, "victim", e->event.other);
	mark_say_address(&mark, "first", e->event.a);
	if (victim) {
		struct trace_mark there = mark_of(TRACE_STOLEN, "stolen", e);

		mark.flow_in = there.flow_out = ++p->flows;
		there.track = victim->track;
		mark_say_number(&there, "tasks", e->event.detail);
		instant(p, &there);
	}
	instant(p, &mark);
}

static void on_number(struct player *p, const struct trace_event *e,
		      enum trace_mark_kind kind, const char *name,
		      const char *key)
{
	struct trace_mark mark = mark_of(kind, name, e);

	mark_say_number(&mark, key, e->event.detail);
	instant(p, &mark);
}

static void on_stall(struct player *p, const struct trace_event *e)
{
	struct trace_mark mark = mark_of(TRACE_STALL, "", e);

	set_name(p, &mark, "stall ",
		 trace_name(p->trace, TRACE_NAME_TYPE, e->event.b)
			 ? TRACE_NAME_TYPE
			 : TRACE_NAME_FUNCTION,
		 e->event.b);
	mark_say_address(&mark, "task", e->event.a);
	mark_say_number(&mark, "us", e->event.detail);
	instant(p, &mark);
}

static void on_late(struct player *p, const struct trace_event *e)
{
	struct trace_mark mark = mark_of(TRACE_LATE, "pollers late", e);

	mark.number = e->event.a < e->ns ? e->event.a : e->ns;
	mark_say_number(&mark, "ns", mark.number);
	instant(p, &mark);
}

static char *name_wait(const struct trace *trace, uint32_t kind,
		       uint64_t object, bool whole, char *text)
{
	const char *name = trace_name(trace, TRACE_NAME_OBJECT, object);
	bool known = kind != AREA_WAITS_NOTHING && kind < AREA_WAITS_COUNT;
	const char *of = known ? wait_kind_name(kind) : "something";
	int noun = known ? wait_kind_noun(kind) : (int)strlen(of);
	const char *how = whole ? of + noun : "";

	if (name && name[0])
		snprintf(text, TRACE_WAIT_TEXT, "%.*s %s%s", noun, of, name,
			 how);
	else if (object)
		snprintf(text, TRACE_WAIT_TEXT, "%.*s 0x%" PRIx64 "%s", noun,
			 of, object, how);
	else
		snprintf(text, TRACE_WAIT_TEXT, "%.*s%s", noun, of, how);
	return text;
}

char *trace_wait_name(const struct trace *trace, uint32_t kind, uint64_t object,
		      char *text)
{
	return name_wait(trace, kind, object, true, text);
}

char *trace_object_name(const struct trace *trace, uint32_t kind,
			uint64_t object, char *text)
{
	return name_wait(trace, kind, object, false, text);
}

static void on_wait(struct player *p, const struct trace_event *e)
{
	struct trace_mark mark = mark_of(TRACE_WAIT, "wait", e);
	char text[TRACE_WAIT_TEXT];

	trace_wait_name(p->trace, e->event.detail, e->event.b, text);
	snprintf(mark.name, sizeof(mark.name), "wait for %.70s", text);
	mark.number = e->event.detail;
	mark.again = e->event.other != 0;
	mark_say_address(&mark, "task", e->event.a);
	mark_say_address(&mark, "object", e->event.b);
	instant(p, &mark);
}

static void on_held(struct player *p, const struct trace_event *e)
{
	struct trace_mark mark =
		mark_of(TRACE_HELD, "held by nobody, or by readers", e);

	if (e->event.a)
		set_name(p, &mark, "held by ", TRACE_NAME_HOLDER, e->event.a);
	mark_say_address(&mark, "holder", e->event.a);
	mark_say_address(&mark, "object", e->event.b);
	instant(p, &mark);
}

static void on_give_up(struct player *p, const struct trace_event *e)
{
	struct trace_mark mark = mark_of(TRACE_GIVE_UP, "gives up", e);

	mark_say_address(&mark, "task", e->event.a);
	mark_say_address(&mark, "object", e->event.b);
	mark_say_number(&mark, "errno", e->event.detail);
	instant(p, &mark);
}

static void on_label(struct player *p, const struct trace_event *e)
{
	struct trace_mark mark = mark_of(TRACE_DOES, "no label", e);

	mark.named = e->event.b;
	if (mark.named)
		set_name(p, &mark, "", TRACE_NAME_LABEL, e->event.b);
	mark_say_address(&mark, "task", e->event.a);
	instant(p, &mark);
}

static void on_reap(struct player *p, const struct trace_event *e)
{
	struct trace_mark mark = mark_of(TRACE_REAP, "event", e);

	mark.number = e->event.b < e->ns ? e->event.b : e->ns;
	mark.slept = e->event.other & EVENT_REAP_SLEPT;
	mark.full = e->event.other & EVENT_REAP_FULL;
	mark_say_number(&mark, "descriptor", (uint32_t)e->event.a);
	mark_say_address(&mark, "events", e->event.detail);
	instant(p, &mark);
}

static void on_event(struct player *p, const struct trace_event *e)
{
	switch (e->event.kind) {
	case EVENT_BEGIN:
		on_begin(p, e);
		break;
	case EVENT_END:
		on_end(p, e);
		break;
	case EVENT_READY:
		on_ready(p, e);
		break;
	case EVENT_STEAL:
		on_steal(p, e);
		break;
	case EVENT_STEAL_FAIL:
		on_number(p, e, TRACE_NOTHING, "nothing to steal", "attempts");
		break;
	case EVENT_PARK:
		on_park(p, e);
		break;
	case EVENT_UNPARK:
		on_unpark(p, e);
		break;
	case EVENT_INJECT:
		on_number(p, e, TRACE_QUEUE, "inject", "tasks");
		break;
	case EVENT_OVERFLOW:
		on_number(p, e, TRACE_QUEUE, "overflow", "tasks");
		break;
	case EVENT_JOB_BEGIN:
		on_job_begin(p, e);
		break;
	case EVENT_JOB_END:
		on_job_end(p, e);
		break;
	case EVENT_STALL:
		on_stall(p, e);
		break;
	case EVENT_LATE:
		on_late(p, e);
		break;
	case EVENT_WAIT:
		on_wait(p, e);
		break;
	case EVENT_HELD:
		on_held(p, e);
		break;
	case EVENT_GIVE_UP:
		on_give_up(p, e);
		break;
	case EVENT_REAP:
		on_reap(p, e);
		break;
	case EVENT_LABEL:
		on_label(p, e);
		break;
	default:
		break;
	}
}

/* ---- polls that began before the recording ---------------------------------- */

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
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
	set_name(p, &mark, "", name_kind(before->detail), before->name);
	mark_say_address(&mark, "task", before->task);
	begin(p, &mark, before->task);
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
	struct track *track = &p->tracks[e->source];
	struct trace_mark mark = mark_of(TRACE_GAP, "events lost", e);

	if (track->gap) {
		slices_cut(&track->slices, e->ns);
		p->gaps--;
		track->gap = false;
	}
	mark_say_number(&mark, "events", e->lost);
	if (track->slices.last_ns > 0)
		mark.ns = mark.end_ns = track->slices.last_ns;
	instant(p, &mark);
}

/* In the gap a waiting task may be polled and become runnable again unseen, so
 * forget all waits. */
static void on_gap(struct player *p, struct track *track)
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
	struct track *track = &p->tracks[e->source];

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
	on_event(p, e);
	p->ns = track->slices.last_ns = e->ns;
	if (e->event.kind == EVENT_STOP)
		slices_cut(&track->slices, e->ns);
	if (e->gap)
		on_gap(p, track);
	count_waiting(p, false);
}

static int make_places(struct player *p)
{
	unsigned count = trace_sources(p->trace);

	p->tracks = calloc(count + 1, sizeof(*p->tracks));
	p->places = calloc(count + 1, sizeof(*p->places));
	if (!p->tracks || !p->places)
		return -ENOMEM;
	for (unsigned i = 0; i < count; i++) {
		const struct trace_stream *stream =
			&trace_source(p->trace, i)->stream;

		p->places[i] =
			(struct place){ stream->runtime, stream->index, i };
		p->tracks[i].slices.sink = p->sink;
	}
	qsort(p->places, count, sizeof(*p->places), compare_places);
	return 0;
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

static void free_player(struct player *p)
{
	for (unsigned i = 0; p->tracks && i < trace_sources(p->trace); i++)
		slices_free(&p->tracks[i].slices);
	free(p->tracks);
	free(p->places);
	addresses_free(&p->waits);
}

int trace_play(struct trace *trace, struct trace_sink *sink)
{
	struct player p = { .trace = trace, .sink = sink };
	struct trace_event event;

	p.failed = make_places(&p);
	while (p.failed == 0 && trace_next(trace, &event))
		take(&p, &event);
	if (p.failed == 0)
		p.failed = trace_failed(trace);
	if (p.failed == 0)
		finish(&p);
	free_player(&p);
	return p.failed;
}
