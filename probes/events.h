/* SPDX-License-Identifier: MIT */
/**
 * events.h - what the recorder notes (ABI)
 *
 * A worker that records writes events to a ring of its own: event number n is at
 * n modulo area_worker.ring_events, and ring_head is the number of the next one.
 * A reader copies what it wants and then reads ring_head once more: what is more
 * than ring_events behind that, or about to be, is lost to it. Times are of the
 * processor's counter, and the pairs of EVENT_CLOCK tell what they mean: one at
 * the start, then one a millisecond or so while the worker is awake.
 *
 * Threads that are no workers share one more ring, of the runtime: ring_head is
 * where the next event goes, while some before it may not be complete. There
 * other is the number of the event divided by ring_events, modulo 2^16, and is
 * written last, with kind: an event in which it is not what it should be is lost.
 */
#ifndef SKUA_PROBES_EVENTS_H
#define SKUA_PROBES_EVENTS_H

#include <stdint.h>

enum event_kind {
	EVENT_NONE,  /* nothing was written there yet */
	EVENT_CLOCK, /* a: CLOCK_MONOTONIC, in ns */
	EVENT_START, /* the worker records from now on; a: gettid() */
	EVENT_STOP,  /* no more */
	EVENT_BEGIN, /* of a poll. a: task; b: type, or poll function; detail */
	EVENT_END,   /* of it. a: task; detail: enum skua_poll; after
		      * SKUA_YIELD it is runnable at once */
	EVENT_READY, /* made runnable: spawned, or woken. a: task */
	EVENT_STEAL, /* a: the first task; b: ns since it began to look;
		      * detail: how many; other: victim */
	EVENT_STEAL_FAIL, /* about to sleep instead. detail: attempts */
	EVENT_PARK,       /* detail: enum probe_park_reason */
	EVENT_UNPARK,   /* a: ns parked; detail: thread that woke it, 0: none */
	EVENT_INJECT,   /* detail: tasks taken from the injection queue */
	EVENT_OVERFLOW, /* detail: tasks that went there */
	EVENT_JOB_BEGIN, /* of a stolen job. a: its function; other: victim */
	EVENT_JOB_END,
	/* By the thread that watches. a: task; b: as of EVENT_BEGIN, which tells
	 * the one from the other; detail: microseconds so far */
	EVENT_STALL,
	/* It calls its pollers again. a: ns since it last did, or slept in one of
	 * them; where that is more than EVENT_LATE_NS */
	EVENT_LATE,
	EVENT_KINDS,
};

/* A guess: a few ticks. Pollers are called at the end of each. */
#define EVENT_LATE_NS UINT64_C(200000)

/* Detail of EVENT_BEGIN: what b is. */
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
		uint64_t what; /* the three, as they are written */
	};
};

/* event_what - kind, other and detail in a word */
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
