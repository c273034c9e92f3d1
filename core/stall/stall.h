/* SPDX-License-Identifier: MIT */
/**
 * stall.h - a thread that reports polls which take too long
 *
 * It looks at the workers from time to time: the word that says which task a
 * worker polls, and the number of the poll. A worker that polls pays nothing for it. A
 * poll that is seen twice is measured from then on.
 *
 * The limit counts the time in which the poll could have gone on: wall time without the
 * waits of its thread for a CPU. The kernel says how long the thread has waited, which
 * it knows when the wait is over; so wall time counts only when the thread is seen
 * asleep, or answers, and between such moments only the CPU time that it had. All of
 * that is less than the truth, if anything: a worker that another thread, a control
 * group or SIGSTOP keeps from running is not reported, however long that takes. Of a
 * look that comes too late, as after a SIGSTOP of the whole process, only the time from
 * one look to the next counts. And a poll that is over its limit is reported when its
 * thread has answered a signal, and the poll goes on at the next look.
 *
 * Rejected: CPU time alone, which does not see a poll that blocks, the most usual
 * mistake; times that workers note, which cost each poll a look at the clock; a
 * timer a worker, whose signals interrupt those that are well.
 *
 * The task is another thread's, and may be gone at any time: it is read as another
 * process would do that, so that nothing can fault, and is believed if the same
 * poll is under way afterwards.
 */
#ifndef SKUA_CORE_STALL_STALL_H
#define SKUA_CORE_STALL_STALL_H

#include <pthread.h>

#include "core/config/config.h"
#include "core/os/usage.h"
#include "core/idle/stall_rest.h"
#include "core/stall/stall_stack.h"
#include "core/loop/worker.h"
#include "skua/stall.h"

/* The watcher's own, except where a comment says otherwise. */
struct stall_worker {
	struct worker *worker; /* constant */
	struct stall_stack stack;

	/* The poll that was seen last: its task, or 0, and its number. */
	uint64_t task;
	uint64_t number;
	bool measured, suspected, told;
	bool answered;     /* the stack is that of this poll */
	bool only_counted; /* it is not reported */
	uint64_t since_ns; /* when it was seen first */
	uint64_t limit_ns;
	const struct skua_task_type *type;
	skua_task_fn poll;
	struct usage first, last; /* if measured */
	uint64_t seen_ns;         /* between these, as far as it counts */
	uint64_t spent_ns;        /* of that, not waiting for a CPU */

	uint64_t told_ns; /* of the last report; 0: none yet */
	uint64_t suppressed;
};

struct stall_watch {
	struct stall_rest rest; /* first: pool.rest */
	/* Constant while the thread runs. */
	const struct skua_hooks *hooks;
	uint64_t limit_ns; /* 0: there is no thread */
	int signal;        /* 0: none */
	bool reads_tasks;  /* tasks can be read */
	pid_t pid;
	struct stall_worker *workers;
	/* How often it has looked at all. Readers: any. */
	uint64_t looks;
	uint64_t period_ns; /* between two looks. Readers: any */
	/* The watcher's own. */
	bool lost_signal; /* and it was said */

	pthread_t thread;
	bool started;
};

/**
 * stall_allocate - what is needed, if @config asks for it
 * @watch: zeroed; to be given to stall_free(), also on failure
 *
 * Return: 0; -ENOMEM.
 */
int stall_allocate(struct stall_watch *watch, const struct config *config);

void stall_free(struct stall_watch *watch, const struct config *config);

/* stall_init - when @pool has its workers, before their threads start */
void stall_init(struct stall_watch *watch, struct pool *pool,
		const struct config *config);

/* stall_enter - by the worker's thread, before it polls: it answers */
void stall_enter(struct worker *worker);

/* stall_start - start the thread, if one is wanted; a negative errno value */
int stall_start(struct stall_watch *watch, const struct config *config);

/* stall_stop - end it, before the workers do */
void stall_stop(struct stall_watch *watch);

/* stall_here - is the calling thread the one that watches? */
static inline bool stall_here(const struct stall_watch *watch)
{
	return watch->started && pthread_equal(watch->thread, pthread_self());
}

#endif
