/* SPDX-License-Identifier: MIT */
/* timers.c - see timers.h */
#include "core/loop/timers.h"

#include <assert.h>

#include "core/base/clock.h"
#include "core/base/hot.h"
#include "core/loop/schedule.h"
#include "core/loop/sentinel.h"
#include "core/loop/worker.h"
#include "skua/timer.h"

static_assert(sizeof(struct timer) == sizeof(struct skua_timer) &&
		      alignof(struct timer) == alignof(struct skua_timer),
	      "one layout, two views");
static_assert(offsetof(struct timer, task) == offsetof(struct skua_timer, task),
	      "one layout, two views");

/* Timers fired under one hold of the lock, which moves at most
 * TIMER_WHEEL_MOVES entries of the wheel. */
#define BATCH 64u

void timers_init(struct timers *timers, struct timer_slot *slots,
		 atomic_u64 *next_ns)
{
	timers->next_ns = next_ns;
	atomic_init(next_ns, UINT64_MAX);
	pi_lock_init(&timers->lock);
	timer_wheel_init(&timers->wheel, slots, clock_now_ns());
}

static void publish_next_locked(struct timers *timers)
{
	/* Relaxed: a reader that must not miss it has issued a fence (I6). */
	atomic_store_relaxed(timers->next_ns, timer_wheel_next(&timers->wheel));
}

/* Summon the sentinel if it sleeps past the deadline that was just published
 * (I6). */
static void alert_sentinel(struct pool *pool, const struct timers *timers)
{
	/* Orders the deadline before the load of until_ns. Pairs with the
	 * fences in sentinel_enter() and give_role(). */
	atomic_fence_seq_cst();
	/* Relaxed, both: ordered by the fence. If another worker has replaced
	 * this deadline by a later one, or taken it, that worker alerts the
	 * sentinel. */
	if (atomic_load_relaxed(timers->next_ns) <
	    atomic_load_relaxed(&pool->sentinel.until_ns))
		sentinel_summon(pool);
}

static bool add(struct worker *w, struct timer *timer, struct skua_task *task,
		uint64_t when_ns, bool exact)
{
	struct timers *timers = &w->timers;
	bool earliest;

	if (timers_queued(timer))
		return false;
	schedule_add_reference(task);
	pi_lock_take(&timers->lock);
	timer->task = task;
	/* Relaxed: only the caller uses the timer at this point. */
	atomic_store_relaxed(&timer->worker, w);
	/* Relaxed: the flag is set before timers_fire_all() takes this lock. */
	if (!exact && pool_cancelling(w->pool))
		when_ns = 0;
	/* Relaxed: written under the lock. */
	earliest = when_ns < atomic_load_relaxed(timers->next_ns);
	timer_wheel_add(&timers->wheel, &timer->entry, when_ns);
	if (earliest)
		publish_next_locked(timers);
	pi_lock_release(&timers->lock);
	if (earliest)
		alert_sentinel(w->pool, timers);
	return true;
}

bool timers_add(struct worker *w, struct timer *timer, struct skua_task *task,
		uint64_t when_ns)
{
	return add(w, timer, task, when_ns, false);
}

bool timers_add_exact(struct worker *w, struct timer *timer,
		      struct skua_task *task, uint64_t when_ns)
{
	return add(w, timer, task, when_ns, true);
}

/* Take the task out of a timer that has left the wheel. From then on, the
 * timer's owner may use or free the timer. */
static struct skua_task *take_task_locked(struct timer *timer)
{
	struct skua_task *task = timer->task;

	/* Release: the accesses to the links and the task. Pairs with
	 * worker_of(). */
	atomic_store_release(&timer->worker, NULL);
	return task;
}

/* Return the worker whose wheel holds the timer, or held it a moment ago.
 * Return NULL if there is none, and in a forked child, where a thread of the
 * parent may hold the lock for ever. */
static struct worker *worker_of(const struct timer *timer)
{
	/* Acquire: the thread that fired the timer no longer uses it. Pairs
	 * with take_task_locked(). */
	struct worker *w = atomic_load_acquire(&timer->worker);

	return w && pool_alive(w->pool) ? w : NULL;
}

HOT bool timers_cancel(struct timer *timer)
{
	struct worker *w = worker_of(timer);
	struct skua_task *task = NULL;

	if (!w)
		return false;
	pi_lock_take(&w->timers.lock);
	if (timer_wheel_cancel(&w->timers.wheel, &timer->entry))
		task = take_task_locked(timer);
	pi_lock_release(&w->timers.lock);
	if (task)
		schedule_drop(task);
	return task != NULL;
}

HOT bool timers_queued(const struct timer *timer)
{
	struct worker *w = worker_of(timer);
	bool queued;

	if (!w)
		return false;
	pi_lock_take(&w->timers.lock);
	queued = timer_entry_queued(&timer->entry);
	pi_lock_release(&w->timers.lock);
	return queued;
}

/* Wake the tasks of timers that have left the wheel. The caller has locked; this
 * unlocks. */
static void fire_out(struct timers *timers, struct timer_entry *const due[],
		     unsigned count)
{
	struct skua_task *tasks[BATCH];

	for (unsigned i = 0; i < count; i++)
		tasks[i] = take_task_locked((struct timer *)due[i]);
	publish_next_locked(timers);
	pi_lock_release(&timers->lock);

	/* The first one last, as that one gets into the LIFO slot: so the tasks
	 * run in the order of their deadlines. */
	for (unsigned i = 1; i < count; i++)
		schedule_wake_by_value(tasks[i]);
	if (count > 0)
		schedule_wake_by_value(tasks[0]);
}

/* Wake the tasks of up to BATCH timers that are due. The caller has locked;
 * this unlocks. Returns whether there is more to fire. */
static bool fire_batch(struct timers *timers)
{
	struct timer_entry *due[BATCH];
	bool more;
	unsigned count = timer_wheel_expire(&timers->wheel, clock_now_ns(), due,
					    BATCH, &more);

	fire_out(timers, due, count);
	return more;
}

/* Take a deadline that has come, and with it the duty to fire its timers and
 * publish the next deadline. Returns false if there is no such deadline. */
static bool take_deadline(atomic_u64 *deadline, uint64_t now_ns)
{
	/* Relaxed, both: the lock orders the accesses to the wheel. The
	 * compare-exchange fails when another thread has taken the deadline or
	 * published another one; the next tick, or the sentinel, checks that
	 * one. */
	uint64_t next_ns = atomic_load_relaxed(deadline);

	return next_ns <= now_ns &&
	       atomic_cas_relaxed(deadline, &next_ns, UINT64_MAX);
}

/* Lock a wheel in order to fire its timers. The holder of the lock may have no
 * CPU: then this worker sleeps, lends the holder its priority, and first passes
 * the role of sentinel on, so that another worker minds all other deadlines. */
static void lock_to_fire(struct worker *w, struct timers *timers)
{
	if (pi_lock_try(&timers->lock))
		return;
	sentinel_leave(w);
	pi_lock_take(&timers->lock);
}

static HOT void fire(struct worker *w, struct timers *timers, uint64_t now_ns)
{
	bool more;

	/* The loop repeats when more timers are due than a batch has. It ends
	 * even if threads keep adding timers whose time has passed: the wheel
	 * queues those after the latest batch. */
	do {
		lock_to_fire(w, timers);
		more = fire_batch(timers);
	} while (more && take_deadline(timers->next_ns, now_ns));
	alert_sentinel(w->pool, timers);
}

void timers_begin_turns(struct worker *w)
{
	const struct llc_groups *groups = w->pool->groups;
	unsigned others = groups->count - 1;
	unsigned step = groups->places[w->index].bit * others /
			groups->groups[w->group].count;

	/* From the next group on, so that workers of several groups which have
	 * the same place there check different groups, too. */
	w->group_turn =
		others == 0 ? w->group : (w->group + 1 + step) % groups->count;
}

void timers_take_turn(struct worker *w)
{
	unsigned count = w->pool->groups->count;

	w->group_turn = (w->group_turn + 1) % count;
	if (w->group_turn == w->group)
		w->group_turn = (w->group_turn + 1) % count;
}

static HOT void fire_group(struct worker *w, unsigned group, uint64_t now_ns)
{
	struct pool *pool = w->pool;
	const struct llc_group *members = &pool->groups->groups[group];
	struct timer_deadlines *deadlines = &pool->deadlines[group];

	for (unsigned i = 0; i < members->count; i++) {
		if (take_deadline(&deadlines->next_ns[i], now_ns))
			fire(w, &pool->workers[members->workers[i]]->timers,
			     now_ns);
	}
}

HOT void timers_fire_due(struct worker *w, uint64_t now_ns, unsigned others)
{
	if (take_deadline(w->timers.next_ns, now_ns))
		fire(w, &w->timers, now_ns);
	fire_group(w, w->group, now_ns);
	for (; others > 0; others--) {
		fire_group(w, w->group_turn, now_ns);
		timers_take_turn(w);
	}
}

/* Timers that are added while the lock is free between two batches are not in the list.
 * So this ends, even if tasks add theirs again and again. */
static void fire_all(struct timers *timers)
{
	struct timer_entry *due[BATCH];
	unsigned count;

	pi_lock_take(&timers->lock);
	timer_wheel_take_all(&timers->wheel, &timers->all);
	for (;;) {
		count = timer_wheel_hand_out(&timers->wheel, &timers->all, due,
					     BATCH);
		fire_out(timers, due, count);
		if (count < BATCH)
			return;
		pi_lock_take(&timers->lock);
	}
}

void timers_fire_all(struct pool *pool)
{
	for (unsigned i = 0; i < pool->worker_count; i++)
		fire_all(&pool->workers[i]->timers);
}
