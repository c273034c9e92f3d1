/* SPDX-License-Identifier: MIT */
/**
 * events.h - the events that the recorder writes (ABI)
 *
 * A worker that records writes events to its own ring. Event number n is at index n modulo
 * area_worker.ring_events, and ring_head is the number of the next event. A reader copies
 * events and then reads ring_head again: events that are ring_events or more before it
 * may have been overwritten, and are lost. Times are values of the processor's counter.
 * Each EVENT_CLOCK relates one value to CLOCK_MONOTONIC: there is one at the start, and
 * then about one each millisecond while the worker is awake.
 *
 * Threads that are no workers share one more ring for each runtime. There, ring_head is
 * the number of the next event, but some events before it may be incomplete. The field
 * other is the number of the event divided by ring_events, modulo 2^16. It is written last,
 * together with kind: an event with a wrong value of other is lost.
 */
#ifndef SKUA_PROBES_EVENTS_H
#define SKUA_PROBES_EVENTS_H

#include <stdint.h>

enum event_kind {
	EVENT_NONE,  /* nothing was written here yet */
	EVENT_CLOCK, /* a: CLOCK_MONOTONIC, in ns */
	EVENT_START, /* the worker records from now on; a: gettid() */
	EVENT_STOP,  /* the worker stops recording */
	EVENT_BEGIN, /* a poll begins. a: task; b: its type, or its poll
		      * function; detail: enum event_name */
	EVENT_END,   /* the poll ends. a: task; detail: enum skua_poll; after
		      * SKUA_YIELD the task is runnable at once */
	EVENT_READY, /* a task was spawned or woken. a: task */
	EVENT_STEAL, /* a: the first task; b: ns since the search began;
		      * detail: number of tasks; other: victim */
	EVENT_STEAL_FAIL, /* the worker is about to sleep. detail: attempts */
	EVENT_PARK,       /* detail: enum probe_park_reason */
	EVENT_UNPARK,   /* a: ns parked; detail: thread that woke it, 0: none */
	EVENT_INJECT,   /* detail: tasks taken from the injection queue */
	EVENT_OVERFLOW, /* detail: tasks moved to the injection queue */
	/* A worker that had nothing else to do begins a job that it has taken. a: its
	 * function; other: the place of the victim: a worker's index, or after those of all
	 * workers one of a thread in skua_run() */
	EVENT_JOB_BEGIN,
	EVENT_JOB_END,
	/* Written by the thread that watches the workers. a: task; b: as in the
	 * EVENT_BEGIN of the poll, whose detail tells the meaning of b; detail:
	 * microseconds so far */
	EVENT_STALL,
	/* The worker calls its pollers again, more than EVENT_LATE_NS after the last
	 * time. a: ns since it last called them, or since it last slept in one. */
	EVENT_LATE,
	/* A task has to wait, and is about to end its poll. a: task; b: the object it
	 * waits for, as in struct area_armed; detail: enum area_wait_kind; other: 1: it
	 * goes on with the wait of its last EVENT_WAIT for b. The wait is over in the
	 * first poll of the task without such an event. */
	EVENT_WAIT,
	/* Follows the EVENT_WAIT for an object that may have a holder. a: the holder, as
	 * AREA_HOLDER_THREAD says, without flags; 0: nobody, or readers; b: the object */
	EVENT_HELD,
	/* The task gives up the wait of its last EVENT_WAIT for b, in vain. a, b: as there;
	 * detail: an error number. Not for conditions, joins, groups and times. */
	EVENT_GIVE_UP,
	/* The worker has taken an event of a descriptor; the EVENT_READY of the tasks that
	 * it makes runnable follow. a: [ serial:32 | number of the descriptor:32 ]; b: the
	 * time of CLOCK_MONOTONIC when a worker last looked for events before, 0: never;
	 * detail: the bits of epoll_wait(2); other: EVENT_REAP_... */
	EVENT_REAP,
	/* The label of the task that is polled is this one, until the next such event or the
	 * end of the poll. If a fiber has a label when its poll begins, the event is written
	 * then. a: task; b: address of the text, 0: no label. */
	EVENT_LABEL,
	/* A thread begins or ends a call of skua_run(). a: the root function; b: the place of
	 * the thread, which EVENT_JOB_BEGIN names as victim; EVENT_NO_PLACE: no other thread
	 * can take its jobs; detail: gettid() */
	EVENT_RUN_BEGIN,
	EVENT_RUN_END,
	/* A thread begins or ends to wait in a join for a job that another thread has taken.
	 * b: its place; detail: gettid() */
	EVENT_JOIN_BEGIN,
	EVENT_JOIN_END,
	/* While it waits in a join, a thread runs another job that it has taken. a: its
	 * function; b: the victim; detail: gettid() */
	EVENT_HELP_BEGIN,
	EVENT_HELP_END,
	EVENT_KINDS,
};

/* A guess: a few ticks. Pollers are called at the end of each tick. */
#define EVENT_LATE_NS UINT64_C(200000)

/* The other of EVENT_REAP. The worker was going to sleep until there were events; it has not
 * slept if there were some already. */
#define EVENT_REAP_SLEPT UINT32_C(1)
/* The worker has taken as many events as it takes at once: there may be more. */
#define EVENT_REAP_FULL UINT32_C(2)

/* The b of EVENT_RUN_BEGIN. */
#define EVENT_NO_PLACE UINT64_C(0xffffffff)

/* The detail of EVENT_BEGIN: the meaning of b. */
enum event_name { EVENT_NAME_POLL, EVENT_NAME_TYPE };

/* 32 bytes, in the byte order of the machine. */
struct event {
	uint64_t time; /* the processor's counter: rdtsc, cntvct_el0 */
	uint64_t a;
	uint64_t b;
	union {
		struct {
			uint32_t detail;
			uint16_t other;
			uint16_t kind; /* enum event_kind */
		};
		uint64_t what; /* all three, for one store */
	};
};

/* event_what - return kind, other and detail as one word */
static inline uint64_t event_what(enum event_kind kind, uint32_t detail,
				  unsigned other)
{
	struct event event = { .detail = detail,
			       .other = (uint16_t)other,
			       .kind = (uint16_t)kind };

	return event.what;
}

_Static_assert(sizeof(struct event) == 32, "events are 32 bytes, for ever");

#endif
