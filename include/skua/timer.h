/* SPDX-License-Identifier: MIT */
/**
 * timer.h - wake a task at a given time
 *
 * Times are nanoseconds of CLOCK_MONOTONIC, rounded up to a multiple of 256. A timer
 * never fires early, except in a shutdown that cancels (SKUA_SHUTDOWN_CANCEL). How
 * late it fires depends on the polls: each worker checks its own timers, and those of
 * the workers that share a cache with it, after about 10 us of polls, and those of the
 * other workers in turn; an idle worker sleeps until the first timer is due. Timers of
 * the same 256 ns fire in any order.
 */
#ifndef SKUA_TIMER_H
#define SKUA_TIMER_H

#include <skua/base.h>

SKUA_BEGIN_DECLS

struct skua_task;

/**
 * struct skua_timer - a timer; embed it, zeroed or set to SKUA_TIMER_INIT
 *
 * The fields are private to the library. The memory must stay in place while the
 * timer is pending. A pending timer counts as a waker of its task: if the task is
 * done before its timer is cancelled, it does not end until the timer fires. Calls on
 * the timer by other threads than the workers of the task's runtime must have returned
 * before skua_runtime_destroy() is called. After the runtime is destroyed, no call on
 * the timer is allowed; set it to SKUA_TIMER_INIT to use it with another runtime.
 */
struct skua_timer {
	/* private: to the library */
	void *link[2];
	uint64_t grain;
	uint32_t slot[2];
	struct skua_task *task;
	void *worker;
	uint64_t reserved;
};

/* clang-format off */
#define SKUA_TIMER_INIT { { NULL, NULL }, 0, { 0, 0 }, NULL, NULL, 0 }
/* clang-format on */

/* skua_now_ns - return the current time of CLOCK_MONOTONIC, in nanoseconds
 *
 * Threads: any. Blocks: never. Allocates: nothing. */
SKUA_API uint64_t skua_now_ns(void);

/**
 * skua_timer_add - wake the calling task at a given time
 * @self: task that is being polled
 * @timer: not pending; borrowed until it has fired or was cancelled
 * @when_ns: time of skua_now_ns(). If it has passed, the timer is due at once; with
 *           SKUA_FOREVER_NS it never is
 *
 * Once the timer has fired it may be added again, or freed: the poll that follows
 * finds skua_timer_pending() false.
 *
 * Threads: worker, in the poll of @self. Blocks: never, except for a lock that a
 * holder keeps for at most tens of microseconds of CPU time, however many timers
 * there are. A holder that is preempted inherits the priority of the thread that
 * waits. Allocates: nothing.
 * Return: 0; -EINVAL (an argument is NULL); -EALREADY (the timer is pending); -EPERM
 * (@self is not being polled).
 */
SKUA_API int skua_timer_add(struct skua_task *self, struct skua_timer *timer,
			    uint64_t when_ns);

/**
 * skua_timer_cancel - cancel a timer
 * @timer: timer in any state; NULL is ignored
 *
 * Threads: any. The program must prevent two calls on the same timer at the same
 * time, skua_timer_add() included. Blocks: as skua_timer_add(). Allocates: nothing.
 * Return: true if the timer was pending: it will not fire. False if it has fired, was
 * never added, or is NULL, and in a child of fork().
 */
SKUA_API bool skua_timer_cancel(struct skua_timer *timer);

/**
 * skua_timer_pending - tell whether a timer was added and has not fired since
 * @timer: timer in any state, or NULL
 *
 * Threads: as skua_timer_cancel(). Blocks: as skua_timer_add(). Allocates: nothing.
 * Return: true while it is pending; false for NULL, and in a child of fork().
 */
SKUA_API bool skua_timer_pending(const struct skua_timer *timer);

/**
 * struct skua_interval - times that follow each other at equal distances
 * @next_ns: time that skua_interval_next() returned last
 * @period_ns: distance of two times
 * @missed: number of times that had passed, and were left out
 *
 *	struct skua_interval interval;
 *
 *	skua_interval_init(&interval, skua_now_ns(), 1000000);
 *	while (skua_sleep_until(skua_interval_next(&interval)) == 0)
 *		sample();
 *
 * However long each round takes, the times do not drift: they are the first one plus
 * multiples of the period. The fields may be read, and are set by these functions.
 */
struct skua_interval {
	uint64_t next_ns;
	uint64_t period_ns;
	uint64_t missed;
};

/**
 * skua_interval_init - begin an interval
 * @interval: memory of the caller
 * @start_ns: time of skua_now_ns(). The first time is one period later
 * @period_ns: 1 or more
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: 0; -EINVAL (@interval is NULL, or @period_ns is 0).
 */
SKUA_API int skua_interval_init(struct skua_interval *interval,
				uint64_t start_ns, uint64_t period_ns);

/**
 * skua_interval_next - return the next time
 * @interval: initialised; used by one thread at a time
 *
 * Times that have passed are left out, except the last one of them: so a caller that was
 * late goes on at once, and then in step again.
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: a time of skua_now_ns(), later than the one before; SKUA_FOREVER_NS at the end
 * of time, and for NULL.
 */
SKUA_API uint64_t skua_interval_next(struct skua_interval *interval);

SKUA_END_DECLS

#endif
