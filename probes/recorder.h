/* SPDX-License-Identifier: MIT */
/**
 * recorder.h - record events of a worker while a tool or the program wants them
 *
 * Each worker writes events (probes/events.h) to its own ring, in which the newest
 * overwrite the oldest. The program or other processes read it. A ring is allocated when
 * it is first needed, and then kept. An event costs one read of the processor's counter
 * and four stores.
 */
#ifndef SKUA_PROBES_RECORDER_H
#define SKUA_PROBES_RECORDER_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "probes/area.h"
#include "probes/events.h"

/* Events in each ring: 4 MB of memory. A guess: enough for 2 ms of the shortest tasks, or
 * for seconds of a typical service. */
#define RECORDER_EVENTS (UINT64_C(1) << 17)

struct recorder {
	struct event *ring; /* NULL: none yet */
	bool on;
	/* When to write the next EVENT_CLOCK, or to try again to allocate the ring. */
	uint64_t clock_due_ns;
	struct area_worker *area;
};

/* recorder_time - return the value of the counter that times events */
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

/* recorder_write_owner - write an event; the recorder is on. @time: of recorder_time(), not
 * before the time of the last event */
static inline void recorder_write_owner(struct recorder *r, uint64_t time,
					enum event_kind kind, uint64_t a,
					uint64_t b, uint32_t detail,
					unsigned other)
{
	uint64_t head = counter_read(&r->area->ring_head);
	struct event *event = &r->ring[head % RECORDER_EVENTS];

	/* Relaxed, all: a reader detects from ring_head whether they were
	 * overwritten meanwhile. */
	__atomic_store_n(&event->time, time, __ATOMIC_RELAXED);
	__atomic_store_n(&event->a, a, __ATOMIC_RELAXED);
	__atomic_store_n(&event->b, b, __ATOMIC_RELAXED);
	__atomic_store_n(&event->what, event_what(kind, detail, other),
			 __ATOMIC_RELAXED);
	/* Release: the event. Readers in other processes order their reads by their
	 * system calls; readers in this process acquire it. */
	__atomic_store_n(&r->area->ring_head, head + 1, __ATOMIC_RELEASE);
}

/* recorder_note_owner - write an event now, if the recorder is on */
static inline void recorder_note_owner(struct recorder *r, enum event_kind kind,
				       uint64_t a, uint64_t b, uint32_t detail,
				       unsigned other)
{
	if (r->on)
		recorder_write_owner(r, recorder_time(), kind, a, b, detail,
				     other);
}

/* recorder_switch_owner - switch the recorder on, if there is memory, or off */
void recorder_switch_owner(struct recorder *r, bool on, uint64_t now_ns);

/* recorder_clock_owner - at @now_ns, write an EVENT_CLOCK if it is due; the recorder is
 * on */
void recorder_clock_owner(struct recorder *r, uint64_t now_ns);

/* recorder_destroy - free the ring */
void recorder_destroy(struct recorder *r);

/* recorder_share - allocate the ring of threads that are no workers, if there is memory;
 * called by any worker */
void recorder_share(struct area_runtime *area);

/* recorder_unshare - free that ring */
void recorder_unshare(struct area_runtime *area);

/* recorder_note_shared - write an event of a thread that is no worker, if there is a ring.
 * Threads: any */
void recorder_note_shared(struct area_runtime *area, enum event_kind kind,
			  uint64_t a, uint64_t b, uint32_t detail);

#endif
