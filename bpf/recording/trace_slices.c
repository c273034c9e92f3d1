/* SPDX-License-Identifier: MIT */
/* trace_slices.c - see trace_slices.h */
#include "bpf/recording/trace_slices.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define DEEPEST 32u /* nested slices; deeper ones are left out */

/* ---- marks ----------------------------------------------------------------- */

static const char *const categories[] = {
	[TRACE_POLL] = "task",    [TRACE_JOB] = "job",
	[TRACE_PARK] = "park",    [TRACE_SEARCH] = "steal",
	[TRACE_AWAY] = "cpu",     [TRACE_GAP] = "lost",
	[TRACE_READY] = "ready",  [TRACE_STEAL] = "steal",
	[TRACE_STOLEN] = "steal", [TRACE_NOTHING] = "steal",
	[TRACE_QUEUE] = "queue",  [TRACE_STALL] = "stall",
	[TRACE_LATE] = "late",    [TRACE_WAIT] = "wait",
	[TRACE_HELD] = "wait",    [TRACE_GIVE_UP] = "wait",
	[TRACE_REAP] = "io",      [TRACE_NEW_LABEL] = "task",
	[TRACE_FORK] = "job",
};

const char *trace_category(enum trace_mark_kind kind)
{
	return categories[kind];
}

struct trace_mark mark_of(enum trace_mark_kind kind, const char *name,
			  const struct trace_event *event)
{
	struct trace_mark mark = { .kind = kind,
				   .track = event->source,
				   .ns = event->ns,
				   .end_ns = event->ns };

	snprintf(mark.name, sizeof(mark.name), "%s", name);
	return mark;
}

static unsigned count_args(const struct trace_mark *mark)
{
	unsigned count = 0;

	while (count < TRACE_ARGS && mark->args[count].key)
		count++;
	return count;
}

void mark_say(struct trace_mark *mark, const struct trace_arg *arg)
{
	unsigned count = count_args(mark);

	if (arg && count < TRACE_ARGS)
		mark->args[count] = *arg;
}

void mark_say_number(struct trace_mark *mark, const char *key, uint64_t number)
{
	mark_say(mark, &(struct trace_arg){ .key = key, .number = number });
}

void mark_say_address(struct trace_mark *mark, const char *key, uint64_t to)
{
	mark_say(mark, &(struct trace_arg){
			       .key = key, .number = to, .address = true });
}

/* ---- slices ---------------------------------------------------------------- */

static void send_begin(const struct trace_slices *track,
		       const struct trace_mark *mark)
{
	if (track->sink->begin)
		track->sink->begin(track->sink, mark);
}

static void send_end(const struct trace_slices *track,
		     const struct trace_mark *mark)
{
	if (track->sink->end)
		track->sink->end(track->sink, mark);
}

void slices_instant(struct trace_slices *track, const struct trace_mark *mark)
{
	track->drawn_ns = mark->ns;
	if (track->sink->instant)
		track->sink->instant(track->sink, mark);
}

static bool make_room(struct trace_slices *track)
{
	unsigned room = track->room ? 2 * track->room : 4;
	void *open, *keys;

	if (track->depth < track->room)
		return true;
	open = reallocarray(track->open, room, sizeof(*track->open));
	if (open)
		track->open = open;
	keys = reallocarray(track->keys, room, sizeof(*track->keys));
	if (keys)
		track->keys = keys;
	if (!open || !keys)
		return false;
	track->room = room;
	return true;
}

int slices_begin(struct trace_slices *track, struct trace_mark *mark,
		 uint64_t key)
{
	if (track->depth == DEEPEST) {
		track->deeper++;
		return 0;
	}
	if (!make_room(track))
		return -ENOMEM;
	mark->args_first = count_args(mark);
	track->keys[track->depth] = key;
	track->open[track->depth++] = *mark;
	track->drawn_ns = mark->ns;
	send_begin(track, mark);
	return 0;
}

static void pop(struct trace_slices *track, uint64_t ns, bool partial)
{
	struct trace_mark *mark = &track->open[--track->depth];

	mark->end_ns = ns;
	mark->partial |= partial;
	track->drawn_ns = ns;
	send_end(track, mark);
}

void slices_end_all(struct trace_slices *track, uint64_t ns)
{
	while (track->depth > 0)
		pop(track, ns, true);
	track->deeper = 0;
}

/* The innermost open slice of a kind and key, counted from 1; 0: there is none. */
static unsigned find_open(const struct trace_slices *track,
			  enum trace_mark_kind kind, uint64_t key)
{
	unsigned depth = track->depth;

	while (depth > 0 && (track->open[depth - 1].kind != kind ||
			     track->keys[depth - 1] != key))
		depth--;
	return depth;
}

void slices_whole(struct trace_slices *track, struct trace_mark *mark,
		  uint64_t from_ns)
{
	mark->ns = from_ns < mark->end_ns ? from_ns : mark->end_ns;
	mark->args_first = count_args(mark);
	track->drawn_ns = mark->end_ns;
	send_begin(track, mark);
	send_end(track, mark);
}

/* The start of a slice that began unseen: a little earlier than all slices in
 * it. */
static uint64_t unseen_ns(struct trace_slices *track)
{
	if (track->since_ns > track->floor_ns)
		track->since_ns--;
	return track->since_ns;
}

void slices_end(struct trace_slices *track, struct trace_mark *mark,
		uint64_t key, const struct trace_arg *more)
{
	unsigned depth = find_open(track, mark->kind, key);

	if (depth == 0 && track->deeper > 0) {
		track->deeper--;
	} else if (depth > 0) {
		while (track->depth > depth)
			pop(track, mark->ns, true);
		mark_say(&track->open[depth - 1], more);
		pop(track, mark->ns, false);
	} else {
		slices_end_all(track, mark->ns);
		mark->partial = true;
		mark_say(mark, more);
		slices_whole(track, mark, unseen_ns(track));
	}
}

void slices_begin_anew(struct trace_slices *track, uint64_t ns)
{
	slices_end_all(track, track->last_ns);
	track->floor_ns = track->drawn_ns;
	track->since_ns = ns;
}

void slices_cut(struct trace_slices *track, uint64_t ns)
{
	track->drawn_ns = track->last_ns;
	slices_begin_anew(track, ns);
}

bool slices_has(const struct trace_slices *track, enum trace_mark_kind kind,
		uint64_t key)
{
	return find_open(track, kind, key) > 0;
}

void slices_free(struct trace_slices *track)
{
	free(track->open);
	free(track->keys);
}
