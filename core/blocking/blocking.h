/* SPDX-License-Identifier: MIT */
/**
 * blocking.h - a pool of threads for calls that block
 *
 * A call is a wait (core/wait/wait.h) whose amount is the address of the call: armed
 * while it is queued, chosen while a thread runs it, and granted when it has returned. A
 * wait that was chosen cannot be withdrawn; so deadlines and cancels apply to queued calls
 * only. The threads that have nothing to do are armed waits, too.
 *
 *	waiters  calls that are queued for a thread, at most max_queued
 *	places   calls of callers that wait for a place in that queue
 *	idle     threads that sleep, the one that began last first
 *
 * The list lock of waiters guards all three lists, and all other fields.
 *
 * Invariants, whenever no thread has the lock:
 * B1: if a call is queued, a thread exists that is not idle. It may run a call, be on its
 * way from its sleep, or be about to be created. Each such thread looks at the queue,
 * under the lock, before it is idle again or ends.
 * B2: a call waits for a place only if max_queued calls are queued.
 * B3: a thread that is counted has not ended, and has not decided to: it stops being
 * counted under the lock under which it has seen that no call is queued.
 *
 * By B1 and B3, no call is left when an idle thread ends at the moment at which the call
 * comes: either the call finds the thread in the list, and wakes it, or it finds that
 * there is one thread fewer, and creates one.
 *
 * Rejected: a mutex, and a condition for idle threads. Callers are tasks, fibers and
 * threads with deadlines, for which waits exist; with a second kind of lock beside them,
 * both would have to be held to let a queued call begin.
 *
 * Rejected: a fiber that steps onto a thread of the pool, between an enter and a leave, and
 * goes on there on its own stack. Its poll must return, so that the worker goes on. From then
 * on the task is waiting (core/task/task_state.h), and each wake-up makes it runnable: a waker
 * that the program keeps, a cancel, a late timer. A worker would then switch to a stack on
 * which the thread of the pool runs. So tasks would need one more state, with transitions for
 * wakes, cancels, joins and the shutdown; and each function that asks for the worker of the
 * calling fiber would need a form without one: forks, waits, the budget of descriptors, and
 * what a worker reports of a poll. A call on the pool does the same with a function of the
 * program: the fiber waits, as for any other object, and the function reaches the fiber's
 * variables through its argument.
 */
#ifndef SKUA_CORE_BLOCKING_BLOCKING_H
#define SKUA_CORE_BLOCKING_BLOCKING_H

#include <pthread.h>

#include "core/config/config.h"
#include "core/loop/pool.h"
#include "core/wait/wait.h"
#include "probes/area.h"
#include "skua/blocking.h"
#include "skua/sync.h"

struct blocking {
	struct area_blocking area; /* first. Tools read it */
	struct skua_waiters waiters;
	struct skua_waiters places;
	struct skua_waiters idle;
	/* Half of the threads, for lookups of names, which would otherwise hold up all
	 * other calls. Needs no lock. */
	struct skua_semaphore lookups;
	bool stopping;
	uint64_t told_ns; /* when the log last said that there is no thread */
	/* The last thread that has ended, which has joined the one before; valid if
	 * has_ended. */
	bool has_ended;
	pthread_t ended;
	/* Constant. */
	uint64_t idle_ns;
	const struct pool *pool;
	const struct config *config;
};

/* The pool whose thread calls; NULL: none. Initial-exec, like current_worker. */
extern _Thread_local const struct blocking *blocking_here
	__attribute__((visibility("hidden"), tls_model("initial-exec")));

/* blocking_init - @blocking: zeroed; @pool, @config: borrowed */
void blocking_init(struct blocking *blocking, const struct pool *pool,
		   const struct config *config);

/* blocking_stop - end all threads; no call is under way, and none may come */
void blocking_stop(struct blocking *blocking);

/* The verbs of a call: of a fiber or a thread, and of a poll. The object is the pool, and
 * the amount is the address of the call. */
extern const struct wait_verb blocking_await
	__attribute__((visibility("hidden")));
extern const struct wait_verb blocking_poll
	__attribute__((visibility("hidden")));

/* blocking_has_place - does the call of a wait no longer wait for a place in the queue?
 * @wait: was armed by blocking_poll and has not been taken since */
bool blocking_has_place(struct blocking *blocking,
			const struct skua_wait *wait);

#endif
