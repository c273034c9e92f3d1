/* SPDX-License-Identifier: MIT */
/**
 * trace_away.h - when the threads of a file had no CPU, as what can be drawn
 *
 * Beside the track of each stream, whose thread was watched, as one more track.
 */
#ifndef SKUA_BPF_TRACE_AWAY_H
#define SKUA_BPF_TRACE_AWAY_H

#include "bpf/recording/trace_play.h"

#define TRACE_AWAY_LABEL (TRACE_LABEL + 32u)

/* trace_away_any - is there anything on that track? */
bool trace_away_any(const struct trace *trace, unsigned source);

/* trace_away_track - the number of that track: of no source */
unsigned trace_away_track(const struct trace *trace, unsigned source);

/* trace_away_label - what to call it, in TRACE_AWAY_LABEL bytes */
void trace_away_label(const struct trace *trace, unsigned source, char *text);

/* trace_away_play - all that is on these tracks: slices that do not touch each other
 * but at their ends, TRACE_AWAY */
void trace_away_play(const struct trace *trace, struct trace_sink *sink);

#endif
