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
#ifndef SKUA_CORE_TELEMETRY_TELEMETRY_H
#define SKUA_CORE_TELEMETRY_TELEMETRY_H

#include "core/base/atomic.h"
#include "core/base/tick.h"
#include "core/idle/idle.h"
#include "core/queue/inject_queue.h"
#include "core/telemetry/wait_sample.h"
#include "probes/area.h"
#include "probes/probes.h"
#include "probes/recorder.h"
#include "skua/runtime.h"
#include "skua/task.h"

struct track;

/* Of so many polls one is timed, or more of them. */
#define TELEMETRY_MAX_SAMPLE 1024u

/* Why polls are not simply called. */
#define POLL_CANCEL (1u << 0) /* shutdown: they are told to end */
#define POLL_RECORD (1u << 1) /* some worker records */
#define POLL_TRACE  (1u << 2) /* somebody traces each poll */
#define POLL_TRACK  (1u << 3) /* there is a table of tasks (track.h) */

/* Of a runtime. */
struct telemetry {
	/* Constant while the workers run. */
	struct skua_hooks hooks;
	struct idle *idle;
	struct wait_samples *wait_samples; /* NULL: nothing is timed */
	struct track *track;               /* NULL: tasks are not tracked */

	/* POLL_CANCEL and so on. Writers: a shutdown; workers at the end of a tick.
	 * Readers: workers. */
	atomic_u32 poll_flags;

	/* Other processes read this. */
	struct area_runtime area;
};

/* Of a worker, and its own. */
struct worker_telemetry {
	/* Constant. */
	struct telemetry *shared;
	struct area_worker *area;
	const struct tick *tick;
	/* Tasks that it makes runnable until telemetry_ready() wants to know; those
	 * until one is timed, and of how many that will be one. */
	uint32_t until_ready;
	uint32_t until_sample, stride;
	struct recorder recorder;
	uint64_t sampled;      /* polls, when one was timed last */
	uint64_t attempts;     /* looks into queues that were told of */
	uint64_t hits, polls;  /* that probe_lifo_flush() was told of, */
	uint64_t flush_due_ns; /* and when it is told again */
	uint64_t woken_ns;     /* when the last park ended */
	/* When pollers were last called, or slept in; 0: never. */
	uint64_t pollers_ns;
	/* A steal that nobody was told of yet; count 0: none. */
	struct {
		struct skua_task *task;
		uint32_t count;
		unsigned victim;
	} pending_steal;
};

/* Of the worker that runs on the calling thread; NULL on any other. Initial-exec, as
 * current_worker. */
extern _Thread_local struct worker_telemetry *telemetry_current
	__attribute__((tls_model("initial-exec")));

/* telemetry_tracks - are the tasks in a table? */
static inline bool telemetry_tracks(const struct telemetry *telemetry)
{
	/* Relaxed: constant while the workers run. */
	return atomic_load_relaxed(&telemetry->poll_flags) & POLL_TRACK;
}

/* telemetry_samples_wait - is it the turn of a task from outside, for that queue, to be
 * timed? */
static inline bool telemetry_samples_wait(const struct inject_queue *queue)
{
	/* Relaxed: a number that goes up. */
	return atomic_load_relaxed(&queue->pushed) % WAIT_SAMPLE_EACH == 0;
}

/* telemetry_wants - does anybody want to know of a task from outside? */
static inline bool telemetry_wants(const struct telemetry *telemetry,
				   const struct inject_queue *queue)
{
	/* Relaxed: a request, of which no order is asked. */
	return (atomic_load_relaxed(&telemetry->poll_flags) &
		(POLL_RECORD | POLL_TRACK)) ||
	       telemetry_samples_wait(queue);
}

/* telemetry_init - nothing is reported yet; @shared, @area and @tick are the worker's
 * and stay */
void telemetry_init(struct worker_telemetry *t, struct telemetry *shared,
		    struct area_worker *area, const struct tick *tick);

/* telemetry_destroy - give back what the recorder has */
void telemetry_destroy(struct worker_telemetry *t);

/* telemetry_start, telemetry_stop - the worker's thread begins, and ends */
void telemetry_start(struct worker_telemetry *t);
void telemetry_stop(struct worker_telemetry *t);

/* telemetry_state - the worker does something else from @now_ns on */
void telemetry_state(struct worker_telemetry *t, enum area_state state,
		     uint64_t now_ns);

/* telemetry_check - at the end of a tick: does anybody want to know? */
void telemetry_check(struct worker_telemetry *t, uint64_t now_ns);

void telemetry_park(struct worker_telemetry *t, enum probe_park_reason reason);
/* telemetry_woken - the park has ended; telemetry_unpark() follows */
static inline void telemetry_woken(struct worker_telemetry *t, uint64_t now_ns)
{
	t->woken_ns = now_ns;
}
void telemetry_unpark(struct worker_telemetry *t);

/* telemetry_pollers - the worker is going to call its pollers */
void telemetry_pollers(struct worker_telemetry *t, uint64_t now_ns);

/* telemetry_stolen - a steal has succeeded; telemetry_working() follows */
static inline void telemetry_stolen(struct worker_telemetry *t,
				    struct skua_task *task, uint32_t count,
				    unsigned victim)
{
	t->pending_steal.task = task;
	t->pending_steal.count = count;
	t->pending_steal.victim = victim;
}

/* telemetry_working - the worker has found something to do */
void telemetry_working(struct worker_telemetry *t, uint64_t now_ns);

/* telemetry_job, telemetry_job_end - it works on a job that was forked by @victim */
void telemetry_job(struct worker_telemetry *t, const void *job,
		   unsigned victim);
void telemetry_job_end(struct worker_telemetry *t);

void telemetry_overflow(struct worker_telemetry *t, uint64_t n);
void telemetry_inject(struct worker_telemetry *t, uint64_t n);

/* telemetry_stall - by the thread that watches: a poll of @worker's, of such a task, has
 * taken @ns so far */
void telemetry_stall(struct telemetry *telemetry, unsigned worker,
		     uint64_t task, const void *type, skua_task_fn poll,
		     uint64_t ns);

/* telemetry_ready - the worker makes a task runnable, and until_ready is 0 */
void telemetry_ready(struct worker_telemetry *t, struct skua_task *task);

/* telemetry_ready_outside - a thread that is no worker makes a task runnable, of which
 * somebody wants to know: telemetry_wants() */
void telemetry_ready_outside(struct telemetry *telemetry,
			     const struct inject_queue *queue,
			     struct skua_task *task);

/* telemetry_poll - poll a task that somebody wants to know of */
enum skua_poll telemetry_poll(struct worker_telemetry *t,
			      struct skua_task *task);

/* telemetry_sample_due - is the next poll to be timed? */
bool telemetry_sample_due(const struct worker_telemetry *t);

/* telemetry_sample - a poll took @ns; @type and @poll are what the task had before */
void telemetry_sample(struct worker_telemetry *t, const void *type,
		      skua_task_fn poll, uint64_t ns);

/* telemetry_poll_function - the poll function of a task that is going to be polled, whether
 * its wait is timed or not */
skua_task_fn telemetry_poll_function(const struct telemetry *telemetry,
				     const struct skua_task *task);

#endif
