/* SPDX-License-Identifier: MIT */
/* events.c - see events.h: a binary heap that also stores the place of each actor's event */
#include "bench/simulator/events.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

int events_make(struct events *events, uint32_t limit)
{
	*events = (struct events){
		.heap = calloc(limit, sizeof(*events->heap)),
		.places = malloc(limit * sizeof(*events->places)),
	};
	if (!events->heap || !events->places)
		return -ENOMEM;
	for (uint32_t i = 0; i < limit; i++)
		events->places[i] = EVENTS_NONE;
	return 0;
}

void events_free(struct events *events)
{
	free(events->heap);
	free(events->places);
	*events = (struct events){ .heap = NULL };
}

static bool before(const struct event *a, const struct event *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static void put(struct events *events, uint32_t place, struct event event)
{
	events->heap[place] = event;
	events->places[event.who] = place;
}

/* Restore the order of the heap after the event at @place has changed. */
static void settle(struct events *events, uint32_t place)
{
	struct event event = events->heap[place];

	while (place > 0 && before(&event, &events->heap[(place - 1) / 2])) {
		put(events, place, events->heap[(place - 1) / 2]);
		place = (place - 1) / 2;
	}
	for (;;) {
		uint32_t child = 2 * place + 1;

		if (child + 1 < events->count &&
		    before(&events->heap[child + 1], &events->heap[child]))
			child++;
		if (child >= events->count ||
		    !before(&events->heap[child], &event))
			break;
		put(events, place, events->heap[child]);
		place = child;
	}
	put(events, place, event);
}

void events_set(struct events *events, uint32_t who, uint64_t at_ns)
{
	uint32_t place = events->places[who];

	if (place == EVENTS_NONE)
		place = events->count++;
	events->heap[place] = (struct event){ at_ns, events->set++, who };
	settle(events, place);
}

void events_cancel(struct events *events, uint32_t who)
{
	uint32_t place = events->places[who];

	if (place == EVENTS_NONE)
		return;
	events->places[who] = EVENTS_NONE;
	if (place == --events->count)
		return;
	events->heap[place] = events->heap[events->count];
	settle(events, place);
}
