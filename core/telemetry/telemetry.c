/* SPDX-License-Identifier: MIT */
/* telemetry.c - states, parks, steals, jobs and flags: see telemetry.h */
#include "core/telemetry/telemetry.h"

#include <unistd.h>

#include "core/base/boundary.h"
#include "core/base/clock.h"
#include "core/base/hot.h"
#include "core/telemetry/telemetry_parts.h"
#include "probes/root.h"

/* The least time between two calls of probe_lifo_flush(); before a park, the
 * probe always fires. */
#define FLUSH_PERIOD_NS UINT64_C(1000000)

_Thread_local struct worker_telemetry *telemetry_current;

void telemetry_init(struct worker_telemetry *t, struct telemetry *shared,
		    struct area_worker *area, const struct tick *tick)
{
	t->shared = shared;
	t->area = area;
	t->tick = tick;
	t->recorder.area = area;
	t->until_ready = t->until_sample = t->stride = 1;
}

void telemetry_destroy(struct worker_telemetry *t)
{
	recorder_destroy(&t->recorder);
}

/* ---- states and times ------------------------------------------------------ */

void telemetry_state(struct worker_telemetry *t, enum area_state state,
		     uint64_t now_ns)
{
	struct area_times *times = &t->area->times;
	uint64_t ns = now_ns - times->since_ns;

	if (times->state == AREA_RUNNING || times->state == AREA_JOB)
		counter_add_owner(&times->run_ns, ns);
	else if (times->state == AREA_SEARCHING)
		counter_add_owner(&times->search_ns, ns);
	else if (times->state == AREA_PARKED)
		counter_add_owner(&times->park_ns, ns);
	counter_set_owner(&times->state, state);
	counter_set_owner(&times->since_ns, now_ns);
}

void telemetry_start(struct worker_telemetry *t)
{
	const struct skua_hooks *hooks = &t->shared->hooks;
	uint32_t thread = (uint32_t)gettid();

	counter_set_owner(&t->area->tid, thread);
	probe_worker_start(t->area->index, thread);
	if (hooks->worker_start)
		hooks->worker_start(hooks->ctx, t->area->index);
	BOUNDARY(hook);
}

/* Fire probe_lifo_flush() with the hits of the LIFO slot since it fired last.
 * While it is not traced, the hits are dropped, so that a later tracer sees
 * only later hits. */
static void flush(struct worker_telemetry *t, uint64_t now_ns)
{
	const struct area_counters *c = &t->area->counters;
	if (c->lifo_hits != t->hits || !probe_lifo_flush_enabled()) {
		probe_lifo_flush(t->area->index, c->lifo_hits - t->hits,
				 c->tasks_polled - t->polls);
		t->hits = c->lifo_hits;
		t->polls = c->tasks_polled;
	}
	t->flush_due_ns = now_ns + FLUSH_PERIOD_NS;
}

void telemetry_stop(struct worker_telemetry *t)
{
	const struct skua_hooks *hooks = &t->shared->hooks;
	uint64_t now_ns = clock_now_ns();

	if (hooks->worker_stop)
		hooks->worker_stop(hooks->ctx, t->area->index);
	BOUNDARY(hook);
	if (t->recorder.on)
		recorder_switch_owner(&t->recorder, false, now_ns);
	flush(t, now_ns);
	probe_worker_stop(t->area->index);
	telemetry_state(t, AREA_STARTING, now_ns);
	counter_set_owner(&t->area->tid, 0);
}

/* ---- listeners ------------------------------------------------------------ */

/* Set or clear a bit of poll_flags, which polls check. */
static HOT void set_poll_flag(struct telemetry *telemetry, uint32_t bit,
			      bool on)
{
	/* Relaxed, all: a request, which guards no data. Each worker that finds
	 * a wrong value corrects it. Two workers that see an old and a new
	 * request may disagree, but only until they check again. */
	if (!(atomic_load_relaxed(&telemetry->poll_flags) & bit) == !on)
		return;
	if (on)
		atomic_fetch_or_relaxed(&telemetry->poll_flags, bit);
	else
		atomic_fetch_and_relaxed(&telemetry->poll_flags, ~bit);
}

/* Switch the recorder on or off, if there is memory. While it is on, each task
 * that becomes runnable is noted; the next one that is timed stays the same. */
static void switch_recorder(struct worker_telemetry *t, bool on,
			    uint64_t now_ns)
{
	recorder_switch_owner(&t->recorder, on, now_ns);
	if (t->recorder.on != on)
		return;
	if (on)
		recorder_share(&t->shared->area);
	if (telemetry_tracks(t->shared))
		return; /* it counts each task already */
	if (on) {
		t->until_sample = t->until_ready;
		t->until_ready = 1;
	} else {
		t->until_ready = t->until_sample;
	}
}

static void check_recorder(struct worker_telemetry *t, uint64_t now_ns)
{
	struct recorder *recorder = &t->recorder;
	struct telemetry *shared = t->shared;
	bool wanted = now_ns < root_record_until_ns() ||
		      now_ns < counter_read(&shared->area.record_until_ns);

	if (!wanted && !recorder->on)
		return;
	if (wanted != recorder->on)
		switch_recorder(t, wanted, now_ns);
	recorder_clock_owner(recorder, now_ns);
	/* A worker that could not get a ring leaves the flags to the other
	 * workers: it would never clear them. */
	if (wanted && !recorder->on)
		return;
	set_poll_flag(shared, POLL_RECORD, wanted);
	/* Relaxed: it does not matter with which wake-up wakers begin to note
	 * themselves. */
	atomic_store_relaxed(&shared->idle->note_wakers, wanted);
}

HOT void telemetry_check(struct worker_telemetry *t, uint64_t now_ns)
{
	check_recorder(t, now_ns);
	set_poll_flag(t->shared, POLL_TRACE,
		      probe_task_begin_enabled() || probe_task_end_enabled());
	if (now_ns >= t->flush_due_ns)
		flush(t, now_ns);
}

/* ---- parks and steals ------------------------------------------------------ */

static void report_failure(struct worker_telemetry *t)
{
	uint64_t attempts = t->area->counters.steal_attempts - t->attempts;

	t->attempts += attempts;
	counter_add_owner(&t->area->counters.searches_failed, 1);
	probe_steal_fail(t->area->index, attempts);
	telemetry_note(t, EVENT_STEAL_FAIL, 0, 0, (uint32_t)attempts, 0);
}

void telemetry_park(struct worker_telemetry *t, enum probe_park_reason reason)
{
	const struct skua_hooks *hooks = &t->shared->hooks;
	uint64_t now_ns = clock_now_ns();

	if (reason == PROBE_PARK_SEARCHED)
		report_failure(t);
	telemetry_state(t, AREA_PARKED, now_ns);
	counter_add_owner(&t->area->counters.times_parked, 1);
	if (hooks->worker_park)
		hooks->worker_park(hooks->ctx, t->area->index);
	BOUNDARY(hook);
	flush(t, now_ns);
	probe_park(t->area->index, reason);
	telemetry_note(t, EVENT_PARK, 0, 0, reason, 0);
}

void telemetry_unpark(struct worker_telemetry *t)
{
	const struct skua_hooks *hooks = &t->shared->hooks;
	uint64_t now_ns = t->woken_ns;
	uint64_t parked_ns = now_ns - t->area->times.since_ns;
	uint32_t waker = idle_waker(t->shared->idle, t->area->index);

	telemetry_state(t, AREA_SEARCHING, now_ns);
	if (telemetry_samples(t))
		probes_count_owner(&telemetry_samples(t)->park, parked_ns, 1);
	probe_unpark(t->area->index, parked_ns, waker);
	telemetry_note(t, EVENT_UNPARK, parked_ns, 0, waker, 0);
	t->pollers_ns = now_ns;
	if (hooks->worker_unpark)
		hooks->worker_unpark(hooks->ctx, t->area->index);
	BOUNDARY(hook);
}

void telemetry_pollers(struct worker_telemetry *t, uint64_t now_ns)
{
	uint64_t since_ns = t->pollers_ns;

	t->pollers_ns = now_ns;
	if (since_ns > 0 && now_ns - since_ns > EVENT_LATE_NS)
		telemetry_note(t, EVENT_LATE, now_ns - since_ns, 0, 0, 0);
}

/* Report a steal, at the end of the search that found it. */
static void report_steal(struct worker_telemetry *t, uint64_t now_ns)
{
	uint64_t latency_ns = now_ns - t->area->times.since_ns;

	t->attempts = t->area->counters.steal_attempts;
	counter_add_owner(&t->area->counters.steals, 1);
	if (telemetry_samples(t))
		probes_count_owner(&telemetry_samples(t)->steal, latency_ns, 1);
	probe_steal(t->area->index, t->pending_steal.victim,
		    t->pending_steal.count, latency_ns);
	telemetry_note(t, EVENT_STEAL, (uintptr_t)t->pending_steal.task,
		       latency_ns, t->pending_steal.count,
		       t->pending_steal.victim);
	t->pending_steal.count = 0;
}

void telemetry_working(struct worker_telemetry *t, uint64_t now_ns)
{
	telemetry_check(t, now_ns);
	if (t->pending_steal.count)
		report_steal(t, now_ns);
	telemetry_state(t, AREA_RUNNING, now_ns);
}

void telemetry_job(struct worker_telemetry *t, const void *job, unsigned victim)
{
	uint64_t now_ns = clock_now_ns();

	telemetry_check(t, now_ns);
	telemetry_state(t, AREA_JOB, now_ns);
	telemetry_note(t, EVENT_JOB_BEGIN, (uintptr_t)job, 0, 0, victim);
}

void telemetry_job_end(struct worker_telemetry *t)
{
	telemetry_note(t, EVENT_JOB_END, 0, 0, 0, 0);
	telemetry_state(t, AREA_SEARCHING, clock_now_ns());
}

/* Does a tool or the program want the events of this runtime? A worker checks that once a
 * tick, and notes the answer in its recorder.on. */
static bool records(const struct telemetry *telemetry)
{
	uint64_t until_ns = counter_read(&telemetry->area.record_until_ns);
	uint64_t root_until_ns = root_record_until_ns();

	if (until_ns < root_until_ns)
		until_ns = root_until_ns;
	return until_ns > 0 && clock_now_ns() < until_ns;
}

void telemetry_fork(struct telemetry *telemetry, enum event_kind kind,
		    uint64_t a, uint64_t b)
{
	struct worker_telemetry *t = telemetry_current;

	if (!telemetry)
		return;
	if (t && t->shared == telemetry) {
		if (t->recorder.on)
			telemetry_note(t, kind, a, b, (uint32_t)gettid(), 0);
	} else if (records(telemetry)) {
		/* All workers may sleep: then none has allocated the ring. */
		recorder_share(&telemetry->area);
		recorder_note_shared(&telemetry->area, kind, a, b,
				     (uint32_t)gettid());
	}
}

void telemetry_overflow(struct worker_telemetry *t, uint64_t n)
{
	probe_overflow(t->area->index, n);
	telemetry_note(t, EVENT_OVERFLOW, 0, 0, (uint32_t)n, 0);
}

void telemetry_inject(struct worker_telemetry *t, uint64_t n)
{
	probe_inject(t->area->index, n);
	telemetry_note(t, EVENT_INJECT, 0, 0, (uint32_t)n, 0);
}

void telemetry_stall(struct telemetry *telemetry, unsigned worker,
		     uint64_t task, const void *type, skua_task_fn poll,
		     uint64_t ns)
{
	uint64_t us = ns / 1000;

	probe_stall(worker, type, ns);
	/* Relaxed: a request, which guards no data. */
	if (atomic_load_relaxed(&telemetry->poll_flags) & POLL_RECORD)
		recorder_note_shared(&telemetry->area, EVENT_STALL, task,
				     type ? (uintptr_t)type : (uintptr_t)poll,
				     us < UINT32_MAX ? (uint32_t)us
						     : UINT32_MAX);
}
