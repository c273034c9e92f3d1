/* SPDX-License-Identifier: MIT */
/* telemetry_poll.c - polls, and the waits of tasks: see telemetry.h */
#include "core/base/boundary.h"
#include "core/base/clock.h"
#include "core/base/hot.h"
#include "core/task/task.h"
#include "core/telemetry/telemetry_parts.h"
#include "core/telemetry/track.h"
#include "core/telemetry/wait_sample.h"

/* A timed poll costs about 100 ns more, and 250 ns after a system call. That is little if
 * all polls since the last timed one took at least this time together. */
#define SAMPLE_TIME_NS UINT64_C(100000)
#define ROWS_TRIED     4u
/* The poll function of the row for all types without a row of their own. */
#define OTHERS 1u

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
	struct area_samples *all = telemetry_samples(t);
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
	struct area_samples *all = telemetry_samples(t);
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
	struct area_samples *all = telemetry_samples(t);

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
	telemetry_note(t, EVENT_READY, (uintptr_t)task, 0, 0, 0);
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
	telemetry_note(t, EVENT_WAIT, task, (uintptr_t)object, kind, again);
	if (!holder)
		return;
	/* Relaxed: for people; it may have changed since the task decided to wait. */
	by = atomic_load_relaxed((const atomic_u64 *)holder);
	telemetry_note(t, EVENT_HELD, by & ~AREA_HOLDER_FLAGS,
		       (uintptr_t)object, 0, 0);
}

void telemetry_reap(struct worker_telemetry *t, uint64_t data, uint32_t events,
		    uint64_t since_ns, unsigned how)
{
	telemetry_note(t, EVENT_REAP, data, since_ns, events, how);
}

void telemetry_give_up(struct worker_telemetry *t, uint64_t task,
		       const void *object, int code)
{
	telemetry_note(t, EVENT_GIVE_UP, task, (uintptr_t)object,
		       (uint32_t)-code, 0);
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
	telemetry_note(t, EVENT_BEGIN, (uintptr_t)task, name,
		       type ? EVENT_NAME_TYPE : EVENT_NAME_POLL, 0);
	label_fiber(t, task);
	result = task->poll(task);
	BOUNDARY(poll);
	telemetry_note(t, EVENT_END, (uintptr_t)task, 0, (uint32_t)result, 0);
	if (probe_task_end_enabled())
		probe_task_end_hit(t->area->index, (uintptr_t)task,
				   (uint64_t)result, 0);
	return result;
}
