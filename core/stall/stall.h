/* SPDX-License-Identifier: MIT */
/**
 * stall.h - a thread, the watcher, that reports polls that take too long
 *
 * The watcher periodically reads two words of each worker: the task that the worker polls,
 * and the number of the poll. This costs the worker nothing. From the second time that the
 * watcher sees the same poll, it measures that poll.
 *
 * The limit counts the time in which the poll could have gone on: wall time, without the
 * waits of its thread for a CPU. The kernel reports a wait only when it is over. So wall
 * time counts only up to a moment at which the thread is seen asleep, or answers a signal;
 * between such moments only its CPU time counts. The measured time is never more than the
 * true one: a worker that another thread, a control group or SIGSTOP keeps from running
 * is not reported, however long that takes. If a check comes too late, for example after
 * a SIGSTOP of the whole process, only one period counts. A poll that is over its limit is
 * reported when its thread has answered a signal and the next check still sees the poll.
 *
 * Rejected:
 * - CPU time alone: it misses polls that block, the most usual mistake.
 * - Time stamps by the workers: each poll would have to read the clock.
 * - A timer for each worker: its signals would interrupt polls that are no stalls.
 *
 * The task belongs to another thread, and may be freed at any time. So the watcher reads
 * it as another process would, which cannot fault, and trusts the result only if the same
 * poll is still under way afterwards.
 */
#ifndef SKUA_CORE_STALL_STALL_H
#define SKUA_CORE_STALL_STALL_H

#include <pthread.h>

#include "core/config/config.h"
#include "core/stall/usage.h"
#include "core/idle/stall_rest.h"
#include "core/stall/stall_stack.h"
#include "core/loop/worker.h"
#include "skua/stall.h"

/* Only the watcher uses these fields, unless a comment says otherwise. */
struct stall_worker {
	struct worker *worker; /* constant */
	struct stall_stack stack;

	/* The poll that the last check saw: its task, or 0, and its number. */
	uint64_t task;
	uint64_t number;
	bool measured, suspected, told;
	bool answered;     /* @stack has the stack of this poll */
	bool only_counted; /* too soon for another report */
	uint64_t since_ns; /* when a check saw the poll first */
	uint64_t limit_ns;
	const struct skua_task_type *type;
	skua_task_fn poll;
	struct usage first, last; /* valid if measured */
	uint64_t seen_ns;         /* wall time between @first and @last, without
			    * skipped time */
	uint64_t spent_ns; /* the part of seen_ns that counts for the limit */

	uint64_t told_ns;    /* time of the last report; 0: none yet */
	uint64_t suppressed; /* stalls since then that were only counted */
};

struct stall_watch {
	struct stall_rest rest; /* first: pool.rest */
	/* Constant while the thread runs. */
	const struct skua_hooks *hooks;
	uint64_t limit_ns; /* 0: off, there is no watcher */
	int signal;        /* 0: stalls are reported without stacks */
	bool reads_tasks;  /* process_vm_readv() works */
	pid_t pid;
	struct stall_worker *workers;
	/* The number of rounds of checks so far. Writer: the watcher. Readers: any. */
	uint64_t looks;
	/* The time between two rounds. Writer: the watcher. Readers: any. */
	uint64_t period_ns;
	/* Only the watcher uses it. */
	bool lost_signal; /* another handler replaced ours, and it was logged */

	pthread_t thread;
	bool started;
};

/**
 * stall_allocate - allocate what stall detection needs, if @config asks for it
 * @watch: zeroed; the caller releases it with stall_free(), also after a failure
 *
 * Return: 0; -ENOMEM.
 */
int stall_allocate(struct stall_watch *watch, const struct config *config);

void stall_free(struct stall_watch *watch, const struct config *config);

/* stall_init - initialise, after @pool has its workers and before their threads start */
void stall_init(struct stall_watch *watch, struct pool *pool,
		const struct config *config);

/* stall_enter - let the calling worker thread answer the watcher; call before it polls */
void stall_enter(struct worker *worker);

/* stall_start - start the watcher, if @config asks for it. Return: 0 or a negative errno */
int stall_start(struct stall_watch *watch, const struct config *config);

/* stall_stop - end the watcher, before the workers' threads end */
void stall_stop(struct stall_watch *watch);

/* stall_here - tell whether the calling thread is the watcher */
static inline bool stall_here(const struct stall_watch *watch)
{
	return watch->started && pthread_equal(watch->thread, pthread_self());
}

#endif
