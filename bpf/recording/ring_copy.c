/* SPDX-License-Identifier: MIT */
/* ring_copy.c - copies the events of one ring to the file */
#include "bpf/recording/rings_parts.h"

/* In a ring that threads share: whether the event with this number is in its
 * slot. */
static bool is_complete(const struct ring_words *words, uint64_t number,
			const struct event *event)
{
	return event->other == (uint16_t)(number / words->events) &&
	       event->kind != EVENT_NONE;
}

/*
 * How many of @count events of a ring that threads share to take now. An incomplete
 * event may be completed later, so copying stops there. One that is older than half
 * the ring, or is found in the last round, counts as lost: it becomes EVENT_NONE.
 */
static uint64_t take_complete(struct rings *r, const struct ring_words *words,
			      uint64_t number, uint64_t count, bool last)
{
	for (uint64_t i = 0; i < count; i++) {
		bool late = words->head - (number + i) > words->events / 2;

		if (is_complete(words, number + i, &r->events[i]) &&
		    is_complete(words, number + i, &r->again[i]))
			r->events[i] = r->again[i];
		else if (last || late)
			r->events[i].kind = EVENT_NONE;
		else
			return i;
	}
	return count;
}

/* The next @count events are lost. There may be no event before or after them. */
static int lose(struct rings *r, struct ring *ring, uint64_t count)
{
	int code = trace_write_gap(r->writer, ring->what.stream.id, ring->next,
				   count);

	if (code)
		return code;
	ring->what.lost += count;
	ring->next += count;
	return 0;
}

/* Write the next @count events. Of these, the incomplete ones are lost. */
static int write_some(struct rings *r, struct ring *ring,
		      const struct event *events, uint64_t count)
{
	int code = ring_write_names(r, ring, events, count);
	uint64_t lost = 0;

	if (code == 0)
		code = trace_write_events(r->writer, ring->what.stream.id,
					  ring->next, events, (uint32_t)count);
	if (code)
		return code;
	for (uint64_t i = 0; i < count; i++)
		lost += events[i].kind == EVENT_NONE;
	ring->what.lost += lost;
	ring->what.written += count - lost;
	ring->next += count;
	return 0;
}

/* Copy some events from ring->next on. @done: receives how many were handled,
 * lost ones included. */
static int copy_some(struct rings *r, struct ring *ring,
		     const struct ring_words *words, bool last, uint64_t *done)
{
	bool shared = ring->what.stream.index == TRACE_OUTSIDE;
	uint64_t count = words->head - ring->next, first, skip = 0;
	int code;

	if (count > RINGS_AT_ONCE)
		count = RINGS_AT_ONCE;
	code = ring_read_events(r, words, ring->next, count, r->events);
	/* An event that is complete in the first copy is whole in the second. */
	if (code == 0 && shared)
		code = ring_read_events(r, words, ring->next, count, r->again);
	if (code)
		return code == -ESRCH ? code : -ENODATA;
	code = ring_settle(r, ring, words, &first);
	if (code)
		return code;
	if (first > ring->next)
		skip = first - ring->next < count ? first - ring->next : count;
	if (shared)
		count = take_complete(r, words, ring->next, count, last);
	if (skip > count)
		skip = count;
	*done = count;
	if (skip > 0)
		code = lose(r, ring, skip);
	return code ? code
		    : write_some(r, ring, r->events + skip, count - skip);
}

uint64_t ring_first_wanted(const struct rings *r, const struct ring *ring,
			   const struct ring_words *words)
{
	return ring->old && ring->others_ns <= r->keep_ns ? words->head : 0;
}

int ring_copy(struct rings *r, struct ring *ring, bool last, double *fullest)
{
	struct ring_words words;
	uint64_t first, done = 1;
	int code = ring_read_words(r, ring, &words);
	double full;

	if (code)
		return code;
	if (!ring->begun)
		ring->next = ring_first_wanted(r, ring, &words);
	ring->begun = true;
	/* A reader of the file would drop events with the same numbers again. */
	if (words.head < ring->next)
		return 0;
	full = (double)(words.head - ring->next) / (double)words.events;
	if (full > *fullest)
		*fullest = full;
	first = ring_first_whole(&words, words.head);
	if (first > ring->next)
		code = lose(r, ring, first - ring->next);
	while (code == 0 && done > 0 && ring->next < words.head) {
		code = rings_check_stop(r);
		if (code == 0)
			code = copy_some(r, ring, &words, last, &done);
	}
	return code;
}
