/* SPDX-License-Identifier: MIT */
/**
 * timer.h - wake a task at a time
 *
 * Times are nanoseconds of CLOCK_MONOTONIC, rounded up to a multiple of 256. A
 * timer never fires early, except in a shutdown that cancels; how late depends
 * on the polls: each worker looks at all timers after each 50 us of polls or
 * so, and an idle one sleeps until the first is due. Timers of the same 256 ns
 * fire in any order.
 */
#ifndef SKUA_TIMER_H
#define SKUA_TIMER_H

#include <skua/base.h>

SKUA_BEGIN_DECLS

struct skua_task;

/**
 * struct skua_timer - embed it, zeroed or set to SKUA_TIMER_INIT
 *
 * The fields are the library's. Its memory must stay in place while it is
 * pending. While it is, it counts as a waker of its task: one that is not
 * cancelled before the task is done keeps it from ending until it fires. Once
 * the runtime of its task is destroyed, no call on it is allowed; it may be set
 * to SKUA_TIMER_INIT and used with another one.
 */
struct skua_timer {
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

/* skua_now_ns - the time, as timers have it
 *
 * Threads: any. Blocks: never. Allocates: nothing. */
SKUA_API uint64_t skua_now_ns(void);

/**
 * skua_timer_add - wake a task at a time
 * @self: the task that is being polled
 * @timer: not pending
 * @when_ns: time of skua_now_ns(); the timer is due at once if that has passed, and
 *      never if it is SKUA_FOREVER_NS
 *
 * Once the timer has fired it may be added again, or freed: the poll that
 * follows finds skua_timer_pending() false.
 *
 * Threads: worker, in the poll of @self. Blocks: never, except for a lock that is
 * held for tens of microseconds of CPU time at most, however many timers there are.
 * A holder that is preempted inherits the priority of the thread that waits.
 * Allocates: nothing.
 * Return: 0; -EINVAL (NULL); -EALREADY (it is pending); -EPERM (@self is not
 * being polled).
 */
SKUA_API int skua_timer_add(struct skua_task *self, struct skua_timer *timer,
			    uint64_t when_ns);

/**
 * skua_timer_cancel - take a timer back
 * @timer: any
 *
 * Threads: any, but no other call on @timer, an add included, at the same time:
 * the program orders them. Blocks: as skua_timer_add(). Allocates: nothing.
 * Return: true if it was pending: it will not fire. False if it has fired, or
 * was never added, or for NULL, or in a child of fork().
 */
SKUA_API bool skua_timer_cancel(struct skua_timer *timer);

/**
 * skua_timer_pending - has the timer been added, and not fired since?
 * @timer: as for skua_timer_cancel()
 *
 * Threads: as skua_timer_cancel(). Blocks: likewise. Allocates: nothing.
 * Return: false for NULL, and in a child of fork().
 */
SKUA_API bool skua_timer_pending(const struct skua_timer *timer);

SKUA_END_DECLS

#endif
