/* SPDX-License-Identifier: MIT */
/**
 * timers.h - a worker's timers: the wheel, its lock, its next deadline
 *
 * A timer is in the wheel of the worker that polled its task when it was added.
 * Any thread may cancel it, and any worker may fire it, so the wheel has a lock. A
 * worker that fires timers copies the tasks out, unlocks, and then wakes the
 * tasks: a timer may be freed as soon as the lock is free.
 */
#ifndef SKUA_CORE_LOOP_TIMERS_H
#define SKUA_CORE_LOOP_TIMERS_H

#include <stdalign.h>

#include "core/base/atomic.h"
#include "core/os/pi_lock.h"
#include "core/queue/timer_wheel.h"
#include "topology/llc_groups.h"

struct pool;
struct skua_task;
struct worker;

/*
 * The next deadlines of the workers of a group, side by side, so that a check of
 * the group reads one line for eight workers.
 *
 * Rejected: one word for each group with the least of them. The thread that
 * raises it must not miss a deadline that another thread publishes meanwhile; so
 * it hides the deadlines of the group while it computes the new one, or each add
 * writes to the word. The word would save lines only in groups of more than
 * eight workers.
 */
struct timer_deadlines {
	/*
	 * By the worker's bit in its group. Time of the monotonic clock: no
	 * timer of that worker is due earlier. UINT64_MAX if it has no timer,
	 * and after a worker has taken the deadline, until it publishes the
	 * next one under the lock (I6). Writers: the holder of the lock of that
	 * wheel; a worker that takes the deadline, to UINT64_MAX. Readers: any.
	 */
	alignas(CACHE_PAIR) atomic_u64 next_ns[LLC_GROUP_WORKERS];
};

struct timers {
	/* Its word in the deadlines of its group. Constant. */
	alignas(CACHE_PAIR) atomic_u64 *next_ns;

	/*
	 * The holder inherits the priority of a waiting thread. Otherwise a
	 * real-time worker could keep the holder off the CPU while it waits for
	 * the lock. A release hands the lock to a waiting thread, if there is
	 * one, so that a worker that fires batch after batch locks no other
	 * thread out.
	 */
	struct pi_lock lock;
	struct timer_wheel wheel; /* of struct timer, under the lock */
	/* Timers that timers_fire_all() has taken out of the wheel and has yet to
	 * fire, under the lock. */
	struct timer_link all;
};

/* struct skua_timer as the scheduler sees it. */
struct timer {
	struct timer_entry entry;
	struct skua_task *task; /* with a reference, while it is queued */
	/* The worker whose wheel holds the timer; NULL: none. Writers: the
	 * timer's owner, to add it; the thread that takes it out of the wheel,
	 * under the lock: this is the last thing it does with the timer. */
	_Atomic(struct worker *) worker;
	uint64_t reserved;
};

/* timers_init - @slots: for the wheel, as timer_wheel_init(); @next_ns: its word
 * in the deadlines of its group */
void timers_init(struct timers *timers, struct timer_slot *slots,
		 atomic_u64 *next_ns);

/* timers_add - add a timer that wakes @task at @when_ns of the monotonic clock, or at once
 * in a shutdown that cancels; @w is the calling worker, which polls @task. Return:
 * false if the timer is queued already. */
bool timers_add(struct worker *w, struct timer *timer, struct skua_task *task,
		uint64_t when_ns);

/* timers_add_exact - the same for a task that knows by itself whether it is cancelled:
 * once timers_fire_all() has begun, this timer still fires at its time */
bool timers_add_exact(struct worker *w, struct timer *timer,
		      struct skua_task *task, uint64_t when_ns);

/* timers_cancel - take a timer out of its wheel. Threads: any. Return: true if
 * it was queued: it will not fire. */
bool timers_cancel(struct timer *timer);

/* timers_queued - is the timer in a wheel? Threads: any. */
bool timers_queued(const struct timer *timer);

/**
 * timers_fire_due - wake the tasks of timers that are due: those of the worker,
 * then those of its group, then those of @others other groups
 * @w: the calling worker
 *
 * Several calls take the other groups in turn, from w->group_turn on. A wheel
 * whose deadline another worker has taken is left to that worker.
 */
void timers_fire_due(struct worker *w, uint64_t now_ns, unsigned others);

/**
 * timers_begin_turns - choose the first other group that @w checks
 *
 * The workers of a group begin evenly spread over the other groups, so that a group
 * whose own workers are all in long polls need not wait until one worker has been
 * everywhere. With G groups of W workers, while all workers of one of them end
 * their ticks in step, or with W = 1 one worker of each, each group is checked once
 * in (G - 1) / W periods of TICK_POLLERS_NS, rounded up. Workers that search or
 * sleep in between lose step: then n workers check a group once in (G - 1) / n
 * periods in the mean. However the others do, one worker that ends ticks checks
 * each group once in G - 1 periods.
 */
void timers_begin_turns(struct worker *w);

/* timers_take_turn - let the next check of another group's timers or events begin with
 * the next other group */
void timers_take_turn(struct worker *w);

/* timers_fire_all - wake the tasks of all timers that were added before; one thread at a
 * time. After pool_cancel(), timers_add() makes later ones due at once. */
void timers_fire_all(struct pool *pool);

#endif
