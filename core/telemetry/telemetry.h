/* SPDX-License-Identifier: MIT */
/**
 * telemetry.h - report what a worker does
 *
 * A worker reports to other processes its state and times, and how long parks,
 * steals, polls and waits take (probes/area.h); to tracers, by probes; to the
 * recorder, by events; and to the program, by hooks. The worker does all of
 * this itself, and delays no task while none of them asks for it: it reads the
 * clock where it leaves its tasks, and times only some of the polls.
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

/* At least one poll in this many is timed. */
#define TELEMETRY_MAX_SAMPLE 1024u

/* The reasons why polls take the slow path. */
/* Shutdown: polls learn that their task is cancelled. */
#define POLL_CANCEL (1u << 0)
#define POLL_RECORD (1u << 1) /* some worker records events */
#define POLL_TRACE  (1u << 2) /* a tracer traces each poll */
#define POLL_TRACK  (1u << 3) /* the runtime has a table of tasks (track.h) */
/* No reason of its own: beside POLL_CANCEL, while the shutdown looks at the stacks of
 * fibers (fiber_cancel.h). */
#define POLL_STACKS (1u << 4)

/* The telemetry of a runtime. */
struct telemetry {
	/* Constant while the workers run. */
	struct skua_hooks hooks;
	struct idle *idle;
	struct wait_samples *wait_samples; /* NULL: nothing is timed */
	struct track *track;               /* NULL: tasks are not tracked */

	/* A set of POLL_CANCEL and so on. Writers: a shutdown; workers in
	 * telemetry_check(). Readers: workers; threads that queue tasks. */
	atomic_u32 poll_flags;

	/* Other processes read this. */
	struct area_runtime area;
};

/* The telemetry of a worker; only that worker uses it. */
struct worker_telemetry {
	/* Constant. */
	struct telemetry *shared;
	struct area_worker *area;
	const struct tick *tick;
	/* until_ready: the number of tasks that the worker makes runnable
	 * before its next call of telemetry_ready(); until_sample: the number
	 * before the next task that is timed; stride: the number of tasks that
	 * the timed one stands for. */
	uint32_t until_ready;
	uint32_t until_sample, stride;
	struct recorder recorder;
	uint64_t sampled;      /* count of polls at the last timed one */
	uint64_t attempts;     /* steal attempts reported by now */
	uint64_t hits, polls;  /* as of the last probe_lifo_flush() */
	uint64_t flush_due_ns; /* when it fires next */
	uint64_t woken_ns;     /* when the last park ended */
	/* When the worker last called its pollers, or slept in one; 0:
	 * never. */
	uint64_t pollers_ns;
	/* A steal that is not reported yet; count 0: none. */
	struct {
		struct skua_task *task;
		uint32_t count;
		unsigned victim;
	} pending_steal;
};

/* The telemetry of the worker that runs on the calling thread; NULL on any
 * other thread. Initial-exec, like current_worker. */
extern _Thread_local struct worker_telemetry *telemetry_current
	__attribute__((tls_model("initial-exec")));

/* telemetry_tracks - does the runtime have a table of tasks? */
static inline bool telemetry_tracks(const struct telemetry *telemetry)
{
	/* Relaxed: constant while the workers run. */
	return atomic_load_relaxed(&telemetry->poll_flags) & POLL_TRACK;
}

/* telemetry_samples_wait - should the wait of the next task from outside, in
 * that queue, be timed? */
static inline bool telemetry_samples_wait(const struct inject_queue *queue)
{
	/* Relaxed: a count that only goes up, and guards no data. */
	return atomic_load_relaxed(&queue->pushed) % WAIT_SAMPLE_EACH == 0;
}

/* telemetry_wants - must a thread that is no worker call
 * telemetry_ready_outside() for a task that it queues? */
static inline bool telemetry_wants(const struct telemetry *telemetry,
				   const struct inject_queue *queue)
{
	/* Relaxed: a request, which guards no data. */
	return (atomic_load_relaxed(&telemetry->poll_flags) &
		(POLL_RECORD | POLL_TRACK)) ||
	       telemetry_samples_wait(queue);
}

/* telemetry_init - initialise the telemetry of a worker; @shared, @area and
 * @tick must stay valid */
void telemetry_init(struct worker_telemetry *t, struct telemetry *shared,
		    struct area_worker *area, const struct tick *tick);

/* telemetry_destroy - free the memory of the recorder */
void telemetry_destroy(struct worker_telemetry *t);

/* telemetry_start, telemetry_stop - report that the worker's thread begins or
 * ends */
void telemetry_start(struct worker_telemetry *t);
void telemetry_stop(struct worker_telemetry *t);

/* telemetry_state - record that the worker is in @state from @now_ns on */
void telemetry_state(struct worker_telemetry *t, enum area_state state,
		     uint64_t now_ns);

/* telemetry_check - check whether a recorder or a tracer has come or gone; called
 * at the end of a tick, and when the worker begins other work */
void telemetry_check(struct worker_telemetry *t, uint64_t now_ns);

void telemetry_park(struct worker_telemetry *t, enum probe_park_reason reason);
/* telemetry_woken - record that the park ended at @now_ns; the caller then
 * calls telemetry_unpark() */
static inline void telemetry_woken(struct worker_telemetry *t, uint64_t now_ns)
{
	t->woken_ns = now_ns;
}
void telemetry_unpark(struct worker_telemetry *t);

/* telemetry_pollers - record that the worker is going to call its pollers */
void telemetry_pollers(struct worker_telemetry *t, uint64_t now_ns);

/* telemetry_stolen - record a steal; the caller then calls
 * telemetry_working() */
static inline void telemetry_stolen(struct worker_telemetry *t,
				    struct skua_task *task, uint32_t count,
				    unsigned victim)
{
	t->pending_steal.task = task;
	t->pending_steal.count = count;
	t->pending_steal.victim = victim;
}

/* telemetry_working - report that the worker ends its search, and its last
 * steal */
void telemetry_working(struct worker_telemetry *t, uint64_t now_ns);

/* telemetry_job, telemetry_job_end - report that the worker begins or ends a
 * job that the thread of place @victim forked */
void telemetry_job(struct worker_telemetry *t, const void *job,
		   unsigned victim);
void telemetry_job_end(struct worker_telemetry *t);

/**
 * telemetry_fork - report what a thread that forks jobs does
 * @telemetry: of the runtime; NULL: it has none
 * @kind, @a, @b: EVENT_RUN_BEGIN to EVENT_HELP_END, and their fields
 *
 * Threads: any that the runtime waits for before it ends.
 */
void telemetry_fork(struct telemetry *telemetry, enum event_kind kind,
		    uint64_t a, uint64_t b);

void telemetry_overflow(struct worker_telemetry *t, uint64_t n);
void telemetry_inject(struct worker_telemetry *t, uint64_t n);

/* telemetry_stall - report that a poll of @worker has taken @ns so far. The
 * stall watcher calls it. @task, @type and @poll describe the polled task */
void telemetry_stall(struct telemetry *telemetry, unsigned worker,
		     uint64_t task, const void *type, skua_task_fn poll,
		     uint64_t ns);

/* telemetry_ready - report that the worker makes a task runnable; called when
 * until_ready reaches 0 */
void telemetry_ready(struct worker_telemetry *t, struct skua_task *task);

/* telemetry_ready_outside - report that a thread that is no worker makes a task
 * runnable; called if telemetry_wants() */
void telemetry_ready_outside(struct telemetry *telemetry,
			     const struct inject_queue *queue,
			     struct skua_task *task);

/**
 * telemetry_wait - report that the task that the worker polls has to wait
 * @object: what it waits for
 * @again: it waited for it before the poll already
 * @holder: the word that names the holder of @object; NULL: it has none. Read only while
 *          the worker records
 */
void telemetry_wait(struct worker_telemetry *t, uint64_t task,
		    const void *object, enum area_wait_kind kind, bool again,
		    const uint64_t *holder);

/* telemetry_reap - report an event of a descriptor. @data: its a in EVENT_REAP; @events: the
 * bits of epoll_wait(2); @since_ns: when a worker last looked for events before; @how:
 * EVENT_REAP_... */
void telemetry_reap(struct worker_telemetry *t, uint64_t data, uint32_t events,
		    uint64_t since_ns, unsigned how);

/* telemetry_give_up - report that the task that the worker polls ends its wait for a lock
 * without the lock. @code: a negative error number */
void telemetry_give_up(struct worker_telemetry *t, uint64_t task,
		       const void *object, int code);

/* telemetry_label - report what the task that the worker polls does from now on */
static inline void telemetry_label(struct worker_telemetry *t,
				   const struct skua_task *task,
				   const char *label)
{
	recorder_note_owner(&t->recorder, EVENT_LABEL, (uintptr_t)task,
			    (uintptr_t)label, 0, 0);
}

/* telemetry_label_poll - publish the label of the current poll of a task that is no fiber */
static inline void telemetry_label_poll(struct worker_telemetry *t,
					const char *label)
{
	struct area_worker *area = t->area;

	counter_set_owner(&area->label, (uintptr_t)label);
	/* Release: publishes the label. A reader that finds the number of this poll reads
	 * the label again after it. Pairs with the two reads in look() of the tools. */
	atomic_store_release((atomic_u64 *)&area->label_poll,
			     area->counters.tasks_polled);
}

/* telemetry_poll - poll a task, and report the poll to the recorder and to
 * tracers */
enum skua_poll telemetry_poll(struct worker_telemetry *t,
			      struct skua_task *task);

/* telemetry_sample_due - must the next poll be timed? */
bool telemetry_sample_due(const struct worker_telemetry *t);

/* telemetry_sample - record that a poll took @ns. @type and @poll are those of
 * the task before the poll */
void telemetry_sample(struct worker_telemetry *t, const void *type,
		      skua_task_fn poll, uint64_t ns);

/* telemetry_poll_function - return the task's own poll function, even while its
 * wait is timed; of a fiber, its function */
skua_task_fn telemetry_poll_function(const struct telemetry *telemetry,
				     const struct skua_task *task);

#endif
