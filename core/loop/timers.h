/* SPDX-License-Identifier: MIT */
/**
 * timers.h - a worker's timers: the wheel, its lock, its next deadline
 *
 * A timer is in the wheel of the worker that its task ran on when it was
 * added. Any thread may cancel it, and any worker may fire it, so the wheel
 * has a lock. A worker that fires copies the tasks out, unlocks, and then wakes them: a
 * timer may be gone as soon as the lock is free.
 */
#ifndef SKUA_CORE_LOOP_TIMERS_H
#define SKUA_CORE_LOOP_TIMERS_H

#include <pthread.h>
#include <stdalign.h>

#include "core/base/atomic.h"
#include "core/queue/timer_wheel.h"

struct pool;
struct skua_task;
struct worker;

struct timers {
	/*
	 * When the earliest is due, at the latest; UINT64_MAX if there is none,
	 * and while a worker that has taken a deadline that has come is on its
	 * way to the wheel (I6). Writers: the holder of the lock; that worker,
	 * to UINT64_MAX. Readers: any.
	 */
	alignas(CACHE_PAIR) atomic_u64 next_ns;

	/*
	 * The holder inherits the priority of a waiter, so that a worker
	 * of a real-time class does not wait for one that it keeps off the CPU.
	 * An unlock hands it to a waiter, if there is one: firing batch by
	 * batch keeps nobody off.
	 */
	pthread_mutex_t lock;
	struct timer_wheel wheel; /* of struct timer, under the lock */
};

/* The public struct skua_timer as the scheduler sees it. */
struct timer {
	struct timer_entry entry;
	struct skua_task *task; /* one reference, while it is queued */
	/* In whose wheel it is; NULL: in none. Writers: the owner, to add; the thread
	 * that takes it out, under the lock, as the last thing it does with it. */
	_Atomic(struct worker *) worker;
	uint64_t reserved;
};

void timers_init(struct timers *timers);
void timers_destroy(struct timers *timers);

/* timers_add - of a task that @w polls; false: it is queued already */
bool timers_add(struct worker *w, struct timer *timer, struct skua_task *task,
		uint64_t when_ns);

/* timers_cancel - was it queued, so that it does not fire? Any thread */
bool timers_cancel(struct timer *timer);

/* timers_queued - any thread */
bool timers_queued(const struct timer *timer);

/* timers_fire_due - wake the tasks of all timers that are due, on worker @w; those
 * of a wheel that another worker sees to are left to it */
void timers_fire_due(struct worker *w, uint64_t now_ns);

/* timers_fire_all - wake the tasks of all timers there are, and to come */
void timers_fire_all(struct pool *pool);

#endif
