/* SPDX-License-Identifier: MIT */
/**
 * area.h - what another process may read of a program's runtimes (ABI)
 *
 * The debug area: one struct area_root a program or library that skua is linked
 * into, from there a list of runtimes, and of each its workers. PROBES.md says
 * how to find the first, and how to read what changes meanwhile. Addresses are
 * 64 bits wide, and 0 means none. Nothing here is ever freed under a reader
 * without AREA_ROOT.changes having changed.
 *
 * Writers: for each word the thread that PROBES.md or the comment names, alone.
 * Readers: any, also of other processes. Nothing is written from outside but
 * area_root.record_until_ns, which stays in its place.
 *
 * New fields go to the end of a struct, whose bytes say how much of it there is.
 * AREA_ABI changes when a field goes or means something else.
 */
#ifndef SKUA_PROBES_AREA_H
#define SKUA_PROBES_AREA_H

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/counter_list.h"
#include "probes/histogram.h"

#define AREA_ABI UINT32_C(1)

#define AREA_ROOT_MAGIC    UINT64_C(0x746f6f7261756b73) /* "skuaroot" */
#define AREA_RUNTIME_MAGIC UINT64_C(0x656d697261756b73) /* "skuarime" */

/* The note that leads to the root: PROBES.md. */
#define AREA_NOTE_NAME "skua"
#define AREA_NOTE_TYPE UINT32_C(1)

/* The root, `skua_debug_root`. Writers: threads that create or destroy a runtime. */
struct area_root {
	uint64_t magic;
	uint32_t abi;
	uint32_t bytes;     /* of this struct */
	uint64_t changes;   /* of what follows; odd during one */
	uint64_t runtimes;  /* the first struct area_runtime */
	uint64_t count;     /* of runtimes */
	char version[16];   /* of the library, ends with 0 */
	uint64_t task_poll; /* where in a task its poll function is, */
	uint64_t task_type; /* and its type */
	/* Until when the workers of all runtimes record events: a time of
	 * CLOCK_MONOTONIC. Writers: tools, from outside (PROBES.md). */
	uint64_t record_until_ns;
	uint64_t task_state; /* where in a task its state is */
};

/* Of a task's state: a task that is done, and to which nothing refers, has ended. */
#define AREA_STATE_DONE      (UINT64_C(1) << 2)
#define AREA_STATE_REFERENCE (UINT64_C(1) << 16)

/* Flags of a runtime. */
#define AREA_CALLER_DRIVEN (UINT32_C(1) << 0)

#define AREA_EXTERNALS 16u

/* A runtime. All but what is said constant while it is in the list. */
struct area_runtime {
	uint64_t magic;
	uint32_t abi;
	uint32_t bytes; /* of this struct */
	uint64_t next;  /* another runtime */
	uint32_t pid;   /* whose threads the workers are, as it sees itself */
	uint32_t flags;
	uint32_t worker_count;
	uint32_t worker_bytes; /* of struct area_worker */
	uint64_t workers;    /* worker_count addresses of struct area_worker */
	uint64_t started_ns; /* CLOCK_MONOTONIC */
	uint32_t sample; /* of so many polls one is timed, or more of them */
	uint32_t worker_offset;

	/* Addresses of words of the queues that the workers share:
	 * [ spawned:48 | calls:16 ], tasks spawned by threads that are no
	 * workers; of those, how many were refused after all; and tasks pushed to
	 * and taken from the injection queue and the urgent lane. */
	uint64_t outside;
	uint64_t refused;
	uint64_t inject_pushed;
	uint64_t inject_taken;
	uint64_t urgent_pushed;
	uint64_t urgent_taken;

	/* The same for this one. Writer: the program. */
	alignas(64) uint64_t record_until_ns;
	/* Events of threads that are no workers: see area_worker. */
	uint64_t ring;
	uint64_t ring_events;
	alignas(64) uint64_t ring_head;

	/* Jobs that threads in skua_run() took. Writers: they, one word each. */
	alignas(64) uint64_t external_jobs_stolen[AREA_EXTERNALS];

	/* How long a poll may take before it is a stall; 0: no limit. A type may
	 * have a limit of its own. */
	uint64_t stall_limit_ns;

	/* The tasks that live, of a runtime with SKUA_TRACK_TASKS: the address of
	 * so many struct area_task; 0: none are tracked. And how many spawned tasks
	 * found no room there; writers: threads that spawn. */
	uint64_t tasks;
	uint64_t task_slots;
	uint64_t tasks_left_out;
};

/* The state of a tracked task. */
enum area_task_state {
	AREA_TASK_NONE,
	AREA_TASK_QUEUED,
	AREA_TASK_POLLED,
	AREA_TASK_WAITING,
	AREA_TASK_DONE, /* with a waker left when its last poll ended */
};

/* The reason why a task waits: the latest of these that its last poll began. */
enum area_wait {
	AREA_WAIT_NONE,
	AREA_WAIT_NOBODY, /* it can be cancelled, but nothing else wakes it */
	AREA_WAIT_WAKER,  /* nothing that the library knows */
	AREA_WAIT_JOIN,   /* what: the address of a task */
	AREA_WAIT_GROUP,  /* what: that of a group */
	AREA_WAIT_TIMER,  /* what: the time of CLOCK_MONOTONIC */
};

/* A tracked task. Writers: the thread that spawns, queues or polls it. Read twice,
 * until both reads agree. */
struct area_task {
	uint64_t task; /* its address; 0: the slot is free */
	uint64_t type; /* as in struct area_type */
	uint64_t poll;
	uint64_t spawned_ns; /* of CLOCK_MONOTONIC */
	uint64_t caller;     /* the code after the call that spawned it */
	uint64_t state;      /* enum area_task_state, */
	uint64_t since_ns;   /* and when that began */
	uint64_t wait;       /* enum area_wait */
	uint64_t what;
	uint64_t
		wakers; /* timers and joins included, at the end of its last poll */
	uint64_t home; /* the index + 1 of the only worker to poll it; 0: any */
	/* The task that has the slot, from its spawn to the end of its last poll;
	 * 0: a spawn may take the slot, whatever it shows. */
	uint64_t holder;
	uint64_t reserved[4];
};

/* The activity of a worker. */
enum area_state {
	AREA_STARTING, /* or has ended, or nobody drives it */
	AREA_RUNNING,  /* polls tasks */
	AREA_SEARCHING,
	AREA_PARKED,
	AREA_JOB, /* works on a job of somebody's region */
};

/* The counters of a worker, in the order of counter_list.h, which is the ABI: a new
 * one takes the first of the reserved words. */
#define AREA_COUNTER_WORDS 16u

struct area_counters {
#define AREA_COUNTER(name, ...) uint64_t name;
	COUNTER_LIST(AREA_COUNTER)
#undef AREA_COUNTER
	uint64_t reserved[AREA_COUNTER_WORDS - COUNTER_LIST_COUNT];
};

/* Times, in nanoseconds, up to the last change of the state. */
struct area_times {
	uint64_t state;    /* enum area_state */
	uint64_t since_ns; /* of CLOCK_MONOTONIC: when that began */
	uint64_t run_ns;   /* in polls and jobs, and what is between them */
	uint64_t search_ns;
	uint64_t park_ns;
};

/*
 * Samples of the tasks of one type. Polls are timed now and then, and each
 * counts as often as there were polls since the last that was: so the sums are
 * estimates, and polls is exact over all rows, except for the latest few.
 */
struct area_type {
	uint64_t type; /* struct skua_task_type; 0: tasks without */
	uint64_t poll; /* whose poll function is this; 0: the row is empty */
	uint64_t polls;
	uint64_t run_ns; /* what those took */
	uint64_t longest_ns;
	uint64_t waits;   /* in queues, from a spawn or wake to the poll */
	uint64_t wait_ns; /* what those took */
	uint64_t longest_wait_ns;
};

#define AREA_TYPES 32u

/* Samples of the work of a worker. */
struct area_samples {
	struct probes_histogram park;  /* each: how long it slept */
	struct probes_histogram steal; /* each: how long it had looked before */
	struct probes_histogram poll;  /* as in area_type */
	struct probes_histogram wait;  /* likewise */
	/* By type; the last row, with poll 1: all for which there was no other. */
	struct area_type types[AREA_TYPES];
};

/* A worker. Its writer is the worker. */
struct area_worker {
	/* Constant, except tid, which is 0 while there is no thread. */
	alignas(128) uint32_t index;
	int32_t cpu; /* where it was bound at first; -1: nowhere */
	int32_t node;
	uint32_t reserved;
	uint64_t tid;     /* gettid() */
	uint64_t samples; /* address of its struct area_samples */
	/* Addresses of the words of its local queue: head, whose upper 48 bits
	 * are the position of the oldest task, and tail, modulo 2^48 that behind
	 * the newest. */
	uint64_t queue_head;
	uint64_t queue_tail;

	/* Of the recorder (events.h): where the events are; the last
	 * ring_events of them, a power of two; and how many were written. 0:
	 * none yet. An error: -errno of the attempt to have room. */
	uint64_t ring;
	uint64_t ring_events;
	uint64_t ring_head;
	int64_t ring_error;

	/* The task that is being polled; 0: none. */
	alignas(128) uint64_t task;
	struct area_counters counters;

	alignas(128) struct area_times times;

	/* Addresses of words: how many tasks it polled to their end; and of tasks
	 * pushed to and taken from the queue of those bound to it. */
	uint64_t finished;
	uint64_t inbox_pushed;
	uint64_t inbox_taken;
};

#endif
