/* SPDX-License-Identifier: MIT */
/* trace_player.h - state shared by trace_play.c, which follows the order of events and their
 * gaps, and trace_draw.c, which draws one event */
#ifndef SKUA_BPF_TRACE_PLAYER_H
#define SKUA_BPF_TRACE_PLAYER_H

#include "bpf/recording/addresses.h"
#include "bpf/recording/trace_play.h"
#include "bpf/recording/trace_slices.h"

struct player_track {
	struct trace_slices slices;
	bool gap;     /* events are missing after its last one */
	bool started; /* it had an event other than EVENT_CLOCK */
};

/* The track of a worker. */
struct player_place {
	uint32_t runtime, index;
	unsigned track;
};

struct player {
	struct trace *trace;
	struct trace_sink *sink;
	struct player_track *tracks;
	struct player_place *places; /* sorted by runtime and index */
	struct addresses waits;      /* tasks that are runnable and wait */
	unsigned gaps; /* tracks with a gap; while there is one, waits are
			* unknown */
	uint64_t flows;
	uint64_t ns;
	uint64_t counted, counted_ns;
	int failed;
};

/* player_open - make the tracks of a trace. Return: 0; -ENOMEM. The caller closes it with
 * player_close() in any case */
int player_open(struct player *player, struct trace *trace,
		struct trace_sink *sink);
void player_close(struct player *player);

/* player_find_worker - return the track of a worker of the event's runtime; NULL: none */
const struct player_place *player_find_worker(const struct player *player,
					      const struct trace_event *event,
					      uint32_t index);

/* player_set_name - set a mark's name to that of a function or type, or to its address */
void player_set_name(const struct player *player, struct trace_mark *mark,
		     const char *before, enum trace_name_of of,
		     uint64_t address);

/* player_begin - begin a slice on the mark's track */
void player_begin(struct player *player, struct trace_mark *mark, uint64_t key);

/* player_name_kind - return the kind of the name that a poll's beginning has */
static inline enum trace_name_of player_name_kind(uint32_t detail)
{
	return detail == EVENT_NAME_TYPE ? TRACE_NAME_TYPE
					 : TRACE_NAME_FUNCTION;
}

/* player_draw - draw an event (trace_draw.c) */
void player_draw(struct player *player, const struct trace_event *event);

#endif
