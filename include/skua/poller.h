/* SPDX-License-Identifier: MIT */
/**
 * poller.h - something else to look at between polls of tasks
 *
 * A program with an event source of its own, such as a network library that is
 * polled, registers a poller with a worker. The worker calls it at the end of
 * each tick (after 50 us of polls or so) and before it goes to sleep. No other
 * worker does: a long poll of that worker delays all that the poller looks at.
 * `skua why` tells of that. Where it matters, give the worker no such tasks.
 */
#ifndef SKUA_POLLER_H
#define SKUA_POLLER_H

#include <skua/base.h>

SKUA_BEGIN_DECLS

struct skua_runtime;

/* What skua_poller.poll returns to be called no more. */
#define SKUA_POLLER_DONE (-1)

/**
 * struct skua_poller - embed it, with the callbacks set and the rest zero
 * @poll: look, and wake the tasks that are due. Return: SKUA_POLLER_DONE: the
 *        memory is the program's again; anything else: call it again
 * @park: NULL, or: wait for something to happen until @deadline_ns, or until
 *        @unpark is called, also if it was called just before. The worker sleeps
 *        here instead, and calls @poll next: to wait is enough, but it may wake
 *        tasks as well. @deadline_ns is a time of skua_now_ns(), which may have
 *        passed, or SKUA_FOREVER_NS.
 * @unpark: end a park, or the next one; any thread, also in a signal handler that
 *        wakes a task; never two calls at once, and none after
 *        skua_runtime_destroy() has returned. Needed with @park.
 * @next: the library's
 *
 * Without @park, the worker does not sleep at all as long as it has the poller:
 * it has to be polled. In a caller-driven runtime @park is not called, and
 * skua_runtime_poll() never finds the runtime idle, so that its descriptor is always
 * readable: a loop with such a poller waits for the program's own descriptors and for
 * the next timer, and then calls skua_runtime_poll(). skua_runtime_block_on(),
 * skua_runtime_drain() and skua_runtime_shutdown() do not wait for what the poller
 * looks at either: if only the poller can wake a task that they wait for, another
 * thread has to call skua_runtime_poll().
 *
 * A poller keeps no drain and no destroy waiting. The callbacks may do what
 * base.h lets a worker do.
 */
struct skua_poller {
	int (*poll)(struct skua_poller *self) SKUA_NOEXCEPT;
	void (*park)(struct skua_poller *self,
		     uint64_t deadline_ns) SKUA_NOEXCEPT;
	void (*unpark)(struct skua_poller *self) SKUA_NOEXCEPT;
	struct skua_poller *next;
};

/**
 * skua_runtime_add_poller - register a poller
 * @rt: live runtime, borrowed
 * @worker: index of the worker that calls it
 * @poller: the program's, in place until its poll has returned
 *          SKUA_POLLER_DONE, or the runtime was shut down
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: 0; -EINVAL (an argument is NULL, no poll, park without unpark, or no
 * such worker); -EEXIST (it has a park, as another poller of the worker has: a
 * worker can sleep in one only. The other one's place is free shortly after its poll
 * has returned SKUA_POLLER_DONE); -ESHUTDOWN.
 */
SKUA_API int skua_runtime_add_poller(struct skua_runtime *rt, unsigned worker,
				     struct skua_poller *poller);

SKUA_END_DECLS

#endif
