/* SPDX-License-Identifier: MIT */
/**
 * wait.h - how tasks and threads wait for the objects of the library
 *
 * Each operation that may have to wait has up to three forms. Those of a mutex, for
 * example:
 *
 *	skua_mutex_lock(mutex, deadline_ns)
 *		Waits: a fiber is suspended, and an outside thread sleeps. In a poll, in
 *		a job, and anywhere inside skua_run(), it returns -EDEADLK instead, also
 *		if it need not wait. Only the call of a fiber that forks, or is inside
 *		skua_run(), may succeed if it need not wait.
 *	skua_mutex_lock_poll(self, mutex, wait, deadline_ns)
 *		For polls. Never waits. -EAGAIN means that @wait is armed: return
 *		SKUA_PENDING, and call the function again, with the same arguments, in
 *		the next poll.
 *	skua_mutex_lock_try(mutex)
 *		Never waits and arms nothing. -EAGAIN means "not now".
 *
 * A deadline is a time of skua_now_ns(); SKUA_FOREVER_NS: none. With 0, or a time that
 * has passed, the call tries once, and returns -ETIMEDOUT if it would have to wait, or
 * -ECANCELED if the task was cancelled.
 *
 * A deadline and a cancel (skua_task_cancel()) only make the task run; the waiting
 * call itself then gives up. A call that returns an error has had no effect: after
 * -ETIMEDOUT and -ECANCELED the lock is not held, no permit was taken, and the library
 * no longer uses @wait. If what was waited for came first, the call returns 0, even if
 * the deadline has passed or the task was cancelled. A cancelled task may still make
 * calls that need not wait. The next call that would have to wait returns -ECANCELED.
 *
 * A shutdown with SKUA_SHUTDOWN_CANCEL cancels all tasks: each wait of a fiber, and each
 * wait of a poll that has a deadline, returns -ECANCELED. It does not wake a poll that waits
 * without a deadline: keep such tasks in a group, and cancel the group first. Between
 * skua_cancel_mask() and skua_cancel_unmask(), waits of a fiber go on until they are granted
 * what they wait for, or until their deadline. Waits of outside threads go on as well.
 *
 * A release function (skua_release_fn) may run within any call that wakes a task, such
 * as an unlock. So it must not make calls that wait; the forms _try are allowed.
 */
#ifndef SKUA_WAIT_H
#define SKUA_WAIT_H

#include <skua/base.h>
#include <skua/timer.h>

SKUA_BEGIN_DECLS

struct skua_task;
struct skua_wait;

/* The list of those that wait for an object; private to the library. */
struct skua_waiters {
	uint32_t lock;
	uint32_t count;
	struct skua_wait *first;
	struct skua_wait *last;
};

/**
 * struct skua_wait - one wait of a task, for a function that ends in _poll
 *
 * Embed one in the struct of a task for each object that the task waits for at the
 * same time, zeroed or set to SKUA_WAIT_INIT. The fields are private to the library.
 * The memory must stay in place while the wait is armed: from a return of -EAGAIN
 * until the same function returns anything else, or skua_wait_cancel() returns 0.
 *
 * An armed wait counts as a waker of its task. If the task is done before, it does not
 * end until the object is granted to the wait, and keeps it for ever: cancel the wait
 * first. A debug build of the library ends the process then, with a message that names
 * the type of the task. Until then, `skua waits` shows such a task.
 */
struct skua_wait {
	/* private: to the library */
	struct skua_wait *link[2];
	void *object;
	uintptr_t waiter;
	const void *verb;
	uint64_t since_ns;
	uint64_t amount;
	uint32_t phase;
	union {
		uint16_t stage; /* how far the operation has come */
		/* of a select: references that no wait of a case holds */
		uint16_t references;
		/* of a call on a descriptor: it looks for something that other calls
		 * do not see */
		uint16_t aside;
		uint16_t delay; /* of such a call: the number of its delay */
	};
	uint8_t given;
	uint8_t in_select;
	int32_t code;
	uint32_t noted;
	struct skua_timer timer;
};

/* clang-format off */
#define SKUA_WAIT_INIT \
	{ { NULL, NULL }, NULL, 0, NULL, 0, 0, 0, { 0 }, 0, 0, 0, 0, SKUA_TIMER_INIT }
/* clang-format on */

/**
 * skua_wait_cancel - give up a wait, so that the task can turn to something else
 * @self: task that is being polled
 * @wait: wait of @self, armed or not
 *
 * Threads: worker, in the poll of @self. Blocks: never, except for a lock that is held
 * for less than a microsecond. Allocates: nothing.
 * Return: 0 (the wait is not armed any more, and had no effect); -EALREADY (it was
 * granted: call the function that armed it again, now or after the wake-up that is on
 * its way, to get the result, or -EAGAIN if it has to wait for a mutex again); -EINVAL
 * (an argument is NULL, or @wait is armed for another task); -EPERM (@self is not being
 * polled).
 */
SKUA_API int skua_wait_cancel(struct skua_task *self, struct skua_wait *wait);

/**
 * skua_wait_armed - tell whether a wait is armed
 * @wait: wait of a task that is being polled by the calling thread, or NULL
 *
 * Threads: worker, in the poll of the task that waits. Blocks: never. Allocates:
 * nothing.
 * Return: true from a return of -EAGAIN until the wait is over; false for NULL.
 */
SKUA_API bool skua_wait_armed(const struct skua_wait *wait);

/**
 * skua_sleep_until - sleep until a time
 * @when_ns: time of skua_now_ns(); SKUA_FOREVER_NS: until the fiber is cancelled
 *
 * Threads: fibers and outside threads. Blocks: the fiber or thread, until @when_ns.
 * Allocates: nothing.
 * Return: 0 (the time has come); -ECANCELED (the fiber was cancelled, even if the time has
 * come as well); -EDEADLK (called in a poll, in a job, inside skua_run(), or by a fiber with
 * a context of skua_task_ctx()).
 */
SKUA_API int skua_sleep_until(uint64_t when_ns);

SKUA_END_DECLS

#endif
