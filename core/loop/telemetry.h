/* SPDX-License-Identifier: MIT */
/**
 * telemetry.h - what a worker tells of what it does
 *
 * To other processes: its state and times, how long parks, steals, polls and
 * waits take (probes/area.h). To tracers: the probes. To the recorder: events. To
 * the program: the hooks. All by the worker itself, and none of it in the way of
 * a task while nobody wants to know: times are taken where the worker leaves its
 * tasks, and of the polls now and then one is timed.
 */
#ifndef SKUA_CORE_LOOP_TELEMETRY_H
#define SKUA_CORE_LOOP_TELEMETRY_H

#include "core/base/atomic.h"
#include "probes/probes.h"
#include "probes/recorder.h"
#include "skua/task.h"

struct inject_queue;
struct pool;
struct worker;

/* Of so many polls one is timed, or more of them. */
#define TELEMETRY_MAX_SAMPLE 1024u

/* The worker's own. */
struct telemetry {
	/* Tasks that it makes runnable until telemetry_ready() wants to know; those
	 * until one is to be timed, and of how many that will be one. */
	uint32_t until_ready;
	uint32_t until_sample, stride;
	struct recorder recorder;
	uint64_t sampled;      /* polls, when one was timed last */
	uint64_t attempts;     /* looks into queues that were told of */
	uint64_t hits, polls;  /* that probe_lifo_flush() was told of, */
	uint64_t flush_due_ns; /* and when it is to be told again */
	uint64_t woken_ns;     /* when the last park ended */
	uint64_t
		looked_ns; /* when pollers were last called, or slept in; 0: never */
	/* A steal that is not told of yet; stolen 0: none. */
	struct skua_task *loot;
	uint32_t stolen;
	unsigned victim;
};

/* telemetry_init - nothing is told yet */
void telemetry_init(struct worker *w);

/* telemetry_destroy - give back what the recorder has */
void telemetry_destroy(struct worker *w);

/* telemetry_start, telemetry_stop - the worker's thread begins, and ends */
void telemetry_start(struct worker *w);
void telemetry_stop(struct worker *w);

/* telemetry_state - the worker does something else from @now_ns on */
void telemetry_state(struct worker *w, enum area_state state, uint64_t now_ns);

/* telemetry_check - at the end of a tick: does anybody want to know? */
void telemetry_check(struct worker *w, uint64_t now_ns);

void telemetry_park(struct worker *w, enum probe_park_reason reason);
/* telemetry_woken - the park has ended; telemetry_unpark() is to follow */
static inline void telemetry_woken(struct telemetry *telemetry, uint64_t now_ns)
{
	telemetry->woken_ns = now_ns;
}
void telemetry_unpark(struct worker *w);

/* telemetry_pollers - the worker is going to call its pollers */
void telemetry_pollers(struct worker *w, uint64_t now_ns);

/* telemetry_stolen - a steal has succeeded; telemetry_working() is to follow */
static inline void telemetry_stolen(struct telemetry *telemetry,
				    struct skua_task *task, uint32_t count,
				    unsigned victim)
{
	telemetry->loot = task;
	telemetry->stolen = count;
	telemetry->victim = victim;
}

/* telemetry_working - the worker has found something to do */
void telemetry_working(struct worker *w, uint64_t now_ns);

/* telemetry_job, telemetry_job_end - it works on a job that was forked by @victim */
void telemetry_job(struct worker *w, const void *job, unsigned victim);
void telemetry_job_end(struct worker *w);

void telemetry_overflow(struct worker *w, uint64_t n);
void telemetry_inject(struct worker *w, uint64_t n);

/* telemetry_stall - by the thread that watches: a poll of @worker's, of such a task, has
 * taken @ns so far */
void telemetry_stall(const struct worker *worker, uint64_t task,
		     const void *type, skua_task_fn poll, uint64_t ns);

/* telemetry_ready - the worker makes a task runnable, and until_ready is 0 */
void telemetry_ready(struct worker *w, struct skua_task *task);

/* telemetry_ready_outside - a thread that is no worker makes a task runnable, of which
 * somebody wants to know: pool_cares() */
void telemetry_ready_outside(struct pool *pool,
			     const struct inject_queue *queue,
			     struct skua_task *task);

/* telemetry_poll - poll a task that somebody wants to know of */
enum skua_poll telemetry_poll(struct worker *w, struct skua_task *task);

/* telemetry_sample_due - is the next poll to be timed? */
bool telemetry_sample_due(const struct worker *w);

/* telemetry_sample - a poll took @ns; @type and @poll are what the task had before */
void telemetry_sample(struct worker *w, const void *type, skua_task_fn poll,
		      uint64_t ns);

/* telemetry_poll_function - the poll function of a task that is going to be polled, whether
 * its wait is timed or not */
skua_task_fn telemetry_poll_function(const struct pool *pool,
				     const struct skua_task *task);

#endif
