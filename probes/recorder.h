/* SPDX-License-Identifier: MIT */
/**
 * recorder.h - note what a worker does, while somebody wants to know
 *
 * Each worker writes events (probes/events.h) to a ring of its own, in which the
 * latest overwrite the oldest; other processes read it, or the program. The
 * ring gets its memory when it is first wanted, and keeps it. An event takes a
 * look at the processor's counter and four stores.
 */
#ifndef SKUA_PROBES_RECORDER_H
#define SKUA_PROBES_RECORDER_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "probes/area.h"
#include "probes/events.h"

/* Of each ring: 4 MB of memory. A guess: 2 ms of the shortest tasks, seconds of
 * what services do. */
#define RECORDER_EVENTS (UINT64_C(1) << 17)

struct recorder {
	struct event *ring; /* NULL: none yet */
	bool on;
	/* When the next EVENT_CLOCK is; or the next try to have a ring. */
	uint64_t clock_due_ns;
	struct area_worker *area;
};

/* recorder_time - of the counter that events have */
static inline uint64_t recorder_time(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t time;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(time));
	return time;
#else
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) +
	       (uint64_t)now.tv_nsec;
#endif
}

/* recorder_write_owner - an event at a time of recorder_time(), not before that of
 * the last one; the recorder is on */
static inline void recorder_write_owner(struct recorder *r, uint64_t time,
					enum event_kind kind, uint64_t a,
					uint64_t b, uint32_t detail,
					unsigned other)
{
	uint64_t head = counter_read(&r->area->ring_head);
	struct event *event = &r->ring[head % RECORDER_EVENTS];

	/* Relaxed, all: a reader finds out whether they were overwritten meanwhile. */
	__atomic_store_n(&event->time, time, __ATOMIC_RELAXED);
	__atomic_store_n(&event->a, a, __ATOMIC_RELAXED);
	__atomic_store_n(&event->b, b, __ATOMIC_RELAXED);
	__atomic_store_n(&event->what, event_what(kind, detail, other),
			 __ATOMIC_RELAXED);
	/* Release: the event. Readers are other processes, or acquire it. */
	__atomic_store_n(&r->area->ring_head, head + 1, __ATOMIC_RELEASE);
}

/* recorder_note_owner - an event, if the recorder is on */
static inline void recorder_note_owner(struct recorder *r, enum event_kind kind,
				       uint64_t a, uint64_t b, uint32_t detail,
				       unsigned other)
{
	if (r->on)
		recorder_write_owner(r, recorder_time(), kind, a, b, detail,
				     other);
}

/* recorder_switch_owner - on, if there is memory, or off */
void recorder_switch_owner(struct recorder *r, bool on, uint64_t now_ns);

/* recorder_clock_owner - at @now_ns, while it is on: note the time and the counter at
 * that time, if that is due */
void recorder_clock_owner(struct recorder *r, uint64_t now_ns);

/* recorder_destroy - give the ring back */
void recorder_destroy(struct recorder *r);

/* recorder_share - have a ring for threads that are no workers, if there is
 * memory; any worker */
void recorder_share(struct area_runtime *area);

/* recorder_unshare - give it back */
void recorder_unshare(struct area_runtime *area);

/* recorder_note_shared - an event of a thread that is no worker, if there is a
 * ring; any thread */
void recorder_note_shared(struct area_runtime *area, enum event_kind kind,
			  uint64_t a, uint64_t b, uint32_t detail);

#endif
