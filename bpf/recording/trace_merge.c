/* SPDX-License-Identifier: MIT */
/* trace_merge.c - the events of all streams in the order of their times */
#include <errno.h>
#include <stdlib.h>

#include "bpf/recording/trace_parts.h"

#define BUFFER 64u /* events of a stream read at once */

/* Make sure that the source's next event is in its buffer. Return: false if
 * there is none. */
static bool fill(struct trace *t, struct trace_track *s)
{
	const struct trace_segment *segment = &s->segments[s->segment];
	uint32_t count;

	if (s->taken < s->buffered)
		return true;
	if (s->segment == s->segment_count)
		return false;
	count = segment->count - s->offset;
	if (count > BUFFER)
		count = BUFFER;
	t->failed = trace_window_read(
		t->window, segment->at + s->offset * sizeof(*s->buffer),
		s->buffer, count * sizeof(*s->buffer));
	if (t->failed)
		return false;
	s->taken = 0;
	s->buffered = count;
	return true;
}

/* Take the next event, of any kind. @number: receives its number. @last:
 * receives whether it is the last of its segment. */
static const struct event *take(struct trace_track *s, uint64_t *number,
				bool *last)
{
	const struct trace_segment *segment = &s->segments[s->segment];

	*number = segment->first + s->offset;
	*last = ++s->offset == segment->count;
	if (*last) {
		s->segment++;
		s->offset = 0;
	}
	return &s->buffer[s->taken++];
}

/* Number of events lost between a segment and the next one. */
static uint64_t lost_behind(const struct trace_track *s, size_t segment)
{
	if (segment + 1 >= s->segment_count)
		return 0;
	return s->segments[segment + 1].first -
	       trace_behind(&s->segments[segment]);
}

static bool advance(struct trace *t, struct trace_track *s)
{
	uint64_t ns = s->next.ns;

	while (fill(t, s)) {
		uint64_t number, missing = 0;
		bool last;

		s->next.event = *take(s, &number, &last);
		if (last)
			missing = lost_behind(s, s->segment - 1);
		if (s->next.event.kind == EVENT_NONE) {
			s->lost += 1 + missing;
			continue;
		}
		s->next.ns =
			trace_clock_ns(&s->clock, number, s->next.event.time);
		if (s->next.ns < ns)
			s->next.ns = ns;
		s->next.lost = s->lost;
		s->next.gap = missing > 0;
		s->lost = missing;
		return true;
	}
	return false;
}

static bool is_before(const struct trace *t, unsigned a, unsigned b)
{
	uint64_t left = t->sources[t->heap[a]].next.ns;
	uint64_t right = t->sources[t->heap[b]].next.ns;

	return left != right ? left < right : t->heap[a] < t->heap[b];
}

static void sift_down(struct trace *t, unsigned at)
{
	for (;;) {
		unsigned first = at, child = 2 * at + 1, moved;

		for (unsigned i = child; i < child + 2; i++)
			if (i < t->heap_count && is_before(t, i, first))
				first = i;
		if (first == at)
			return;
		moved = t->heap[at];
		t->heap[at] = t->heap[first];
		t->heap[first] = moved;
		at = first;
	}
}

static bool start_source(struct trace *t, unsigned index)
{
	struct trace_track *s = &t->sources[index];

	if (s->segment_count == 0)
		return true;
	s->buffer = calloc(BUFFER, sizeof(*s->buffer));
	if (!s->buffer)
		return false;
	s->next.source = index;
	if (advance(t, s))
		t->heap[t->heap_count++] = index;
	return t->failed == 0;
}

static bool start(struct trace *t)
{
	t->merging = true;
	t->heap = calloc(t->source_count + 1, sizeof(*t->heap));
	if (!t->heap)
		t->failed = -ENOMEM;
	for (unsigned i = 0; t->failed == 0 && i < t->source_count; i++)
		if (!start_source(t, i) && t->failed == 0)
			t->failed = -ENOMEM;
	for (unsigned i = t->heap_count; t->failed == 0 && i-- > 0;)
		sift_down(t, i);
	return t->failed == 0;
}

bool trace_next(struct trace *t, struct trace_event *out)
{
	struct trace_track *s;

	if (!t->merging && !start(t))
		return false;
	if (t->failed || t->heap_count == 0)
		return false;
	s = &t->sources[t->heap[0]];
	*out = s->next;
	if (!advance(t, s))
		t->heap[0] = t->heap[--t->heap_count];
	sift_down(t, 0);
	return t->failed == 0;
}

int trace_failed(const struct trace *t)
{
	return t->failed;
}
