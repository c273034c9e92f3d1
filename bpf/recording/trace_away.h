/* SPDX-License-Identifier: MIT */
/**
 * trace_away.h - draw when the threads of a file had no CPU
 *
 * Each stream whose thread was watched gets a second track beside its own.
 */
#ifndef SKUA_BPF_TRACE_AWAY_H
#define SKUA_BPF_TRACE_AWAY_H

#include "bpf/recording/trace_play.h"

#define TRACE_AWAY_LABEL (TRACE_LABEL + 32u)

/* trace_away_any - return true if the second track of a stream has a slice */
bool trace_away_any(const struct trace *trace, unsigned source);

/* trace_away_track - return the number of the second track of a stream; it is
 * not the number of any source */
unsigned trace_away_track(const struct trace *trace, unsigned source);

/* trace_away_label - write the name of the second track, in TRACE_AWAY_LABEL
 * bytes */
void trace_away_label(const struct trace *trace, unsigned source, char *text);

/* trace_away_play - draw all slices of these tracks, as TRACE_AWAY. Slices of a
 * track do not overlap */
void trace_away_play(const struct trace *trace, struct trace_sink *sink);

#endif
