/* SPDX-License-Identifier: MIT */
/**
 * events.h - find out which actor acts next, and when
 *
 * Each actor has at most one event. Of several events at the same time, the one that was
 * set first comes first, so that a simulation has the same outcome each time.
 */
#ifndef SKUA_BENCH_SIMULATOR_EVENTS_H
#define SKUA_BENCH_SIMULATOR_EVENTS_H

#include <stdint.h>

#define EVENTS_NONE UINT32_MAX

struct event {
	uint64_t at_ns;
	uint64_t order; /* the value of events.set when it was set */
	uint32_t who;
};

struct events {
	struct event *heap;
	uint32_t *places; /* each actor's index in @heap, or EVENTS_NONE */
	uint32_t count;
	uint64_t set; /* number of events set so far */
};

/* events_make - allocate events for the actors 0 to @limit - 1. Return: 0; -ENOMEM. */
int events_make(struct events *events, uint32_t limit);

void events_free(struct events *events);

/* events_set - let actor @who act at @at_ns; this replaces its event, if it has one */
void events_set(struct events *events, uint32_t who, uint64_t at_ns);

/* events_cancel - remove the event of actor @who, if it has one */
void events_cancel(struct events *events, uint32_t who);

/* events_next_ns - return the time of the next event; UINT64_MAX: there is none */
static inline uint64_t events_next_ns(const struct events *events)
{
	return events->count > 0 ? events->heap[0].at_ns : UINT64_MAX;
}

/* events_first - return the actor of the next event; there must be one */
static inline uint32_t events_first(const struct events *events)
{
	return events->heap[0].who;
}

#endif
