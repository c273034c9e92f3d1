/* SPDX-License-Identifier: MIT */
/**
 * blocking.h - run functions that block their thread outside the workers
 *
 * A poll or a fiber that blocks its thread holds up a worker, and all tasks of that
 * worker. A runtime therefore has a pool of threads for such calls: lookups of names,
 * operations on files, libraries that wait. Do not use the pool for computation, which
 * gains nothing from more threads than CPUs (see skua/fork.h).
 *
 * Threads. The pool starts without threads, and creates one when a call comes and no
 * thread is idle, up to blocking_threads of the configuration. A thread that has been
 * idle for blocking_idle_ns ends. The threads are named "skua-block", may run on all
 * CPUs of the runtime, and block the signals that workers block. Their calls may use
 * the library as outside threads do.
 *
 * Order. Calls begin in the order in which they came. At most blocking_queued calls
 * are queued for a thread. Further callers wait for a place in the queue, also in
 * their order; nothing is refused because the pool is busy.
 *
 * Deadlines and cancels (skua/wait.h) apply until a thread begins a call. From then on
 * nothing ends it, and its caller waits until it has returned. A call always has to
 * wait; so one with a deadline that has passed returns -ETIMEDOUT, and does not run.
 *
 * If the kernel refuses a thread while the pool has none, the queued calls fail with
 * -ENOMEM, or with another error of pthread_create(), and the log says what to check.
 * If the pool has a thread, calls wait for it.
 */
#ifndef SKUA_BLOCKING_H
#define SKUA_BLOCKING_H

#include <skua/wait.h>

SKUA_BEGIN_DECLS

struct skua_runtime;

/**
 * struct skua_blocking - a call for the pool
 * @run: the function. The library calls it at most once for each call, on a thread of
 *       the pool. It must return; see SKUA_NOEXCEPT
 * @wait: private to the library, except that skua_wait_armed() and skua_wait_cancel()
 *        may be used on it
 *
 * Embed it in a struct that has the arguments and the result, and set it to
 * SKUA_BLOCKING_INIT. Its memory must stay in place until skua_blocking_call() returns,
 * or from a skua_blocking_start() that returns 0 or -EAGAIN until the call is over:
 * skua_blocking_start() or skua_blocking_poll() has returned something else, or
 * skua_wait_cancel() has returned 0. Then it may be used for another call.
 */
struct skua_blocking {
	void (*run)(struct skua_blocking *self) SKUA_NOEXCEPT;
	struct skua_wait wait;
};

/* clang-format off */
#define SKUA_BLOCKING_INIT(run) { (run), SKUA_WAIT_INIT }
/* clang-format on */

/**
 * skua_blocking_call - run a function on the pool, and wait until it has returned
 * @rt: live runtime, borrowed
 * @call: memory of the caller
 * @deadline_ns: time of skua_now_ns() at which to give up while the call has not
 *               begun, or SKUA_FOREVER_NS
 *
 * On a thread of the pool of @rt, the call runs the function directly, whatever the
 * deadline.
 *
 * Threads: fibers and outside threads. Blocks: the fiber or thread, until the function
 * has returned, or the call gives up. Allocates: nothing; may create a thread.
 * Order: what the caller did before is visible to the function, and what the function
 * did is visible after a return of 0.
 * Return: 0 (the function has returned); -ETIMEDOUT, -ECANCELED (it was not called, and
 * will not be); -ENOMEM, or another error of pthread_create() (there is no thread: see
 * above); -ESHUTDOWN (an outside thread calls during a shutdown); -EINVAL (an argument,
 * or its function, is NULL); -EDEADLK (the caller must not wait: it is in a poll, in a
 * job, inside skua_run(), or a fiber with a context of skua_task_ctx()).
 */
SKUA_API int skua_blocking_call(struct skua_runtime *rt,
				struct skua_blocking *call,
				uint64_t deadline_ns);

/**
 * skua_blocking_start - queue a call for the pool, in a poll
 * @self: task that is being polled
 * @call: memory of the caller; each call that is under way needs its own
 * @deadline_ns: time of skua_now_ns() at which to give up while there is no place in
 *               the queue, or SKUA_FOREVER_NS
 *
 * After 0, @self may go on, or start further calls. It must not be done before
 * skua_blocking_poll() has told the end of each.
 *
 * Threads: worker, in the poll of @self. Blocks: never. Allocates: nothing; may create
 * a thread.
 * Return: 0 (the call is queued, has begun, or has ended); -EAGAIN (the queue is full:
 * return SKUA_PENDING, and call again); -EPERM (@self is not being polled); -EINVAL (an
 * argument, or the function, is NULL, or @call is under way for another task); otherwise
 * as skua_blocking_call(), and the call is over.
 */
SKUA_API int skua_blocking_start(struct skua_task *self,
				 struct skua_blocking *call,
				 uint64_t deadline_ns);

/**
 * skua_blocking_poll - get the end of a call, in a poll
 * @self: task that is being polled
 * @call: skua_blocking_start() has returned 0 for it
 * @deadline_ns: as for skua_blocking_call()
 *
 * Threads: worker, in the poll of @self. Blocks: never. Allocates: nothing.
 * Order: as skua_blocking_call().
 * Return: -EAGAIN (the function has not returned: return SKUA_PENDING, and call again);
 * -EPERM (@self is not being polled); -EINVAL (an argument is NULL, or @call was not
 * started by @self); otherwise as skua_blocking_call(), and the call is over.
 */
SKUA_API int skua_blocking_poll(struct skua_task *self,
				struct skua_blocking *call,
				uint64_t deadline_ns);

SKUA_END_DECLS

#endif
