/* SPDX-License-Identifier: MIT */
/**
 * search.c - a worker without a task: it searches for one, and sleeps
 *
 * If fewer than half of the group search, the worker becomes a searcher: search() scans the
 * queues and jobs of other workers, near ones first, for about as long as a wake-up takes.
 * Then the worker announces its sleep, scans everything once more, and sleeps in park() until
 * a waker claims it, a deadline comes or, if it is the leader, a descriptor has an event.
 * core/idle/IDLE.md proves that no wake-up is lost on this way. A worker with a poller that
 * has no park never sleeps: it calls stay_awake() again and again.
 */
#include "core/loop/search.h"

#include "core/base/clock.h"
#include "core/base/spin.h"
#include "core/idle/stall_rest.h"
#include "core/loop/loop.h"
#include "core/loop/work.h"
#include "core/loop/worker.h"

/* Does the worker never sleep? */
static bool stays_awake(const struct worker *w)
{
	return w->pool->tuning.spin_ns == TUNING_SPIN_FOREVER ||
	       pollers_awake_owner(&w->pollers);
}

void search_check_drained(struct worker *w)
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

/* Is a timer of the worker's group due, or one of the other group whose turn it is?
 * The sentinel sleeps for the timers of all groups. */
static bool timers_due(const struct worker *w, uint64_t now_ns)
{
	return pool_group_next_timer_ns(w->pool, w->group) <= now_ns ||
	       pool_group_next_timer_ns(w->pool, w->group_turn) <= now_ns;
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
	return driver_used(w->driver) && reap_owner(w, now_ns, busy);
}

/* Has a searcher, or a sentinel after its check, tasks of its own? Only events, and operations
 * on files that have ended, have put them there. */
static bool has_own(const struct worker *w)
{
	return local_queue_length(w->queue) > 0 || lifo_slot_peek(&w->lifo);
}

/* A search begins, after a first try in vain. Return: when. */
static uint64_t begin_search(struct worker *w)
{
	const struct pool *pool = w->pool;
	uint64_t now_ns;

	work_lower_flags_owner(w);
	if (pool->groups->count > 1)
		search_check_drained(w);
	now_ns = clock_now_ns();
	idle_renew(&w->pool->idle, w->group, now_ns);
	w->idle_since_ns = now_ns;
	return now_ns;
}

/* Search until work is found, the spin time is over, a timer is due, or the
 * pool stops. For a leader, each step is a system call. So its search ends with
 * the spin time, however few steps it took: its sleep in the driver looks for
 * events as well (I11). A worker that searches for longer than the delay of the LIFO
 * slots checks them as the sentinel would. A worker that searches for longer
 * than TICK_POLLERS_NS checks the timers and events of another group in each step: not
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
	start_ns = begin_search(w);
	spin_ns = spin_limit_ns(w);
	far_ns = spin_far_ns(spin_ns, idle_wake_cost_ns(&pool->idle, w->group),
			     pool->tuning.far_delay_ns);
	for (uint32_t i = 1;; i++) {
		uint64_t now_ns = clock_now_ns();
		bool over = now_ns - start_ns >= spin_ns;
		/* A worker with pollers sleeps in these, not in the driver. */
		bool leads = !w->pollers.list && driver_attached(w->driver) &&
			     reap_leads(w);

		bool others = now_ns - start_ns > TICK_POLLERS_NS;

		idle_renew(&w->pool->idle, w->group, now_ns);
		if (others)
			timers_take_turn(w);
		if (now_ns - start_ns > pool->tuning.lifo_delay_ns)
			task = sentinel_watch(w, now_ns);
		if (!task && ((!(over && leads) && reap(w, now_ns, false)) ||
			      (others && reap_turn_owner(w, now_ns)))) {
			spin_learn(&w->spin, now_ns - start_ns);
			return NULL;
		}
		if (task || has_own(w) || pool_stopping(w->pool) ||
		    timers_due(w, now_ns) ||
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

	idle_begun(idle, w->index);
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
	if (driver_leads(w->driver, w->index))
		driver_seen(w->driver, now_ns);
	telemetry_woken(&w->telemetry, now_ns);
}

/* How a parked worker has slept. @until: its deadline; SENTINEL_NEVER: none. @polled: in a
 * poller; @led: in the driver, as the leader (I11); otherwise on its parker. @slept: on the
 * parker, without a deadline. @now_ns: when it was over; @batch: the events found. */
struct nap {
	uint64_t until, now_ns;
	bool polled, led, slept;
	struct driver_batch batch;
};

static void take_nap(struct worker *w, struct nap *nap)
{
	struct idle *idle = &w->pool->idle;
	struct driver *driver = w->driver;
	struct parker *parker = &idle->sleepers[w->index].parker;

	nap->until = sentinel_enter(w);
	if (w->pollers.list)
		sentinel_summoned_in_vain(w);
	nap->polled = pollers_park_owner(&w->pollers, parker, nap->until);
	nap->led = !nap->polled && !sentinel_pass_lead(w) &&
		   driver_enter(driver, w->index); /* I11 */
	nap->slept = false;
	nap->batch.count = 0;
	if (nap->led) {
		idle_claim_last(idle, w->index);
		counter_add_owner(&w->area.counters.io_parks, 1);
		driver_sleep(driver, w->index, parker, nap->until, &nap->batch);
	} else if (!nap->polled && nap->until == SENTINEL_NEVER) {
		nap->slept = parker_park(parker);
	} else if (!nap->polled) {
		parker_park_until(parker, nap->until);
	}
}

/* Can only a claim, or a late notification, have ended the nap? */
static bool waits_for_claim(const struct nap *nap)
{
	return !nap->polled && !nap->led && nap->until == SENTINEL_NEVER;
}

/* Look for events of the other groups, from that on whose turn it is, until some are found.
 * Called by the sentinel (I12). */
static void look_elsewhere(struct worker *w, struct nap *nap)
{
	unsigned left = w->pool->groups->count - 1;

	for (; left > 0 && nap->batch.count == 0; left--) {
		struct driver *driver = &w->pool->drivers[w->group_turn];

		if (driver_attached(driver))
			driver_take(driver, nap->now_ns, DRIVER_HELP_NS,
				    &nap->batch);
		timers_take_turn(w);
	}
}

/* After a nap that may have ended for something that is due. Return: is it? *@task: receives
 * a task of the LIFO slot of a worker in a long poll, or NULL. */
static bool is_due(struct worker *w, struct nap *nap, struct skua_task **task)
{
	struct driver *driver = w->driver;

	/* Read before the check: its own looks below are no later than the check, so that
	 * the next check does not take them for those of a leader (I12). */
	nap->now_ns = clock_now_ns();
	/* Only the sentinel has a deadline, and checks the slots. */
	*task = nap->until == SENTINEL_NEVER ? NULL
					     : sentinel_check(w, nap->now_ns);
	if (nap->led)
		driver_looked(driver, nap->now_ns);
	else if (nap->until != SENTINEL_NEVER && driver_used(driver))
		driver_take(driver, nap->now_ns, DRIVER_HELP_NS, &nap->batch);
	if (nap->until != SENTINEL_NEVER)
		look_elsewhere(w, nap);
	return *task || has_own(w) || nap->polled || nap->batch.count > 0 ||
	       pool_next_timer_ns(w->pool) <= nap->now_ns;
}

/* Leave the park for what is due, without a claim. */
static void leave_park(struct worker *w, const struct nap *nap)
{
	idle_park_cancel(&w->pool->idle, w->index);
	if (nap->batch.count > 0)
		reap_deliver_owner(w, &nap->batch);
	if (nap->led && nap->batch.count > 0)
		learn_event(w, nap->now_ns);
	else
		learn_gap(w, nap->now_ns, nap->batch.count > 0);
	telemetry_woken(&w->telemetry, nap->now_ns);
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
	struct nap nap;

	nap.slept = false;
	/* The loop repeats when a park has ended without a claim: because of
	 * the late notification of an earlier claim, a summons (I6), or the
	 * deadline. */
	while (idle_parked(idle, w->index)) {
		take_nap(w, &nap);
		if (waits_for_claim(&nap))
			continue;
		/* While a poller parked, the program may have woken tasks. They
		 * are in this worker's own queues, where no search finds them;
		 * so after a poller's park, do not leave the loop here, but
		 * return false. */
		if (!nap.polled && nap.batch.count == 0 &&
		    !idle_parked(idle, w->index))
			break;
		if (is_due(w, &nap, task)) {
			leave_park(w, &nap);
			return false;
		}
	}
	/* I7. Orders the cleared bit before everything that the worker does
	 * from now on. Pairs with the fences in give_role() and
	 * summon_parked(). */
	atomic_fence_seq_cst();
	woken(w, nap.slept);
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
	if (w->pollers.list && driver_leads(w->driver, w->index)) {
		sentinel_leave(w);
		driver_resign(w->driver, w->index);
	}
}

/* Search, then sleep, until there is a task. Returns NULL if there is a job in
 * w->job, a timer or poller to run, or if the worker must end. */
static struct skua_task *search_and_sleep(struct worker *w)
{
	struct idle *idle = &w->pool->idle;
	bool searching = idle_try_search(idle, w->index);

	if (w->pool->groups->count == 1)
		search_check_drained(w);
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
		if (has_work(w, task) || pool_stopping(w->pool) ||
		    pollers_added(&w->pollers)) {
			idle_park_cancel(idle, w->index);
			return found(w, task);
		}
		pool_check_last_parked(w->pool, searching);
		if (!park(w, searching, &task))
			return found(w, task);
		if (pool_stopping(w->pool))
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

	search_check_drained(w);
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

struct skua_task *search_for_task(struct worker *w)
{
	return stays_awake(w) ? stay_awake(w) : search_and_sleep(w);
}
