/* SPDX-License-Identifier: MIT */
/**
 * poller.h - something else to look at between polls of tasks
 *
 * A program with an event source of its own, such as a network library that
 * is polled, registers a poller with a worker. The worker calls it at the end
 * of each tick (after 50 us of polls or so) and before it goes to sleep.
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
 * @poll: look, and wake the tasks that are due. Return: 0 (found nothing), 1
 *        (found something), or SKUA_POLLER_DONE: the memory is the program's
 *        again
 * @park: NULL, or: wait for something to happen until @deadline_ns, a time of
 *        skua_now_ns(), UINT64_MAX for ever, or until @unpark is called, also
 *        if it was called just before. The worker sleeps here instead. Only
 *        one poller of a worker may have it.
 * @unpark: end a park, or the next one; any thread, also in a signal handler
 *        that wakes a task. Needed with @park.
 *
 * Without @park, the worker does not sleep at all as long as it has the
 * poller: it has to be polled. In a caller-driven runtime skua_runtime_poll()
 * then never finds it idle; and @park is not called: the program waits for
 * what the poller looks at by itself, and then calls skua_runtime_poll().
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
 * @worker: index of the worker that is to call it
 * @poller: the program's, in place until its poll has returned
 *          SKUA_POLLER_DONE, or the runtime was shut down
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: 0; -EINVAL (an argument is NULL, no poll, park without unpark, or no
 * such worker); -ESHUTDOWN.
 */
SKUA_API int skua_runtime_add_poller(struct skua_runtime *rt, unsigned worker,
				     struct skua_poller *poller);

SKUA_END_DECLS

#endif
