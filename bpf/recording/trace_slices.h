/* SPDX-License-Identifier: MIT */
/**
 * trace_slices.h - what is drawn on one track: slices, one inside the other, and
 * instants, in the order of their times
 *
 * Also where events are missing: then a slice is as long as is known.
 */
#ifndef SKUA_BPF_TRACE_SLICES_H
#define SKUA_BPF_TRACE_SLICES_H

#include "bpf/recording/trace_play.h"

/**
 * struct trace_slices - zero it, and set @sink, which draws
 * @open: that have no end yet, and of each its @keys: the task, or 0
 * @deeper: that were left out
 * @since_ns, @floor_ns: from when on nothing is missing, and of the last event before
 *                       that: what began between them begins at the former, as far as
 *                       there is room
 * @last_ns: of the last event
 * @drawn_ns: of the last that was drawn
 * @begun: there was an event
 */
struct trace_slices {
	struct trace_sink *sink;
	struct trace_mark *open;
	uint64_t *keys;
	unsigned depth, room;
	unsigned deeper;
	uint64_t since_ns, floor_ns;
	uint64_t last_ns;
	uint64_t drawn_ns;
	bool begun;
};

void slices_free(struct trace_slices *track);

/* mark_of - a mark that an event makes, of its time */
struct trace_mark mark_of(enum trace_mark_kind kind, const char *name,
			  const struct trace_event *event);

/* mark_say - one thing more, as far as there is room; @arg may be NULL */
void mark_say(struct trace_mark *mark, const struct trace_arg *arg);
void mark_say_number(struct trace_mark *mark, const char *key, uint64_t number);
void mark_say_address(struct trace_mark *mark, const char *key, uint64_t to);

void slices_instant(struct trace_slices *track, const struct trace_mark *mark);

/* slices_begin - a slice in those that are open. Return: 0 or -ENOMEM */
int slices_begin(struct trace_slices *track, struct trace_mark *mark,
		 uint64_t key);

/* slices_has - is one open, of that kind and key? */
bool slices_has(const struct trace_slices *track, enum trace_mark_kind kind,
		uint64_t key);

/**
 * slices_end - the end of that slice, and of those in it
 * @mark: what it is if its beginning was not seen
 * @more: is said of it in either case; may be NULL
 */
void slices_end(struct trace_slices *track, struct trace_mark *mark,
		uint64_t key, const struct trace_arg *more);

/* slices_end_all - of which the end is not seen */
void slices_end_all(struct trace_slices *track, uint64_t ns);

/* slices_whole - one that is over, with the others that it is in or that are in it */
void slices_whole(struct trace_slices *track, struct trace_mark *mark,
		  uint64_t from_ns);

/* slices_begin_anew - what is seen from now on has nothing to do with what was */
void slices_begin_anew(struct trace_slices *track, uint64_t ns);

/* slices_cut - likewise, and what happens from the last event until then is not seen */
void slices_cut(struct trace_slices *track, uint64_t ns);

#endif
