/* SPDX-License-Identifier: MIT */
/* recorder.c - see recorder.h */
#include "probes/recorder.h"

#include <errno.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define RING_BYTES      (RECORDER_EVENTS * sizeof(struct event))
#define CLOCK_PERIOD_NS UINT64_C(1000000)
#define CLOCK_TRIES     3u
/* The time from a failed allocation of a ring to the next attempt. */
#define RETRY_NS UINT64_C(10000000)

_Static_assert((RECORDER_EVENTS & (RECORDER_EVENTS - 1)) == 0,
	       "a number of events keeps its place when it wraps");

static uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) +
	       (uint64_t)now.tv_nsec;
}

/* map_ring - allocate a ring, whose pages the kernel provides when they are first written;
 * @code receives 0 or -errno */
static struct event *map_ring(int *code)
{
	int saved = errno; /* the library never sets it */
	void *ring = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	*code = ring == MAP_FAILED ? -errno : 0;
	errno = saved;
	return *code ? NULL : ring;
}

/*
 * read_clock - return the time, and the counter at that time
 *
 * An interrupt or a page fault between the reads of clock and counter would shift all
 * events of this thread against those of other threads. So this takes, of a few tries, the
 * one in which the least time passed between the two reads of the counter.
 */
static uint64_t read_clock(uint64_t *counter)
{
	uint64_t least = UINT64_MAX, time_ns = 0;

	for (unsigned i = 0; i < CLOCK_TRIES; i++) {
		uint64_t begin = recorder_time(), now_ns = monotonic_ns();
		uint64_t took = recorder_time() - begin;

		if (took >= least)
			continue;
		least = took;
		time_ns = now_ns;
		*counter = begin + took / 2;
	}
	return time_ns;
}

static void note_clock(struct recorder *r)
{
	uint64_t counter = 0, now_ns = read_clock(&counter);

	recorder_write_owner(r, counter, EVENT_CLOCK, now_ns, 0, 0, 0);
	r->clock_due_ns = now_ns + CLOCK_PERIOD_NS;
}

static bool have_ring(struct recorder *r, uint64_t now_ns)
{
	int code;

	if (r->ring)
		return true;
	if (now_ns < r->clock_due_ns)
		return false;
	r->ring = map_ring(&code);
	counter_set_owner((uint64_t *)&r->area->ring_error, (uint64_t)code);
	r->clock_due_ns = now_ns + RETRY_NS;
	if (!r->ring)
		return false;
	counter_set_owner(&r->area->ring_events, RECORDER_EVENTS);
	counter_set_owner(&r->area->ring, (uintptr_t)r->ring);
	return true;
}

void recorder_switch_owner(struct recorder *r, bool on, uint64_t now_ns)
{
	if (!on) {
		note_clock(r);
		recorder_note_owner(r, EVENT_STOP, 0, 0, 0, 0);
		r->on = false;
	} else if (have_ring(r, now_ns)) {
		r->on = true;
		note_clock(r);
		recorder_note_owner(r, EVENT_START, (uint64_t)gettid(), 0, 0,
				    0);
	}
}

void recorder_clock_owner(struct recorder *r, uint64_t now_ns)
{
	if (now_ns >= r->clock_due_ns)
		note_clock(r);
}

void recorder_destroy(struct recorder *r)
{
	if (r->ring)
		munmap(r->ring, RING_BYTES);
	r->ring = NULL;
}

/* ---- threads that are no workers --------------------------------------------- */

void recorder_share(struct area_runtime *area)
{
	uint64_t none = 0;
	struct event *ring;
	int code;

	if (counter_read(&area->ring))
		return;
	ring = map_ring(&code);
	counter_set_owner(&area->ring_events, RECORDER_EVENTS);
	/* Release: the ring is empty. Pairs with the acquire in
	 * recorder_note_shared(). The exchange fails if another worker was faster. */
	if (ring && !__atomic_compare_exchange_n(
			    &area->ring, &none, (uintptr_t)ring, false,
			    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		munmap(ring, RING_BYTES);
}

void recorder_unshare(struct area_runtime *area)
{
	if (area->ring)
		munmap((void *)(uintptr_t)area->ring, RING_BYTES);
	area->ring = 0;
}

void recorder_note_shared(struct area_runtime *area, enum event_kind kind,
			  uint64_t a, uint64_t b, uint32_t detail)
{
	/* Acquire: pairs with the release in recorder_share(). */
	struct event *ring = (struct event *)(uintptr_t)__atomic_load_n(
		&area->ring, __ATOMIC_ACQUIRE);
	struct event *event;
	uint64_t n;

	if (!ring)
		return;
	/* Relaxed: the thread only needs a number that no other thread has. */
	n = __atomic_fetch_add(&area->ring_head, 1, __ATOMIC_RELAXED);
	event = &ring[n % RECORDER_EVENTS];
	__atomic_store_n(&event->time, recorder_time(), __ATOMIC_RELAXED);
	__atomic_store_n(&event->a, a, __ATOMIC_RELAXED);
	__atomic_store_n(&event->b, b, __ATOMIC_RELAXED);
	/* Release: the event is complete. Readers in other processes order their reads by
	 * their system calls; readers in this process acquire it. */
	__atomic_store_n(
		&event->what,
		event_what(kind, detail, (uint16_t)(n / RECORDER_EVENTS)),
		__ATOMIC_RELEASE);
}
