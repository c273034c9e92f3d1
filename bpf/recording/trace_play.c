/* SPDX-License-Identifier: MIT */
/* trace_play.c - see trace_play.h */
#include "bpf/recording/trace_play.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/recording/addresses.h"
#include "skua/task.h"

#define DEEPEST  64u    /* slices in slices; what is deeper is left out */
#define COUNT_NS 50000u /* between counts of who waits, at least */

struct track {
	struct trace_mark *open;
	uint64_t *keys; /* of each: the task, or 0 */
	unsigned depth, room;
	unsigned deeper; /* that were left out */
	bool gap;
	/* From when on nothing is missing, and of the last event before that:
	 * what began between them begins at the former, as far as there is room. */
	uint64_t since_ns, floor_ns;
	uint64_t last_ns;  /* of the last event */
	uint64_t drawn_ns; /* of the last that was drawn */
	bool begun;
};

/* A worker's track; sorted. */
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
	unsigned gaps; /* of all tracks: who waits is not known meanwhile */
	uint64_t flows;
	uint64_t ns;
	uint64_t counted, counted_ns;
	int failed;
};

/* ---- marks ----------------------------------------------------------------- */

/* In the order of enum trace_mark_kind. */
static const char *const categories[] = { "task",  "job",   "park",  "steal",
					  "lost",  "ready", "steal", "steal",
					  "steal", "queue", "stall" };

const char *trace_category(enum trace_mark_kind kind)
{
	return categories[kind];
}

static struct trace_mark mark_of(enum trace_mark_kind kind, const char *name,
				 const struct trace_event *event)
{
	struct trace_mark mark = { .kind = kind,
				   .track = event->source,
				   .ns = event->ns,
				   .end_ns = event->ns };

	snprintf(mark.name, sizeof(mark.name), "%s", name);
	return mark;
}

static unsigned count_args(const struct trace_mark *mark)
{
	unsigned count = 0;

	while (count < TRACE_ARGS && mark->args[count].key)
		count++;
	return count;
}

static void say(struct trace_mark *mark, const struct trace_arg *arg)
{
	unsigned count = count_args(mark);

	if (arg && count < TRACE_ARGS)
		mark->args[count] = *arg;
}

static void say_number(struct trace_mark *mark, const char *key,
		       uint64_t number)
{
	say(mark, &(struct trace_arg){ .key = key, .number = number });
}

static void say_address(struct trace_mark *mark, const char *key, uint64_t to)
{
	say(mark,
	    &(struct trace_arg){ .key = key, .number = to, .address = true });
}

/* What a function, or a type, is called; or its address. */
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

static enum trace_name_of name_kind(const struct event *event)
{
	return event->detail == EVENT_NAME_TYPE ? TRACE_NAME_TYPE
						: TRACE_NAME_FUNCTION;
}

static void send_begin(struct player *p, const struct trace_mark *mark)
{
	if (p->sink->begin)
		p->sink->begin(p->sink, mark);
}

static void send_end(struct player *p, const struct trace_mark *mark)
{
	if (p->sink->end)
		p->sink->end(p->sink, mark);
}

static void send_instant(struct player *p, const struct trace_mark *mark)
{
	p->tracks[mark->track].drawn_ns = mark->ns;
	if (p->sink->instant)
		p->sink->instant(p->sink, mark);
}

/* ---- slices ---------------------------------------------------------------- */

static bool make_room(struct track *track)
{
	unsigned room = track->room ? 2 * track->room : 4;
	void *open, *keys;

	if (track->depth < track->room)
		return true;
	open = reallocarray(track->open, room, sizeof(*track->open));
	if (open)
		track->open = open;
	keys = reallocarray(track->keys, room, sizeof(*track->keys));
	if (keys)
		track->keys = keys;
	if (!open || !keys)
		return false;
	track->room = room;
	return true;
}

static void push(struct player *p, struct trace_mark *mark, uint64_t key)
{
	struct track *track = &p->tracks[mark->track];

	if (track->depth == DEEPEST) {
		track->deeper++;
		return;
	}
	if (!make_room(track)) {
		p->failed = -ENOMEM;
		return;
	}
	mark->args_first = count_args(mark);
	track->keys[track->depth] = key;
	track->open[track->depth++] = *mark;
	track->drawn_ns = mark->ns;
	send_begin(p, mark);
}

static void pop(struct player *p, struct track *track, uint64_t ns,
		bool partial)
{
	struct trace_mark *mark = &track->open[--track->depth];

	mark->end_ns = ns;
	mark->partial |= partial;
	track->drawn_ns = ns;
	send_end(p, mark);
}

static void pop_all(struct player *p, struct track *track, uint64_t ns)
{
	while (track->depth > 0)
		pop(p, track, ns, true);
	track->deeper = 0;
}

/* The innermost open one of a kind and key, counted from 1; 0: there is none. */
static unsigned find_open(const struct track *track, enum trace_mark_kind kind,
			  uint64_t key)
{
	unsigned depth = track->depth;

	while (depth > 0 && (track->open[depth - 1].kind != kind ||
			     track->keys[depth - 1] != key))
		depth--;
	return depth;
}

/* A slice that is over, with the others that it is in or that are in it. */
static void send_whole(struct player *p, struct trace_mark *mark,
		       uint64_t from_ns)
{
	mark->ns = from_ns < mark->end_ns ? from_ns : mark->end_ns;
	mark->args_first = count_args(mark);
	p->tracks[mark->track].drawn_ns = mark->end_ns;
	send_begin(p, mark);
	send_end(p, mark);
}

/* Begun before anything was seen: a little earlier than all that is inside. */
static uint64_t unseen_ns(struct track *track)
{
	if (track->since_ns > track->floor_ns)
		track->since_ns--;
	return track->since_ns;
}

/* The end of a slice; @mark is what it is if its beginning was not seen, and
 * @more is said of it in either case. */
static void end(struct player *p, struct trace_mark *mark, uint64_t key,
		const struct trace_arg *more)
{
	struct track *track = &p->tracks[mark->track];
	unsigned depth = find_open(track, mark->kind, key);

	if (depth == 0 && track->deeper > 0) {
		track->deeper--;
	} else if (depth > 0) {
		while (track->depth > depth)
			pop(p, track, mark->ns, true);
		say(&track->open[depth - 1], more);
		pop(p, track, mark->ns, false);
	} else {
		pop_all(p, track, mark->ns);
		mark->partial = true;
		say(mark, more);
		send_whole(p, mark, unseen_ns(track));
	}
}

/* ---- events: polls, jobs, sleeps ------------------------------------------- */

static void on_begin(struct player *p, const struct trace_event *e)
{
	struct trace_mark mark = mark_of(TRACE_POLL, "", e);
	struct address wait;

	set_name(p, &mark, "", name_kind(&e->event), e->event.b);
	say_address(&mark, "task", e->event.a);
	if (p->gaps == 0 && addresses_take(&p->waits, e->event.a, &wait)) {
		mark.waited = true;
		mark.waited_ns = e->ns - wait.ns;
		mark.waited_on = wait.track;
		mark.flow_in = wait.number;
		say_number(&mark, "waited_ns", mark.waited_ns);
	}
	push(p, &mark, e->event.a);
}

/* Since then, its task is runnable and waits. */
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
	say_address(&mark, "task", e->event.a);
	end(p, &mark, e->event.a, &result);
	if (e->event.detail == SKUA_YIELD)
		start_wait(p, e, 0);
}

static void on_job_begin(struct player *p, const struct trace_event *e)
{
	struct trace_mark mark = mark_of(TRACE_JOB, "", e);

	set_name(p, &mark, "job ", TRACE_NAME_FUNCTION, e->event.a);
	say_number(&mark, "victim", e->event.other);
	push(p, &mark, 0);
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
	say(&mark, &reason);
	push(p, &mark, 0);
}

/* Since before anything was seen of the worker, unless it says how long. */
static void on_unpark(struct player *p, const struct trace_event *e)
{
	struct trace_mark mark = mark_of(TRACE_PARK, "parked", e);
	const struct trace_arg waker = { .key = "waker",
					 .number = e->event.detail };
	const struct track *track = &p->tracks[e->source];
	uint64_t from = trace_about(p->trace)->meta.start.monotonic_ns;
	uint64_t slept = e->event.a < e->ns ? e->event.a : e->ns;

	if (find_open(track, TRACE_PARK, 0) > 0 || slept == 0) {
		end(p, &mark, 0, &waker);
		return;
	}
	if (from < track->drawn_ns)
		from = track->drawn_ns;
	if (from < e->ns - slept)
		from = e->ns - slept;
	mark.partial = true;
	say(&mark, &waker);
	send_whole(p, &mark, from);
}

/* ---- events: instants ------------------------------------------------------ */

static void on_ready(struct player *p, const struct trace_event *e)
{
	struct trace_mark mark = mark_of(TRACE_READY, "ready", e);

	mark.flow_out = ++p->flows;
	say_address(&mark, "task", e->event.a);
	send_instant(p, &mark);
	start_wait(p, e, mark.flow_out);
}

static int compare_places(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	if (a->runtime != b->runtime)
		return a->runtime < b->runtime ? -1 : 1;
	if (a->index != b->index)
		return a->index < b->index ? -1 : 1;
	return 0;
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

/* The arrow begins at an instant of the victim, which comes first. */
static void on_steal(struct player *p, const struct trace_event *e)
{
	struct trace_mark search = mark_of(TRACE_SEARCH, "search", e);
	struct trace_mark mark = mark_of(TRACE_STEAL, "steal", e);
	const struct place *victim = find_victim(p, e);
	const struct track *track = &p->tracks[e->source];
	uint64_t from = e->event.b < e->ns ? e->ns - e->event.b : 0;

	send_whole(p, &search, from < track->drawn_ns ? track->drawn_ns : from);
	mark.number = e->event.detail;
	say_number(&mark, "tasks", e->event.detail);
	say_number(&mark, "victim", e->event.other);
	say_address(&mark, "first", e->event.a);
	if (victim) {
		struct trace_mark there = mark_of(TRACE_STOLEN, "stolen", e);

		mark.flow_in = there.flow_out = ++p->flows;
		there.track = victim->track;
		say_number(&there, "tasks", e->event.detail);
		send_instant(p, &there);
	}
	send_instant(p, &mark);
}

static void on_number(struct player *p, const struct trace_event *e,
		      enum trace_mark_kind kind, const char *name,
		      const char *key)
{
	struct trace_mark mark = mark_of(kind, name, e);

	say_number(&mark, key, e->event.detail);
	send_instant(p, &mark);
}

static void on_stall(struct player *p, const struct trace_event *e)
{
	struct trace_mark mark = mark_of(TRACE_STALL, "", e);

	set_name(p, &mark, "stall ",
		 trace_name(p->trace, TRACE_NAME_TYPE, e->event.b)
			 ? TRACE_NAME_TYPE
			 : TRACE_NAME_FUNCTION,
		 e->event.b);
	say_address(&mark, "task", e->event.a);
	say_number(&mark, "us", e->event.detail);
	send_instant(p, &mark);
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
	default:
		break;
	}
}

/* ---- what is missing ------------------------------------------------------- */

/* What is seen of a track from now on has nothing to do with what was. */
static void begin_anew(struct player *p, struct track *track, uint64_t ns)
{
	pop_all(p, track, track->last_ns);
	track->floor_ns = track->drawn_ns;
	track->since_ns = ns;
}

/* Likewise; and what happens from the last event until then is not seen. */
static void cut(struct player *p, struct track *track, uint64_t ns)
{
	track->drawn_ns = track->last_ns;
	begin_anew(p, track, ns);
}

static void on_lost(struct player *p, const struct trace_event *e)
{
	struct track *track = &p->tracks[e->source];
	struct trace_mark mark = mark_of(TRACE_GAP, "events lost", e);

	if (track->gap) {
		cut(p, track, e->ns);
		p->gaps--;
		track->gap = false;
	}
	say_number(&mark, "events", e->lost);
	if (track->last_ns > 0)
		mark.ns = mark.end_ns = track->last_ns;
	send_instant(p, &mark);
}

/* Who waited may be polled, and wait again, unseen. */
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

	if (!track->begun)
		track->since_ns = e->ns;
	track->begun = true;
	if (e->lost > 0)
		on_lost(p, e);
	if (e->event.kind == EVENT_START)
		begin_anew(p, track, e->ns);
	on_event(p, e);
	p->ns = track->last_ns = e->ns;
	if (e->event.kind == EVENT_STOP)
		cut(p, track, e->ns);
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
	}
	qsort(p->places, count, sizeof(*p->places), compare_places);
	return 0;
}

/* What is still open lasts until the end of the recording. */
static void finish(struct player *p)
{
	uint64_t stop = trace_about(p->trace)->end.stop.monotonic_ns;

	count_waiting(p, true);
	if (p->ns < stop)
		p->ns = stop;
	for (unsigned i = 0; i < trace_sources(p->trace); i++)
		pop_all(p, &p->tracks[i], p->ns);
}

static void free_player(struct player *p)
{
	for (unsigned i = 0; p->tracks && i < trace_sources(p->trace); i++) {
		free(p->tracks[i].open);
		free(p->tracks[i].keys);
	}
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
