/* SPDX-License-Identifier: MIT */
/* telemetry.c - see telemetry.h */
#include "core/telemetry/telemetry.h"

#include <unistd.h>

#include "core/base/boundary.h"
#include "core/base/clock.h"
#include "core/base/hot.h"
#include "core/telemetry/wait_sample.h"
#include "core/task/task.h"
#include "core/telemetry/track.h"
#include "probes/root.h"

/* The least time between two calls of probe_lifo_flush(); before a park, the
 * probe always fires. */
#define FLUSH_PERIOD_NS UINT64_C(1000000)
/* A timed poll costs about 100 ns more, and 250 ns after a system call. That is little if
 * all polls since the last timed one took at least this time together. */
#define SAMPLE_TIME_NS UINT64_C(100000)
#define ROWS_TRIED     4u
/* The poll function of the row for all types without a row of their own. */
#define OTHERS 1u

static struct area_samples *samples(const struct worker_telemetry *t)
{
	return (struct area_samples *)(uintptr_t)t->area->samples;
}

/* A shorthand for recorder_note_owner(), which does nothing while the recorder
 * is off. */
static void note(struct worker_telemetry *t, enum event_kind kind, uint64_t a,
		 uint64_t b, uint32_t detail, unsigned other)
{
	recorder_note_owner(&t->recorder, kind, a, b, detail, other);
}

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
	note(t, EVENT_STEAL_FAIL, 0, 0, (uint32_t)attempts, 0);
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
	note(t, EVENT_PARK, 0, 0, reason, 0);
}

void telemetry_unpark(struct worker_telemetry *t)
{
	const struct skua_hooks *hooks = &t->shared->hooks;
	uint64_t now_ns = t->woken_ns;
	uint64_t parked_ns = now_ns - t->area->times.since_ns;
	uint32_t waker = idle_waker(t->shared->idle, t->area->index);

	telemetry_state(t, AREA_SEARCHING, now_ns);
	if (samples(t))
		probes_count_owner(&samples(t)->park, parked_ns, 1);
	probe_unpark(t->area->index, parked_ns, waker);
	note(t, EVENT_UNPARK, parked_ns, 0, waker, 0);
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
		note(t, EVENT_LATE, now_ns - since_ns, 0, 0, 0);
}

/* Report a steal, at the end of the search that found it. */
static void report_steal(struct worker_telemetry *t, uint64_t now_ns)
{
	uint64_t latency_ns = now_ns - t->area->times.since_ns;

	t->attempts = t->area->counters.steal_attempts;
	counter_add_owner(&t->area->counters.steals, 1);
	if (samples(t))
		probes_count_owner(&samples(t)->steal, latency_ns, 1);
	probe_steal(t->area->index, t->pending_steal.victim,
		    t->pending_steal.count, latency_ns);
	note(t, EVENT_STEAL, (uintptr_t)t->pending_steal.task, latency_ns,
	     t->pending_steal.count, t->pending_steal.victim);
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
	note(t, EVENT_JOB_BEGIN, (uintptr_t)job, 0, 0, victim);
}

void telemetry_job_end(struct worker_telemetry *t)
{
	note(t, EVENT_JOB_END, 0, 0, 0, 0);
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
			note(t, kind, a, b, (uint32_t)gettid(), 0);
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
	note(t, EVENT_OVERFLOW, 0, 0, (uint32_t)n, 0);
}

void telemetry_inject(struct worker_telemetry *t, uint64_t n)
{
	probe_inject(t->area->index, n);
	note(t, EVENT_INJECT, 0, 0, (uint32_t)n, 0);
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

/* ---- polls and waits -------------------------------------------------------- */

/* Return the row of a type; the row for all others if the type has none. */
static HOT struct area_type *row_of(struct area_samples *samples,
				    const void *type, skua_task_fn poll)
{
	uint64_t key = (uintptr_t)type ^ (uintptr_t)poll;
	uint64_t first = (key * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
	struct area_type *row;

	for (unsigned i = 0; i < ROWS_TRIED; i++) {
		row = &samples->types[(first + i) % (AREA_TYPES - 1)];
		if (row->poll == (uintptr_t)poll &&
		    row->type == (uintptr_t)type)
			return row;
		if (row->poll)
			continue;
		counter_set_owner(&row->type, (uintptr_t)type);
		counter_set_owner(&row->poll, (uintptr_t)poll);
		return row;
	}
	row = &samples->types[AREA_TYPES - 1];
	counter_set_owner(&row->poll, OTHERS);
	return row;
}

static void set_longest(uint64_t *longest_ns, uint64_t ns)
{
	if (ns > counter_read(longest_ns))
		counter_set_owner(longest_ns, ns);
}

/* Return the sample stride: one poll, or wait, in this many is timed. */
static uint32_t sample_stride(const struct worker_telemetry *t)
{
	return tick_fit(SAMPLE_TIME_NS, t->tick->mean_ns, 1,
			TELEMETRY_MAX_SAMPLE);
}

HOT bool telemetry_sample_due(const struct worker_telemetry *t)
{
	/* The next poll is included. */
	return t->area->counters.tasks_polled + 1 - t->sampled >=
	       sample_stride(t);
}

/* Count @weight polls of a type, of which one took @ns. */
static void count_time(struct area_samples *all, struct area_type *row,
		       uint64_t ns, uint64_t weight)
{
	counter_add_owner(&row->run_ns, weight * ns);
	set_longest(&row->longest_ns, ns);
	probes_count_owner(&all->poll, ns, weight);
}

HOT void telemetry_sample(struct worker_telemetry *t, const void *type,
			  skua_task_fn poll, uint64_t ns)
{
	struct area_samples *all = samples(t);
	uint64_t polls = t->area->counters.tasks_polled;
	uint64_t weight = polls - t->sampled;
	struct area_type *row;

	t->sampled = polls;
	if (!all)
		return;
	row = row_of(all, type, poll);
	counter_add_owner(&row->polls, weight);
	count_time(all, row, ns, weight);
}

/*
 * Count that @task, which the caller is going to poll, has waited for @ns;
 * @weight is the number of waits that this one stands for. Both the polls and
 * the waits of a type are estimates from samples. A type never shows more waits
 * than polls: @weight is cut to that, and if the type has too few polls, the
 * poll that begins is counted now. Return: true in that case; the caller then
 * calls count_waited_poll() after the poll.
 */
static bool count_wait(struct worker_telemetry *t, const struct skua_task *task,
		       uint64_t ns, uint32_t weight)
{
	struct area_samples *all = samples(t);
	struct area_type *row;
	uint64_t most;
	bool counts;

	if (!all)
		return false;
	row = row_of(all, task->type, task_shown(task));
	/* The poll that begins is one of the polls since the last sample. */
	counts = row->polls <= row->waits;
	if (counts) {
		t->sampled++;
		counter_add_owner(&row->polls, 1);
	}
	most = row->polls - row->waits;
	if (weight > most)
		weight = (uint32_t)most;
	counter_add_owner(&row->waits, weight);
	counter_add_owner(&row->wait_ns, weight * ns);
	set_longest(&row->longest_wait_ns, ns);
	probes_count_owner(&all->wait, ns, weight);
	return counts;
}

/* Count the time of a poll that count_wait() has counted already. */
static void count_waited_poll(struct worker_telemetry *t, const void *type,
			      skua_task_fn poll, uint64_t ns)
{
	struct area_samples *all = samples(t);

	count_time(all, row_of(all, type, poll), ns, 1);
}

/* The poll function of a task whose wait is timed. */
static HOT enum skua_poll poll_waited(struct skua_task *task)
{
	struct worker_telemetry *t = telemetry_current;
	const void *type = task->type;
	uint64_t start_ns = clock_now_ns(), since_ns;
	enum skua_poll result;
	skua_task_fn poll, shown;
	uint32_t weight;
	bool counts;

	poll = wait_sample_take(t->shared->wait_samples, task, &since_ns,
				&weight);
	shown = task_shown(task);
	counts = count_wait(t, task, start_ns - since_ns, weight);
	result = poll(task);
	BOUNDARY(poll);
	/* The task may be freed by now, so type and function were read before. */
	if (counts)
		count_waited_poll(t, type, shown, clock_now_ns() - start_ns);
	return result;
}

HOT skua_task_fn telemetry_poll_function(const struct telemetry *telemetry,
					 const struct skua_task *task)
{
	skua_task_fn shown = task_shown(task);

	return shown == poll_waited
		       ? wait_sample_poll(telemetry->wait_samples, task)
		       : shown;
}

HOT void telemetry_ready(struct worker_telemetry *t, struct skua_task *task)
{
	/* While the recorder or the table of tasks is on, this function is
	 * called for each task, and until_sample counts the tasks; otherwise
	 * until_ready does. */
	if (telemetry_tracks(t->shared))
		track_queued(t->shared, task);
	if ((!t->recorder.on && !telemetry_tracks(t->shared)) ||
	    --t->until_sample == 0) {
		wait_sample_put(t->shared->wait_samples, task, t->stride,
				poll_waited);
		t->stride = sample_stride(t);
		t->until_sample = t->stride;
	}
	t->until_ready =
		t->recorder.on || telemetry_tracks(t->shared) ? 1 : t->stride;
	note(t, EVENT_READY, (uintptr_t)task, 0, 0, 0);
}

void telemetry_ready_outside(struct telemetry *telemetry,
			     const struct inject_queue *queue,
			     struct skua_task *task)
{
	if (atomic_load_relaxed(&telemetry->poll_flags) & POLL_RECORD)
		recorder_note_shared(&telemetry->area, EVENT_READY,
				     (uintptr_t)task, 0, 0);
	if (telemetry_tracks(telemetry))
		track_queued(telemetry, task);
	if (telemetry_samples_wait(queue))
		wait_sample_put(telemetry->wait_samples, task, WAIT_SAMPLE_EACH,
				poll_waited);
}

void telemetry_wait(struct worker_telemetry *t, uint64_t task,
		    const void *object, enum area_wait_kind kind, bool again,
		    const uint64_t *holder)
{
	uint64_t by;

	if (!t->recorder.on)
		return;
	note(t, EVENT_WAIT, task, (uintptr_t)object, kind, again);
	if (!holder)
		return;
	/* Relaxed: for people; it may have changed since the task decided to wait. */
	by = atomic_load_relaxed((const atomic_u64 *)holder);
	note(t, EVENT_HELD, by & ~AREA_HOLDER_FLAGS, (uintptr_t)object, 0, 0);
}

void telemetry_reap(struct worker_telemetry *t, uint64_t data, uint32_t events,
		    uint64_t since_ns, unsigned how)
{
	note(t, EVENT_REAP, data, since_ns, events, how);
}

void telemetry_give_up(struct worker_telemetry *t, uint64_t task,
		       const void *object, int code)
{
	note(t, EVENT_GIVE_UP, task, (uintptr_t)object, (uint32_t)-code, 0);
}

/* Report the label that a fiber has kept since its last poll. */
static void label_fiber(struct worker_telemetry *t,
			const struct skua_task *task)
{
	const struct skua_fiber *fiber = (const struct skua_fiber *)task;

	if (task->flags & TASK_FIBER && fiber->label)
		telemetry_label(t, task, fiber->label);
}

enum skua_poll telemetry_poll(struct worker_telemetry *t,
			      struct skua_task *task)
{
	const void *type = task->type;
	skua_task_fn poll = telemetry_poll_function(t->shared, task);
	uint64_t name = type ? (uintptr_t)type : (uintptr_t)poll;
	enum skua_poll result;

	if (probe_task_begin_enabled())
		probe_task_begin_hit(t->area->index, (uintptr_t)task,
				     (uintptr_t)type, (uintptr_t)poll);
	note(t, EVENT_BEGIN, (uintptr_t)task, name,
	     type ? EVENT_NAME_TYPE : EVENT_NAME_POLL, 0);
	label_fiber(t, task);
	result = task->poll(task);
	BOUNDARY(poll);
	note(t, EVENT_END, (uintptr_t)task, 0, (uint32_t)result, 0);
	if (probe_task_end_enabled())
		probe_task_end_hit(t->area->index, (uintptr_t)task,
				   (uint64_t)result, 0);
	return result;
}
