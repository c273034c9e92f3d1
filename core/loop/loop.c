/* SPDX-License-Identifier: MIT */
/**
 * loop.c - the scheduler loop
 *
 * The life of a worker. loop_run() polls the task that work_next() returns: an
 * urgent or bound one, that of the LIFO slot, one of the local queue, or, now and
 * then, one of the injection queue (work.h). A tick is a number of polls. At its
 * end, end_tick() reads the clock once for everything that depends on it:
 * telemetry, affinity, timers, pollers, events of descriptors.
 *
 * When work_next() finds no task, wait_for_task() calls search_for_task()
 * (search.c), which looks for work of other workers, and sleeps. A worker that has
 * stolen a job runs it in run_job(), and runs its own tasks between two jobs.
 *
 * The life of a shutdown. pool_close() refuses spawns from outside. pool_cancel(),
 * which is optional, sets a flag by which each poll learns that its task is
 * cancelled. The tasks end as they are polled. While a thread waits for a drain,
 * the last worker that runs out of work sums the counters (pool.h), and wakes
 * that thread when no task is left. pool_stop() then sets a flag and wakes all
 * sleeping workers; each worker sees the flag, leaves its loop, and its thread
 * ends.
 *
 * A worker that its program drives has no thread: loop_drive() does the same on
 * the caller's thread, and "sleeps" by returning.
 */
#include "core/loop/loop.h"

#include <assert.h>

#include "core/base/hot.h"
#include "core/loop/current.h"
#include "core/base/boundary.h"
#include "core/os/boundary_report.h"
#include "core/os/exceptions.h"
#include "core/base/clock.h"
#include "core/loop/schedule.h"
#include "core/telemetry/track.h"
#include "core/loop/search.h"
#include "core/loop/work.h"

/* Limit of polls within each other. A guess: each takes one stack frame of the
 * program's and about 100 bytes of the library's. */
#define POLLS_WITHIN_MAX 32u

/* ---- polls -------------------------------------------------------------- */

static void yielded(struct worker *w, struct skua_task *task)
{
	if (!w->spare)
		task_state_add_reference(task_state(task));
	if (task->home != 0 || (task->flags & TASK_URGENT))
		schedule(task);
	else
		work_yield_owner(w, task);
}

static void done(struct worker *w, struct skua_task *task)
{
	/* A release function may spawn tasks: see spawn() in task_api.c. */
	w->finishing = true;
	schedule_complete(task, w->spare, &w->leaves);
	w->finishing = false;
	/* Release: the task's writes, and the count of its spawn. Pairs with
	 * the acquire in pool_live(). Relaxed: only this worker writes the
	 * counter. */
	atomic_store_release(&w->finished,
			     atomic_load_relaxed(&w->finished) + 1);
}

/* Mark the task as cancelled if the pool cancels all tasks. Returns true if
 * so. */
static bool pass_on_cancel(struct worker *w, struct skua_task *task)
{
	if (!pool_cancelling(w->pool))
		return false;
	/* Relaxed: as in pool_cancelling(). */
	atomic_fetch_or_relaxed(task_state(task), TASK_CANCELLED);
	return true;
}

static HOT void pending(struct worker *w, struct skua_task *task, bool told)
{
	/* The cancel began during this poll: poll the task once more, with the
	 * mark. */
	if (!told && pass_on_cancel(w, task))
		task_state_transition_to_woken(task_state(task), 0);
	group_before_wait(task);
	if (!task_state_transition_to_waiting(task_state(task), w->spare))
		schedule(task); /* woken during the poll */
}

/* Poll a task while poll_flags are set: the task may have to learn that it is
 * cancelled, or the poll is recorded. */
static __attribute__((noinline)) enum skua_poll
poll_flagged(struct worker *w, struct skua_task *task, bool *told)
{
	struct telemetry *telemetry = &w->pool->telemetry;
	struct area_task *slot;
	enum skua_poll result;

	*told = pass_on_cancel(w, task);
	slot = track_poll_begin(telemetry, task);
	result = telemetry_poll(&w->telemetry, task);
	track_poll_end(telemetry, slot, task, result, w->spare);
	return result;
}

/* Count the members of a group that the worker has ended, if there are any. */
static void count_leaves(struct worker *w)
{
	if (w->leaves.group)
		schedule_end(group_leaves_count(&w->leaves), NULL);
}

/* Inlined into the loop, where each task passes; poll_task() is for all other
 * callers. */
static inline __attribute__((always_inline)) enum skua_poll
poll_here(struct worker *w, struct skua_task *task)
{
	enum skua_poll result;
	bool told = false;

	/* The poll may take long, and must not delay the end of another group. */
	if (w->leaves.group && w->leaves.group != group_of_member(task))
		count_leaves(w);
	task_state_transition_to_running(task_state(task));
	counter_add_owner(&w->area.counters.tasks_polled, 1);
	counter_set_owner(&w->area.task, (uintptr_t)task);
	w->spare = true;
	/* Relaxed: a request; it orders nothing. */
	if (atomic_load_relaxed(&w->pool->telemetry.poll_flags) == 0)
		result = task->poll(task);
	else
		result = poll_flagged(w, task, &told);
	BOUNDARY(poll);
	counter_set_owner(&w->area.task, 0);
	assert(result == SKUA_DONE || result == SKUA_PENDING ||
	       result == SKUA_YIELD);
	if (result == SKUA_YIELD)
		yielded(w, task);
	else if (result == SKUA_PENDING)
		pending(w, task, told);
	else
		done(w, task);
	return result;
}

static __attribute__((noinline)) HOT enum skua_poll
poll_task(struct worker *w, struct skua_task *task)
{
	return poll_here(w, task);
}

bool loop_poll_within(struct worker *w, struct skua_task *task)
{
	const uint64_t outer = w->area.task;
	const uint64_t label = w->area.label;
	const bool labelled =
		w->area.label_poll == w->area.counters.tasks_polled;
	const bool spare = w->spare;

	/* If the tick has no room for another poll, it ends with the poll that
	 * joins. While polls are recorded, no poll runs within another one,
	 * because a recording cannot show that. Nor does one in a catch block: a
	 * fiber that suspends itself takes all exceptions of the thread along.
	 * Relaxed: as in poll_here(). */
	if (w->polls_within == POLLS_WITHIN_MAX ||
	    w->tick.polls + 1 >= w->tick.budget ||
	    w->forked_at == w->area.counters.tasks_polled ||
	    atomic_load_relaxed(&w->pool->telemetry.poll_flags) != 0 ||
	    exceptions_any() || !lifo_slot_take_owner(&w->lifo))
		return false;
	w->polls_within++;
	w->tick.polls++;
	/* work_yield_owner() assumes that the worker takes its next task now.
	 * But the rest of the outer poll comes first. So notify here. */
	if (poll_task(w, task) == SKUA_YIELD)
		work_tell_owner(w);
	/* The outer poll may take long, too. */
	count_leaves(w);
	w->polls_within--;
	w->spare = spare;
	/* The outer poll may have control bits of its own, and may change them. */
	w->arithmetic_poll = 0;
	/* The number of the inner poll is from now on that of the outer one. */
	telemetry_label_poll(&w->telemetry,
			     labelled ? (const char *)(uintptr_t)label : NULL);
	counter_set_owner(&w->area.task, outer);
	return true;
}

static void run_pollers(struct worker *w, uint64_t now_ns)
{
	w->pollers_due_ns = now_ns + TICK_POLLERS_NS;
	if (w->pollers.list)
		telemetry_pollers(&w->telemetry, now_ns);
	pollers_run_owner(&w->pollers);
}

/* Return how many other groups' timers a worker checks at the end of a tick: one,
 * if that is due. The sentinel may have slept for any of them. The worker then looks
 * for events of the group whose turn is next. */
static unsigned other_groups(const struct worker *w, bool busy, bool due)
{
	unsigned others = w->pool->groups->count - 1;

	if (others == 0 || !due)
		return 0;
	return !busy && sentinel_is(w) ? others : 1;
}

/* Fire the timers that are due. The tasks that they push to the local queue overtake those that
 * were there before, such as tasks that yielded. */
static inline void fire_timers(struct worker *w, uint64_t now_ns,
			       unsigned others)
{
	uint64_t end = local_queue_tail_owner(w->queue);

	timers_fire_due(w, now_ns, others);
	if (local_queue_tail_owner(w->queue) != end)
		work_overtake_owner(w, end);
}

/* End a tick. @busy: the worker has more tasks, so that its pollers are called,
 * and other groups' timers checked, only if that is due. */
static HOT void end_tick(struct worker *w, bool busy)
{
	uint64_t now_ns = clock_now_ns();
	bool due = !busy || now_ns >= w->pollers_due_ns;
	unsigned others = other_groups(w, busy, due);

	w->arithmetic_poll = 0; /* functions of the program may run below */
	count_leaves(w);
	tick_end(&w->tick, now_ns);
	telemetry_check(&w->telemetry, now_ns);
	if (now_ns >= w->affinity_due_ns)
		w->pool->recheck_affinity(w, now_ns);
	fire_timers(w, now_ns, others);
	if (pool_submit_due(w->pool, now_ns, !busy))
		w->pool->submit(w->pool);
	if (due)
		run_pollers(w, now_ns);
	if (driver_used(w->driver))
		reap_owner(w, now_ns, busy);
	if (others > 0)
		reap_turn_owner(w, now_ns);
	/* A sentinel has checked the timers of all other groups, and its turn has come
	 * back to the group of the last tick. */
	if (others > 1)
		timers_take_turn(w);
	/* A task that a timer, poller or event has put into the LIFO slot runs before
	 * one that yielded, for which work_yield_owner() woke no worker. So
	 * notify here. */
	if (lifo_slot_peek(&w->lifo) && local_queue_length(w->queue) > 0)
		work_tell_owner(w);
	work_check_others(w);
	work_lower_flags_owner(w);
}

/* Take the next task without a search; if there is none, end the tick, which
 * fires timers and runs pollers, and try again. */
static struct skua_task *next_task(struct worker *w)
{
	struct skua_task *task = work_next(w);

	if (task)
		return task;
	end_tick(w, false);
	return work_next(w);
}

/* Run the job in w->job. Returns a task of the worker's own to run next: tasks
 * run between two jobs. */
static struct skua_task *run_job(struct worker *w)
{
	struct team *team = &w->pool->team;
	struct stolen_job job = w->job;
	struct skua_task *task;
	bool gave_place;

	w->job.job = NULL;
	w->fork_join->on_fiber = false;
	sentinel_leave(w);
	telemetry_job(&w->telemetry, (const void *)(uintptr_t)job.job->run,
		      job.victim->index);
	fork_join_run_owner(w->fork_join,
			    split_deque_head_owner(&w->fork_join->deque), &job);
	telemetry_job_end(&w->telemetry);
	w->arithmetic_poll = 0; /* as in end_tick() */
	gave_place = team_sign_off(team, &w->counted);
	task = next_task(w);
	if (task && gave_place) /* F4 */
		team_pass_on(team, w->group);
	return task;
}

/* Wait for a task, and run stolen jobs meanwhile. Returns NULL when the worker
 * must end. */
static struct skua_task *wait_for_task(struct worker *w)
{
	struct skua_task *task = NULL;
	uint64_t now_ns;

	/* tick.start_ns is when the worker ran out of work. */
	telemetry_state(&w->telemetry, AREA_SEARCHING, w->tick.start_ns);
	while (!task && !pool_stopping(w->pool)) {
		task = search_for_task(w);
		if (w->job.job)
			task = run_job(w);
		else if (!task)
			task = next_task(w);
		if (!task)
			cpu_relax(); /* a worker with pollers may spin in this
				      * loop */
	}
	sentinel_leave(w);
	if (driver_used(w->driver))
		reap_resign_if_long(w);
	now_ns = clock_now_ns();
	telemetry_working(&w->telemetry, now_ns);
	tick_begin(&w->tick, now_ns);
	return task;
}

/* Poll a task and record the duration as a sample. */
static HOT void sample(struct worker *w, struct skua_task *task)
{
	const void *type = task->type;
	skua_task_fn poll = telemetry_poll_function(&w->pool->telemetry, task);
	uint64_t start_ns = clock_now_ns();

	poll_task(w, task);
	telemetry_sample(&w->telemetry, type, poll, clock_now_ns() - start_ns);
}

/* The searcher that producers rely on may have no CPU: if its lease has run out
 * and work is visible, wake another worker (I3). */
static void check_searchers(struct worker *w)
{
	struct idle *idle = &w->pool->idle;
	uint64_t now_ns = w->tick.start_ns;

	if (idle_lapsed(idle, w->group, now_ns) &&
	    (work_visible(w) || team_visible(&w->pool->team, w->group)))
		idle_wake_beside(idle, w->group, now_ns);
}

/* End the tick after its last poll. Then time the next poll if a sample is due;
 * go on timing polls as long as each takes longer than a tick. The budget of a
 * tick with a sample varies by one, so that tasks of several types that take
 * turns are all timed. */
static void between_ticks(struct worker *w)
{
	do {
		struct skua_task *task;

		end_tick(w, true);
		check_searchers(w);
		if (!telemetry_sample_due(&w->telemetry))
			return;
		task = next_task(w);
		if (!task)
			return;
		sample(w, task);
		w->tick.polls++;
		if (w->tick.budget > 1 && rng_below(&w->rng, 2) == 0)
			w->tick.budget--;
	} while (w->tick.polls >= w->tick.budget);
}

/* Poll the first task after a search, or of a tick of a driven worker, and time
 * it if a sample is due: a worker that has little to do never reaches the end
 * of a tick. */
static void poll_first(struct worker *w, struct skua_task *task)
{
	if (telemetry_sample_due(&w->telemetry))
		sample(w, task);
	else
		poll_task(w, task);
}

/* Begin the first tick. */
static void begin(struct worker *w, uint64_t now_ns)
{
	telemetry_check(&w->telemetry, now_ns);
	telemetry_state(&w->telemetry, AREA_RUNNING, now_ns);
	tick_begin(&w->tick, now_ns);
	/* The caller of a driven worker has run since. */
	w->arithmetic_poll = 0;
}

HOT void loop_run(struct worker *w)
{
	struct skua_task *task;

	current_worker = w;
	telemetry_current = &w->telemetry;
	boundary_task = &w->area.task;
	telemetry_start(&w->telemetry);
	begin(w, clock_now_ns());
	for (;;) {
		task = next_task(w);
		if (task)
			poll_here(w, task);
		else if ((task = wait_for_task(w)) != NULL)
			poll_first(w, task);
		else
			break;
		if (++w->tick.polls >= w->tick.budget)
			between_ticks(w);
	}
	telemetry_stop(&w->telemetry);
	boundary_task = NULL;
	telemetry_current = NULL;
	current_worker = NULL;
}

/* ---- driven by the caller ------------------------------------------------ */

/* A driven worker is awake. It scans everything itself, so it does not count as a
 * searcher. */
static void drive_unpark(struct worker *w)
{
	struct idle *idle = &w->pool->idle;

	if (idle_parked(idle, w->index))
		idle_park_cancel(idle, w->index);
	else
		idle_begun(idle, w->index);
	idle_leave_search(idle, w->index);
}

/* End the park in which the last loop_drive() left the worker. */
static void drive_resume(struct worker *w, uint64_t now_ns)
{
	struct idle *idle = &w->pool->idle;

	if (!w->driven_idle)
		return;
	w->driven_idle = false;
	parker_end(&idle->sleepers[w->index].parker);
	drive_unpark(w);
	driver_seen(w->driver, now_ns);
	telemetry_woken(&w->telemetry, now_ns);
	telemetry_unpark(&w->telemetry);
}

/* Park a driven worker, which sleeps by returning to its caller (I2). Returns a
 * task if there is one after all; otherwise NULL, and w->driven_idle tells
 * whether it is parked. */
static struct skua_task *drive_park(struct worker *w)
{
	struct idle *idle = &w->pool->idle;
	struct skua_task *task;

	w->watched = false;
	idle_park_begin(idle, w->index, false);
	task = work_find(w, VICTIMS_ALL);
	if (!task && !pollers_added(&w->pollers)) {
		search_check_drained(w);
		w->driven_idle = parker_begin(&idle->sleepers[w->index].parker);
		if (w->driven_idle) {
			telemetry_park(&w->telemetry, PROBE_PARK_DRIVEN);
			return NULL;
		}
	}
	/* Not parked: there is work, a new poller, or a notification. */
	drive_unpark(w);
	return task;
}

/* Run tasks until the worker parks, or a tick has ended at @deadline_ns or later. */
static void drive_ticks(struct worker *w, uint64_t start_ns,
			uint64_t deadline_ns)
{
	bool first = true; /* the next poll is the first of a tick */

	for (;;) {
		struct skua_task *task = next_task(w);

		if (!task && !pollers_awake_owner(&w->pollers))
			task = drive_park(w);
		if (w->driven_idle)
			break;
		if (!task)
			search_check_drained(w);
		else if (first)
			poll_first(w, task);
		else
			poll_task(w, task);
		first = false;
		if (task && ++w->tick.polls >= w->tick.budget) {
			end_tick(w, true);
			first = true;
		}
		/* A tick has ended, here or in next_task(), which found no
		 * task. */
		if (w->tick.start_ns != start_ns &&
		    w->tick.start_ns >= deadline_ns)
			break;
	}
}

bool loop_drive(struct worker *w, uint64_t deadline_ns)
{
	struct worker *outer = current_worker;
	const uint64_t *outer_task = boundary_task;
	/* The caller may be in a catch block: see loop_poll_within(). */
	struct exceptions exceptions =
		exceptions_set((struct exceptions){ NULL, 0 });
	uint64_t start_ns = clock_now_ns();

	current_worker = w;
	telemetry_current = &w->telemetry;
	boundary_task = &w->area.task;
	drive_resume(w, start_ns);
	begin(w, start_ns);
	drive_ticks(w, start_ns, deadline_ns);
	count_leaves(w);
	if (pool_submit_due(w->pool, 0, true))
		w->pool->submit(w->pool);
	/* The time until the caller drives again is not counted as the
	 * worker's. */
	if (!w->driven_idle)
		telemetry_state(&w->telemetry, AREA_STARTING, w->tick.start_ns);
	exceptions_set(exceptions);
	boundary_task = outer_task;
	telemetry_current = outer ? &outer->telemetry : NULL;
	current_worker = outer;
	return !w->driven_idle;
}
