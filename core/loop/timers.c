/* SPDX-License-Identifier: MIT */
/* timers.c - see timers.h */
#include "core/loop/timers.h"

#include <assert.h>

#include "core/base/clock.h"
#include "core/loop/schedule.h"
#include "core/loop/sentinel.h"
#include "core/loop/worker.h"
#include "skua/timer.h"

static_assert(sizeof(struct timer) == sizeof(struct skua_timer) &&
		      alignof(struct timer) == alignof(struct skua_timer),
	      "one layout, two views");
static_assert(offsetof(struct timer, task) == offsetof(struct skua_timer, task),
	      "one layout, two views");

/* Timers fired in one hold of the lock; it moves TIMER_WHEEL_MOVES at most. */
#define BATCH 64u

static void lock_init(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	/* A kernel without such locks refuses. */
	if (pthread_mutex_init(lock, &attr) != 0)
		pthread_mutex_init(lock, NULL);
	pthread_mutexattr_destroy(&attr);
}

void timers_init(struct timers *timers)
{
	atomic_init(&timers->next_ns, UINT64_MAX);
	lock_init(&timers->lock);
	timer_wheel_init(&timers->wheel, clock_now_ns());
}

void timers_destroy(struct timers *timers)
{
	pthread_mutex_destroy(&timers->lock);
}

static void publish_next_locked(struct timers *timers)
{
	/* Relaxed: a look that must not miss it is behind a fence (I6). */
	atomic_store_relaxed(&timers->next_ns,
			     timer_wheel_next(&timers->wheel));
}

/* I6, after a deadline was published. */
static void alert_sentinel(struct pool *pool, const struct timers *timers)
{
	/* Orders the deadline before the look at the sentinel. Pairs with the
	 * fences in sentinel_enter() and give_role(). */
	atomic_fence_seq_cst();
	/* Relaxed, both: ordered by the fence. If another worker has replaced
	 * this deadline by a later one, or taken it, that worker alerts the
	 * sentinel. */
	if (atomic_load_relaxed(&timers->next_ns) <
	    atomic_load_relaxed(&pool->sentinel.until_ns))
		sentinel_summon(pool);
}

bool timers_add(struct worker *w, struct timer *timer, struct skua_task *task,
		uint64_t when_ns)
{
	struct timers *timers = &w->timers;
	bool earliest;

	if (timers_queued(timer))
		return false;
	schedule_add_reference(task);
	pthread_mutex_lock(&timers->lock);
	timer->task = task;
	/* Relaxed: the timer is the caller's. */
	atomic_store_relaxed(&timer->worker, w);
	/* Relaxed: set before timers_fire_all() takes the lock. */
	if (pool_cancelling(w->pool))
		when_ns = 0;
	/* Relaxed: written under the lock. */
	earliest = when_ns < atomic_load_relaxed(&timers->next_ns);
	timer_wheel_add(&timers->wheel, &timer->entry, when_ns);
	if (earliest)
		publish_next_locked(timers);
	pthread_mutex_unlock(&timers->lock);
	if (earliest)
		alert_sentinel(w->pool, timers);
	return true;
}

/* Take a timer's task out. Its owner may use the timer again from then on. */
static struct skua_task *take_task_locked(struct timer *timer)
{
	struct skua_task *task = timer->task;

	/* Release: the links and the task. Pairs with worker_of(). */
	atomic_store_release(&timer->worker, NULL);
	return task;
}

/* In whose wheel it is, or was a moment ago. NULL also in a forked child, where
 * the lock may be that of a thread of the parent. */
static struct worker *worker_of(const struct timer *timer)
{
	/* Acquire: what fired it is done with it. Pairs with
	 * take_task_locked(). */
	struct worker *w = atomic_load_acquire(&timer->worker);

	return w && pool_alive(w->pool) ? w : NULL;
}

bool timers_cancel(struct timer *timer)
{
	struct worker *w = worker_of(timer);
	struct skua_task *task = NULL;

	if (!w)
		return false;
	pthread_mutex_lock(&w->timers.lock);
	if (timer_wheel_cancel(&w->timers.wheel, &timer->entry))
		task = take_task_locked(timer);
	pthread_mutex_unlock(&w->timers.lock);
	if (task)
		schedule_drop(task);
	return task != NULL;
}

bool timers_queued(const struct timer *timer)
{
	struct worker *w = worker_of(timer);
	bool queued;

	if (!w)
		return false;
	pthread_mutex_lock(&w->timers.lock);
	queued = timer_entry_queued(&timer->entry);
	pthread_mutex_unlock(&w->timers.lock);
	return queued;
}

/* Wake the tasks of up to BATCH timers that are due, and unlock. Returns whether
 * there is more to do. */
static bool fire_batch(struct timers *timers, uint64_t now_ns)
{
	struct timer_entry *due[BATCH];
	struct skua_task *tasks[BATCH];
	bool more;
	unsigned count =
		timer_wheel_expire(&timers->wheel, now_ns, due, BATCH, &more);

	for (unsigned i = 0; i < count; i++)
		tasks[i] = take_task_locked((struct timer *)due[i]);
	publish_next_locked(timers);
	pthread_mutex_unlock(&timers->lock);

	for (unsigned i = 0; i < count; i++)
		schedule_wake_by_value(tasks[i]);
	return more;
}

/* The clock, or the end of time once all timers must fire. */
static uint64_t now_locked(const struct pool *pool)
{
	/* Relaxed: under the lock that timers_fire_all() takes after it. */
	return pool_cancelling(pool) ? UINT64_MAX : clock_now_ns();
}

/* Take a deadline that has come, and the duty to publish the next one. */
static bool take_deadline(struct timers *timers, uint64_t now_ns)
{
	/* Relaxed, both: the lock orders what is in the wheel. A failure means
	 * that somebody else took the deadline, or published another one, which
	 * is looked at in the next tick, or by the sentinel. */
	uint64_t next_ns = atomic_load_relaxed(&timers->next_ns);

	return next_ns <= now_ns &&
	       atomic_cas_relaxed(&timers->next_ns, &next_ns, UINT64_MAX);
}

/* Its holder may have no CPU: the worker sleeps until then, lends the holder its
 * priority, and leaves all other deadlines to another worker. */
static void lock_to_fire(struct worker *w, struct timers *timers)
{
	if (pthread_mutex_trylock(&timers->lock) == 0)
		return;
	sentinel_leave(w);
	pthread_mutex_lock(&timers->lock);
}

static void fire(struct worker *w, struct timers *timers, uint64_t now_ns)
{
	bool more;

	/* A timer that is added meanwhile, though its time has passed, counts as one
	 * after the latest batch, and does not keep this going. */
	do {
		lock_to_fire(w, timers);
		more = fire_batch(timers, now_locked(w->pool));
	} while (more && take_deadline(timers, now_ns));
	alert_sentinel(w->pool, timers);
}

void timers_fire_due(struct worker *w, uint64_t now_ns)
{
	for (unsigned i = 0; i < w->pool->worker_count; i++) {
		struct timers *timers = &w->pool->workers[i]->timers;

		if (take_deadline(timers, now_ns))
			fire(w, timers, now_ns);
	}
}

void timers_fire_all(struct pool *pool)
{
	for (unsigned i = 0; i < pool->worker_count; i++) {
		struct timers *timers = &pool->workers[i]->timers;

		do {
			pthread_mutex_lock(&timers->lock);
		} while (fire_batch(timers, UINT64_MAX));
	}
}
