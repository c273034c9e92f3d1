/* SPDX-License-Identifier: MIT */
/**
 * poller.h - event sources that a worker checks between polls of tasks
 *
 * A program with an event source of its own, such as a network library that must be
 * polled, registers a poller with a worker. That worker calls the poller at the end
 * of each tick (after about 50 us of polls) and before it sleeps. No other worker
 * calls it: a long poll on that worker delays all events of the poller. `skua why`
 * reports such delays. Where they matter, keep long tasks off that worker.
 */
#ifndef SKUA_POLLER_H
#define SKUA_POLLER_H

#include <skua/base.h>

SKUA_BEGIN_DECLS

struct skua_runtime;

/* The value that skua_poller.poll returns when it must not be called again. */
#define SKUA_POLLER_DONE (-1)

/**
 * struct skua_poller - an event source; embed it, set the callbacks, and zero the
 * other fields
 * @poll: check for events, without blocking, and wake the tasks that are due. Return
 *        SKUA_POLLER_DONE to unregister the poller: its memory then belongs to the
 *        program again. Any other value: call it again
 * @park: wait until an event comes, until @deadline_ns, or until @unpark is called,
 *        also if that happened just before. The worker sleeps in this call, and calls
 *        @poll after it. It may wake tasks itself, but need not. @deadline_ns is a
 *        time of skua_now_ns(), which may have passed, or SKUA_FOREVER_NS. May be
 *        NULL
 * @unpark: end a park, or the next one if none is in progress. Any thread may call
 *          it, also in a signal handler that wakes a task; there are never two calls
 *          at once, and none after skua_runtime_destroy() has returned. Needed if
 *          @park is set
 * @next: private to the library
 *
 * A worker that has a poller without @park never sleeps, because it must poll.
 *
 * In a caller-driven runtime, @park is not called, and a poller keeps the runtime
 * from becoming idle: skua_runtime_poll() never returns 0, and the descriptor is
 * always readable. A loop with such a poller therefore waits for its own descriptors
 * and for the next timer, and then calls skua_runtime_poll().
 * skua_runtime_block_on(), skua_runtime_drain() and skua_runtime_shutdown() do not
 * wait for the events of the poller either: if only the poller can wake a task that
 * they wait for, another thread must call skua_runtime_poll().
 *
 * A registered poller does not delay a drain or a destroy. The callbacks may call the
 * functions that skua/base.h allows on a worker.
 */
struct skua_poller {
	int (*poll)(struct skua_poller *self) SKUA_NOEXCEPT;
	void (*park)(struct skua_poller *self,
		     uint64_t deadline_ns) SKUA_NOEXCEPT;
	void (*unpark)(struct skua_poller *self) SKUA_NOEXCEPT;
	struct skua_poller *next;
};

/**
 * skua_runtime_add_poller - register a poller with a worker
 * @rt: live runtime, borrowed
 * @worker: index of the worker that calls the poller, below skua_runtime_workers()
 * @poller: owned by the program; stays in place until its poll has returned
 *          SKUA_POLLER_DONE, or the runtime was shut down
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: 0; -EINVAL (a pointer is NULL, @poller has no poll, or a park without
 * unpark, or there is no such worker); -EEXIST (@poller has a park, but the worker
 * already has a poller with one, and can sleep in only one; it accepts another park
 * shortly after the poll of that poller has returned SKUA_POLLER_DONE); -ESHUTDOWN
 * (the runtime is shutting down).
 */
SKUA_API int skua_runtime_add_poller(struct skua_runtime *rt, unsigned worker,
				     struct skua_poller *poller);

SKUA_END_DECLS

#endif
