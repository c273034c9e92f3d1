/* SPDX-License-Identifier: MIT */
/**
 * trace_slices.h - draws one track: nested slices, and instants, in the order of time
 *
 * If events are missing, a slice covers only the part that was recorded.
 */
#ifndef SKUA_BPF_TRACE_SLICES_H
#define SKUA_BPF_TRACE_SLICES_H

#include "bpf/recording/trace_play.h"

/**
 * struct trace_slices - a track; zero it, and set @sink, which draws
 * @open: the slices without an end yet
 * @keys: for each slice in @open, the address of its task, or 0
 * @deeper: number of open slices left out because they are nested too deeply
 * @since_ns: no event is missing from then on
 * @floor_ns: time of the last mark before @since_ns. A slice that began between the two
 *            is drawn from @since_ns, or earlier if it must enclose others, but never
 *            from before @floor_ns
 * @last_ns: time of the last event
 * @drawn_ns: time of the last mark that was drawn
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

/* mark_of - return a mark with the time and the track of an event */
struct trace_mark mark_of(enum trace_mark_kind kind, const char *name,
			  const struct trace_event *event);

/* mark_say - add a detail, if there is room; @arg may be NULL */
void mark_say(struct trace_mark *mark, const struct trace_arg *arg);
void mark_say_number(struct trace_mark *mark, const char *key, uint64_t number);
void mark_say_address(struct trace_mark *mark, const char *key, uint64_t to);

void slices_instant(struct trace_slices *track, const struct trace_mark *mark);

/* slices_begin - begin a slice inside the open ones. Return: 0 or -ENOMEM */
int slices_begin(struct trace_slices *track, struct trace_mark *mark,
		 uint64_t key);

/* slices_has - return true if a slice of that kind and key is open */
bool slices_has(const struct trace_slices *track, enum trace_mark_kind kind,
		uint64_t key);

/**
 * slices_end - end a slice, and all slices inside it
 * @mark: drawn as a whole slice if its beginning was not seen
 * @more: a detail to add in either case; may be NULL
 */
void slices_end(struct trace_slices *track, struct trace_mark *mark,
		uint64_t key, const struct trace_arg *more);

/* slices_end_all - end all open slices, whose real ends were not seen */
void slices_end_all(struct trace_slices *track, uint64_t ns);

/* slices_whole - draw a slice that is over, with both its ends */
void slices_whole(struct trace_slices *track, struct trace_mark *mark,
		  uint64_t from_ns);

/* slices_begin_anew - end all open slices: later events are unrelated to
 * earlier ones */
void slices_begin_anew(struct trace_slices *track, uint64_t ns);

/* slices_cut - like slices_begin_anew(), if events between the last one and @ns
 * are missing */
void slices_cut(struct trace_slices *track, uint64_t ns);

#endif
