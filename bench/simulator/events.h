/* SPDX-License-Identifier: MIT */
/**
 * events.h - the next actor and its time: at most one event for each actor
 *
 * Of events at the same time the one that was set first comes first, so that a
 * simulation is the same each time.
 */
#ifndef SKUA_BENCH_SIMULATOR_EVENTS_H
#define SKUA_BENCH_SIMULATOR_EVENTS_H

#include <stdint.h>

#define EVENTS_NONE UINT32_MAX

struct event {
	uint64_t at_ns;
	uint64_t order; /* in which they were set */
	uint32_t who;
};

struct events {
	struct event *heap;
	uint32_t *places; /* in the heap, of each; EVENTS_NONE */
	uint32_t count;
	uint64_t set; /* number of events set so far */
};

/* events_make - for 0 to @limit - 1. Return: 0; -ENOMEM. */
int events_make(struct events *events, uint32_t limit);

void events_free(struct events *events);

/* events_set - @who acts at @at_ns, which replaces its earlier time */
void events_set(struct events *events, uint32_t who, uint64_t at_ns);

/* events_cancel - @who does not act by itself any more */
void events_cancel(struct events *events, uint32_t who);

/* events_next_ns - the time of the next event; UINT64_MAX: there is none */
static inline uint64_t events_next_ns(const struct events *events)
{
	return events->count > 0 ? events->heap[0].at_ns : UINT64_MAX;
}

/* events_first - the actor of the earliest event */
static inline uint32_t events_first(const struct events *events)
{
	return events->heap[0].who;
}

#endif
