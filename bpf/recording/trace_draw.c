/* SPDX-License-Identifier: MIT */
/* trace_draw.c - draws an event: slices that begin or end, and instants */
#include <errno.h>
#include <stdio.h>

#include "bpf/recording/trace_names.h"
#include "bpf/recording/trace_player.h"
#include "probes/area.h"
#include "skua/task.h"

/* ---- marks to tracks ------------------------------------------------------- */

static struct trace_slices *slices_of(struct player *p,
				      const struct trace_mark *mark)
{
	return &p->tracks[mark->track].slices;
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

	player_set_name(p, &mark, "", player_name_kind(e->event.detail),
			e->event.b);
	mark_say_address(&mark, "task", e->event.a);
	if (p->gaps == 0 && addresses_take(&p->waits, e->event.a, &wait)) {
		mark.waited = true;
		mark.waited_ns = e->ns - wait.ns;
		mark.waited_on = wait.track;
		mark.flow_in = wait.number;
		mark_say_number(&mark, "waited_ns", mark.waited_ns);
	}
	player_begin(p, &mark, e->event.a);
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

	player_set_name(p, &mark, "job ", TRACE_NAME_FUNCTION, e->event.a);
	mark.number = e->event.other;
	mark_say_number(&mark, "victim", e->event.other);
	player_begin(p, &mark, 0);
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
	player_begin(p, &mark, 0);
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

/* The arrow begins at an instant on the victim's track, which must be drawn
 * first. */
static void on_steal(struct player *p, const struct trace_event *e)
{
	struct trace_mark search = mark_of(TRACE_SEARCH, "search", e);
	struct trace_mark mark = mark_of(TRACE_STEAL, "steal", e);
	const struct player_place *victim =
		player_find_worker(p, e, e->event.other);
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

static void on_steal_fail(struct player *p, const struct trace_event *e)
{
	on_number(p, e, TRACE_NOTHING, "nothing to steal", "attempts");
}

static void on_inject(struct player *p, const struct trace_event *e)
{
	on_number(p, e, TRACE_QUEUE, "inject", "tasks");
}

static void on_overflow(struct player *p, const struct trace_event *e)
{
	on_number(p, e, TRACE_QUEUE, "overflow", "tasks");
}

static void on_stall(struct player *p, const struct trace_event *e)
{
	struct trace_mark mark = mark_of(TRACE_STALL, "", e);

	player_set_name(p, &mark, "stall ",
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
		player_set_name(p, &mark, "held by ", TRACE_NAME_HOLDER,
				e->event.a);
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
	struct trace_mark mark = mark_of(TRACE_NEW_LABEL, "no label", e);

	mark.named = e->event.b;
	if (mark.named)
		player_set_name(p, &mark, "", TRACE_NAME_LABEL, e->event.b);
	mark_say_address(&mark, "task", e->event.a);
	instant(p, &mark);
}

/* Threads that are no workers share a track, so these are no slices. */
static void on_fork(struct player *p, const struct trace_event *e)
{
	static const char *const names[] = {
		[EVENT_RUN_BEGIN] = "skua_run ",
		[EVENT_RUN_END] = "end of skua_run",
		[EVENT_JOIN_BEGIN] = "join waits",
		[EVENT_JOIN_END] = "join goes on",
		[EVENT_HELP_BEGIN] = "help with ",
		[EVENT_HELP_END] = "end of help",
	};
	struct trace_mark mark = mark_of(TRACE_FORK, names[e->event.kind], e);

	if (e->event.kind == EVENT_RUN_BEGIN ||
	    e->event.kind == EVENT_HELP_BEGIN)
		player_set_name(p, &mark, names[e->event.kind],
				TRACE_NAME_FUNCTION, e->event.a);
	mark.number = e->event.kind;
	mark.function = e->event.a;
	mark.thread = e->event.detail;
	mark.place = (uint32_t)e->event.b;
	mark_say_number(&mark, "thread", mark.thread);
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

/* ---- all events -------------------------------------------------------------- */

void player_draw(struct player *p, const struct trace_event *e)
{
	static void (*const draw[])(struct player *,
				    const struct trace_event *) = {
		[EVENT_BEGIN] = on_begin,
		[EVENT_END] = on_end,
		[EVENT_READY] = on_ready,
		[EVENT_STEAL] = on_steal,
		[EVENT_STEAL_FAIL] = on_steal_fail,
		[EVENT_PARK] = on_park,
		[EVENT_UNPARK] = on_unpark,
		[EVENT_INJECT] = on_inject,
		[EVENT_OVERFLOW] = on_overflow,
		[EVENT_JOB_BEGIN] = on_job_begin,
		[EVENT_JOB_END] = on_job_end,
		[EVENT_STALL] = on_stall,
		[EVENT_LATE] = on_late,
		[EVENT_WAIT] = on_wait,
		[EVENT_HELD] = on_held,
		[EVENT_GIVE_UP] = on_give_up,
		[EVENT_REAP] = on_reap,
		[EVENT_LABEL] = on_label,
		[EVENT_RUN_BEGIN] = on_fork,
		[EVENT_RUN_END] = on_fork,
		[EVENT_JOIN_BEGIN] = on_fork,
		[EVENT_JOIN_END] = on_fork,
		[EVENT_HELP_BEGIN] = on_fork,
		[EVENT_HELP_END] = on_fork,
	};
	unsigned kind = e->event.kind;

	if (kind < sizeof(draw) / sizeof(*draw) && draw[kind])
		draw[kind](p, e);
}
