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
 * When work_next() finds no task, wait_for_task() looks for work of other
 * workers. If fewer than half of the group search, the worker becomes a searcher:
 * search() scans the queues and jobs of other workers, near ones first, for about
 * as long as a wake-up takes. Then the worker announces its sleep, scans
 * everything once more, and sleeps in park() until a waker claims it, a deadline
 * comes or, if it is the leader, a descriptor has an event. core/idle/IDLE.md
 * proves that no wake-up is lost on this way. A worker that has stolen a job runs
 * it in run_job(), and runs its own tasks between two jobs. A worker with a poller
 * that has no park never sleeps: it calls stay_awake() again and again.
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
#include "core/base/spin.h"
#include "core/telemetry/track.h"
#include "core/idle/stall_rest.h"
#include "core/loop/work.h"

/* Limit of polls within each other. A guess: each takes one stack frame of the
 * program's and about 100 bytes of the library's. */
#define POLLS_WITHIN_MAX 32u

/* ---- searching and sleeping ---------------------------------------------- */

static bool stopping(const struct worker *w)
{
	/* Relaxed: ordered by the fence in idle_park_begin(), or by the
	 * acquire of the parked bit. */
	return atomic_load_relaxed(&w->pool->stopping) != 0;
}

/* Does the worker never sleep? */
static bool stays_awake(const struct worker *w)
{
	return w->pool->tuning.spin_ns == TUNING_SPIN_FOREVER ||
	       pollers_awake_owner(&w->pollers);
}

/* Called by a worker out of work, which may be the last one: if no task is left,
 * wake the threads that wait for a drain. */
static void check_drained(struct worker *w)
{
	/* Orders the worker's count of finished tasks before the load of
	 * drainers, and the count of it as a searcher before the loads of the
	 * others' states. Pairs with the fence in pool_wait_drained(), and with
	 * this one and that in idle_park_begin(). */
	atomic_fence_seq_cst();
	if (stays_awake(w))
		pool_check_drained(w->pool);
	else
		pool_check_last_at_work(w->pool);
}

/* Is a timer due of the worker's group, or of the other group whose turn it is?
 * The sentinel sleeps for the timers of all groups. */
static bool timers_due(const struct worker *w, uint64_t now_ns)
{
	return pool_group_next_timer_ns(w->pool, w->group) <= now_ns ||
	       pool_group_next_timer_ns(w->pool, w->timers_turn) <= now_ns;
}

static uint64_t spin_limit_ns(const struct worker *w)
{
	if (w->pollers.list)
		return 0;
	if (w->pool->tuning.spin_ns != TUNING_SPIN_MEASURED)
		return w->pool->tuning.spin_ns;
	if (idle_oversubscribed(&w->pool->idle))
		return 0;
	return spin_budget(&w->spin,
			   SPIN_SLEEP_WAKES *
				   idle_wake_cost_ns(&w->pool->idle, w->group));
}

/* Search for work beyond the worker's own queues. Returns a task, or NULL; if
 * NULL, w->job may hold a stolen job. */
static struct skua_task *find(struct worker *w, enum victims_reach reach)
{
	struct skua_task *task = work_find(w, reach);

	if (!task && team_forking(&w->pool->team))
		fork_join_help_owner(w->fork_join, reach, &w->counted, &w->job);
	return task;
}

/* The first step of a search. A worker that was told of many tasks, maybe those of
 * another node, looks for them everywhere (I3). */
static struct skua_task *find_told(struct worker *w)
{
	struct skua_task *task =
		w->told < IDLE_MANY ? NULL : work_find(w, VICTIMS_ALL);

	return task ? task : find(w, VICTIMS_NODE);
}

/* Has the search found a task or a job? */
static bool has_work(const struct worker *w, const struct skua_task *task)
{
	return task || w->job.job;
}

/* Look for events, and make their tasks runnable. */
static bool reap(struct worker *w, uint64_t now_ns, bool busy)
{
	return driver_used(&w->pool->driver) && reap_owner(w, now_ns, busy);
}

/* Has a searcher tasks of its own? Only events have put them there. */
static bool has_own(const struct worker *w)
{
	return local_queue_length(w->queue) > 0 || lifo_slot_peek(&w->lifo);
}

/* Search until work is found, the spin time is over, a timer is due, or the
 * pool stops. For a leader, each step is a system call. So its search ends with
 * the spin time, however few steps it took: its sleep in the driver looks for
 * events as well (I11). A worker that searches for longer than the delay of the LIFO
 * slots checks them as the sentinel would. A worker that searches for longer
 * than TICK_POLLERS_NS checks the timers of another group in each step: not
 * before, because a search of the measured time is over by then, and reads as
 * few lines as it can. */
static struct skua_task *search(struct worker *w)
{
	const struct pool *pool = w->pool;
	/* Try before the clock is read: a worker that was woken finds its work
	 * at once. */
	struct skua_task *task = find_told(w);
	uint64_t start_ns, spin_ns, far_ns;

	if (has_work(w, task))
		return task;
	work_lower_flags_owner(w);
	if (pool->groups->count > 1)
		check_drained(w);
	start_ns = clock_now_ns();
	idle_renew(&w->pool->idle, w->group, start_ns);
	w->idle_since_ns = start_ns;
	spin_ns = spin_limit_ns(w);
	far_ns = spin_far_ns(spin_ns, idle_wake_cost_ns(&pool->idle, w->group),
			     pool->tuning.far_delay_ns);
	for (uint32_t i = 1;; i++) {
		uint64_t now_ns = clock_now_ns();
		bool over = now_ns - start_ns >= spin_ns;
		/* A worker with pollers sleeps in these, not in the driver. */
		bool leads = !w->pollers.list &&
			     driver_attached(&pool->driver) && reap_leads(w);

		idle_renew(&w->pool->idle, w->group, now_ns);
		if (now_ns - start_ns > TICK_POLLERS_NS)
			timers_take_turn(w);
		if (now_ns - start_ns > pool->tuning.lifo_delay_ns)
			task = sentinel_watch(w, now_ns);
		if (!task && !(over && leads) && reap(w, now_ns, false)) {
			spin_learn(&w->spin, now_ns - start_ns);
			return NULL;
		}
		if (task || stopping(w) || timers_due(w, now_ns) ||
		    (over && (leads || i >= pool->tuning.steal_attempts)))
			return task;
		cpu_relax();
		task = find(w, now_ns - start_ns < far_ns ? VICTIMS_NODE
							  : VICTIMS_SAMPLE);
		if (has_work(w, task)) {
			spin_learn(&w->spin, now_ns - start_ns);
			return task;
		}
	}
}

/* Wake a worker, or two if many tasks are left, if there is work that others could
 * take; the caller has issued a fence before. A worker that parks from now on sees
 * that work itself (I2). */
static void wake_for_rest(struct worker *w)
{
	uint32_t own = local_queue_length(w->queue);
	uint32_t seen = own + w->left;

	if (idle_any_sleepy(&w->pool->idle) && (own > 0 || work_visible(w)))
		idle_wake_for(&w->pool->idle, w->group,
			      seen > w->told ? seen : w->told);
	if (team_visible(&w->pool->team, w->group))
		team_wake(&w->pool->team, w->group);
}

/* End the search of a searcher that has found a task or a job, or has something
 * else to do. If it was the last searcher, wake a worker for the work that is
 * left (I3). */
static struct skua_task *found(struct worker *w, struct skua_task *task)
{
	if (idle_leave_search(&w->pool->idle, w->index))
		wake_for_rest(w);
	return task;
}

/* Learn from the gap that ends, by a claim or a deadline. A deadline was known
 * before: it tells only that nothing else came until then. */
static void learn_gap(struct worker *w, uint64_t end_ns, bool claimed)
{
	uint64_t gap_ns = end_ns - w->idle_since_ns;

	if (claimed || gap_ns >= SPIN_MAX_NS)
		spin_learn(&w->spin, gap_ns);
}

/* Learn from a gap that an event has ended. The kernel does not tell when the event
 * came; it was about the time of a wake-up before @now_ns. If the wake-up counted as a
 * part of the gap, short gaps would look too long for a search, and a worker that has
 * begun to sleep in them would go on sleeping in them. */
static void learn_event(struct worker *w, uint64_t now_ns)
{
	uint64_t gap_ns = now_ns - w->idle_since_ns;
	uint64_t wake_ns = idle_wake_cost_ns(&w->pool->idle, w->group);

	spin_learn(&w->spin, gap_ns > wake_ns ? gap_ns - wake_ns : 0);
}

/* A waker has claimed this worker. @slept: the worker slept until then. */
static void woken(struct worker *w, bool slept)
{
	struct idle *idle = &w->pool->idle;
	uint64_t claimed_ns = idle_claimed_ns(idle, w->index);
	uint64_t now_ns = clock_now_ns();

	if (slept)
		idle_woken(idle, w->index, now_ns);
	idle_renew(idle, w->group, now_ns);
	/* The waker writes the time after it has claimed this worker. If it has
	 * not done so yet, the claim was just now. */
	if (claimed_ns <= w->idle_since_ns)
		claimed_ns = now_ns;
	idle_delayed(idle, w->index, now_ns - claimed_ns, now_ns);
	learn_gap(w, claimed_ns, true);
	w->told = idle_told(idle, w->index);
	if (driver_leads(&w->pool->driver, w->index))
		driver_seen(&w->pool->driver, now_ns);
	telemetry_woken(&w->telemetry, now_ns);
}

/*
 * Sleep until a waker has claimed this worker, or something is due: a timer, an
 * event of the poller in which the worker sleeps, or a task in the LIFO slot of
 * a worker in a long poll. *@task receives such a task. Returns true if the
 * worker was claimed, false otherwise. In both cases the worker is counted as a
 * searcher afterwards.
 */
static bool sleep_parked(struct worker *w, struct skua_task **task)
{
	struct idle *idle = &w->pool->idle;
	struct driver *driver = &w->pool->driver;
	struct parker *parker = &idle->sleepers[w->index].parker;
	struct driver_batch batch;
	bool slept = false;

	/* The loop repeats when a park has ended without a claim: because of
	 * the late notification of an earlier claim, a summons (I6), or the
	 * deadline. */
	while (idle_parked(idle, w->index)) {
		uint64_t until = sentinel_enter(w);
		bool polled = pollers_park_owner(&w->pollers, parker, until);
		bool led = !polled && driver_enter(driver, w->index); /* I11 */
		uint64_t now_ns;

		slept = false;
		batch.count = 0;
		if (led) {
			idle_claim_last(idle, w->index);
			counter_add_owner(&w->area.counters.io_parks, 1);
			driver_sleep(driver, w->index, parker, until, &batch);
		} else if (!polled && until == SENTINEL_NEVER) {
			slept = parker_park(parker);
			continue;
		} else if (!polled) {
			parker_park_until(parker, until);
		}
		/* While a poller parked, the program may have woken tasks. They
		 * are in this worker's own queues, where no search finds them;
		 * so after a poller's park, do not leave the loop here, but
		 * return false. */
		if (!polled && batch.count == 0 && !idle_parked(idle, w->index))
			break;
		/* Only the sentinel has a deadline, and checks the slots. */
		*task = until == SENTINEL_NEVER ? NULL : sentinel_check(w);
		now_ns = clock_now_ns();
		if (led)
			driver_looked(driver, now_ns);
		else if (until != SENTINEL_NEVER && driver_used(driver))
			driver_take(driver, now_ns, DRIVER_HELP_NS, &batch);
		if (*task || polled || batch.count > 0 ||
		    pool_next_timer_ns(w->pool) <= now_ns) {
			idle_park_cancel(idle, w->index);
			if (batch.count > 0)
				reap_deliver_owner(w, &batch);
			if (led && batch.count > 0)
				learn_event(w, now_ns);
			else
				learn_gap(w, now_ns, batch.count > 0);
			telemetry_woken(&w->telemetry, now_ns);
			return false;
		}
	}
	/* I7. Orders the cleared bit before everything that the worker does
	 * from now on. Pairs with the fences in give_role() and
	 * summon_parked(). */
	atomic_fence_seq_cst();
	woken(w, slept);
	return true;
}

static bool park(struct worker *w, bool searched, struct skua_task **task)
{
	bool claimed;

	telemetry_park(&w->telemetry,
		       searched ? PROBE_PARK_SEARCHED : PROBE_PARK_CROWDED);
	if (w->pool->rest)
		stall_rest_parks(w->pool->rest, w->index);
	claimed = sleep_parked(w, task);
	if (w->pool->rest)
		stall_rest_unparks(w->pool->rest, w->index);
	telemetry_unpark(&w->telemetry);
	return claimed;
}

/* A worker that sleeps in a poller cannot lead. */
static void leave_driver_to_others(struct worker *w)
{
	if (w->pollers.list && driver_leads(&w->pool->driver, w->index)) {
		sentinel_leave(w);
		driver_resign(&w->pool->driver, w->index);
	}
}

/* Search, then sleep, until there is a task. Returns NULL if there is a job in
 * w->job, a timer or poller to run, or if the worker must end. */
static struct skua_task *search_and_sleep(struct worker *w)
{
	struct idle *idle = &w->pool->idle;
	bool searching = idle_try_search(idle, w->index);

	if (w->pool->groups->count == 1)
		check_drained(w);
	w->told = 0;
	/* tick.start_ns is when the worker ran out of work. */
	if (searching)
		idle_renew(idle, w->group, w->tick.start_ns);
	else
		w->idle_since_ns = clock_now_ns();
	for (;;) {
		struct skua_task *task = searching ? search(w) : NULL;

		if (has_work(w, task) ||
		    (searching &&
		     (has_own(w) || timers_due(w, clock_now_ns()))))
			return found(w, task);
		work_lower_flags_owner(w);
		w->told = 0;
		leave_driver_to_others(w);
		w->watched = false;
		idle_park_begin(idle, w->index, searching);
		task = find(w, VICTIMS_ALL); /* I2, F2 */
		if (has_work(w, task) || stopping(w) ||
		    pollers_added(&w->pollers)) {
			idle_park_cancel(idle, w->index);
			return found(w, task);
		}
		pool_check_last_parked(w->pool, searching);
		if (!park(w, searching, &task))
			return found(w, task);
		if (stopping(w))
			return NULL;
		searching = true; /* the waker has counted it */
	}
}

/*
 * One round of a worker that never sleeps. It is not counted as a searcher,
 * because its pollers are the user's and may take long, so that no producer may
 * rely on it. When it takes work, it wakes a worker for the rest as a searcher
 * does (I3).
 */
static struct skua_task *stay_awake(struct worker *w)
{
	struct skua_task *task;

	check_drained(w);
	task = find(w, VICTIMS_ALL);
	w->told = 0; /* by the waker of its last park */
	if (!has_work(w, task))
		task = sentinel_watch(w, clock_now_ns());
	if (has_work(w, task)) {
		/* Orders the take before the loads in wake_for_rest(), as the
		 * fence in idle_leave_search() does. */
		atomic_fence_seq_cst();
		wake_for_rest(w);
	}
	return task;
}

/* ---- running them ------------------------------------------------------- */

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

	/* The poll may take long, and keeps no other group from its end. */
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
	const bool spare = w->spare;

	/* If the tick has no room for another poll, it ends with the poll that
	 * joins. While polls are recorded, no poll runs within another one,
	 * because a recording cannot show that. Nor does one in a catch block: a
	 * fiber that suspends itself takes all exceptions of the thread along.
	 * Relaxed: as in poll_task(). */
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
 * if that is due. The sentinel may have slept for any of them. */
static unsigned other_groups(const struct worker *w, bool busy, bool due)
{
	unsigned others = w->pool->groups->count - 1;

	if (others == 0 || !due)
		return 0;
	return !busy && sentinel_is(w) ? others : 1;
}

/* End a tick. @busy: the worker has more tasks, so that its pollers are called,
 * and other groups' timers checked, only if that is due. */
static HOT void end_tick(struct worker *w, bool busy)
{
	uint64_t now_ns = clock_now_ns();
	bool due = !busy || now_ns >= w->pollers_due_ns;

	count_leaves(w);
	tick_end(&w->tick, now_ns);
	telemetry_check(&w->telemetry, now_ns);
	if (now_ns >= w->affinity_due_ns)
		w->pool->recheck_affinity(w, now_ns);
	timers_fire_due(w, now_ns, other_groups(w, busy, due));
	if (due)
		run_pollers(w, now_ns);
	reap(w, now_ns, busy);
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
	sentinel_leave(w);
	telemetry_job(&w->telemetry, (const void *)(uintptr_t)job.job->run,
		      job.victim->index);
	fork_join_run_owner(w->fork_join,
			    split_deque_head_owner(&w->fork_join->deque), &job);
	telemetry_job_end(&w->telemetry);
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
	while (!task && !stopping(w)) {
		task = stays_awake(w) ? stay_awake(w) : search_and_sleep(w);
		if (w->job.job)
			task = run_job(w);
		else if (!task)
			task = next_task(w);
		if (!task)
			cpu_relax(); /* a worker with pollers may spin in this
				      * loop */
	}
	sentinel_leave(w);
	if (driver_used(&w->pool->driver))
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

/* End the park in which the last loop_drive() left the worker. */
static void drive_resume(struct worker *w, uint64_t now_ns)
{
	struct idle *idle = &w->pool->idle;

	if (!w->driven_idle)
		return;
	w->driven_idle = false;
	parker_end(&idle->sleepers[w->index].parker);
	if (idle_parked(idle, w->index))
		idle_park_cancel(idle, w->index);
	/* A driven worker scans everything itself, so it does not count as a
	 * searcher. */
	idle_leave_search(idle, w->index);
	driver_seen(&w->pool->driver, now_ns);
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
		check_drained(w);
		w->driven_idle = parker_begin(&idle->sleepers[w->index].parker);
		if (w->driven_idle) {
			telemetry_park(&w->telemetry, PROBE_PARK_DRIVEN);
			return NULL;
		}
	}
	/* Not parked: there is work, a new poller, or a notification. */
	if (idle_parked(idle, w->index))
		idle_park_cancel(idle, w->index);
	idle_leave_search(idle, w->index);
	return task;
}

bool loop_drive(struct worker *w, uint64_t deadline_ns)
{
	struct worker *outer = current_worker;
	const uint64_t *outer_task = boundary_task;
	/* The caller may be in a catch block: see loop_poll_within(). */
	struct exceptions exceptions =
		exceptions_set((struct exceptions){ NULL, 0 });
	uint64_t start_ns = clock_now_ns();
	bool first = true; /* the next poll is the first of a tick */

	current_worker = w;
	telemetry_current = &w->telemetry;
	boundary_task = &w->area.task;
	drive_resume(w, start_ns);
	begin(w, start_ns);
	for (;;) {
		struct skua_task *task = next_task(w);

		if (!task && !pollers_awake_owner(&w->pollers))
			task = drive_park(w);
		if (w->driven_idle)
			break;
		if (!task)
			check_drained(w);
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
	count_leaves(w);
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
