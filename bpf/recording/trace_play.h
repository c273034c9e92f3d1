/* SPDX-License-Identifier: MIT */
/**
 * trace_play.h - the events of a file as what can be drawn
 *
 * Each stream is a track. Polls, jobs and sleeps are slices, which begin and end;
 * where one has no beginning, or no end, as events were lost or the recording
 * began or stopped meanwhile, it is as long as what is known of its track. Slices
 * of a track are one inside the other, or do not touch.
 */
#ifndef SKUA_BPF_TRACE_PLAY_H
#define SKUA_BPF_TRACE_PLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/recording/trace_file.h"

enum trace_mark_kind {
	TRACE_POLL,
	TRACE_JOB,
	TRACE_PARK,
	TRACE_SEARCH, /* that found something */
	TRACE_AWAY,   /* without a CPU (trace_away.h) */
	/* These are instants. */
	TRACE_GAP, /* events are missing */
	TRACE_READY,
	TRACE_STEAL,
	TRACE_STOLEN, /* from it */
	TRACE_NOTHING,
	TRACE_QUEUE,
	TRACE_STALL,
	TRACE_LATE, /* it calls its pollers, after so many ns */
};

enum { TRACE_ARGS = 3, TRACE_TEXT = 80 };

/* A remark on a mark; without a key: nothing more. */
struct trace_arg {
	const char *key;
	const char *text; /* NULL: a number */
	uint64_t number;
	bool address;
};

/**
 * struct trace_mark - a slice, or an instant
 * @track: the index of its source
 * @ns, @end_ns: the latter is known at its end
 * @flow_in, @flow_out: number of an arrow that ends or begins here; 0: none
 * @waited_ns: of a poll, if @waited: since it was made runnable
 * @waited_on: likewise: the track that made it so
 * @number: of a steal: tasks; of TRACE_LATE: ns
 * @partial: its beginning or end is not known
 * @name: printable ASCII, as all texts
 */
struct trace_mark {
	enum trace_mark_kind kind;
	unsigned track;
	uint64_t ns;
	uint64_t end_ns;
	uint64_t flow_in;
	uint64_t flow_out;
	uint64_t waited_ns;
	uint64_t number;
	unsigned waited_on;
	bool waited;
	bool partial;
	char name[TRACE_TEXT];
	unsigned
		args_first; /* of a slice: those that were said at its beginning */
	struct trace_arg args[TRACE_ARGS];
};

/**
 * struct trace_sink - the drawing functions; each may be NULL
 * @begin: of a slice; those of a track come in the order of their times, but that
 *         of a slice whose beginning was not recorded comes when it ends
 * @end: of the slice of the track that began last
 * @count: so many tasks were seen to become runnable, and wait
 * @stop: no more events come; slices that are still open end after that
 * @left: behind @stop, of each task that waits then, since when, and the track that
 * made it runnable
 */
struct trace_sink {
	void (*begin)(struct trace_sink *sink, const struct trace_mark *mark);
	void (*end)(struct trace_sink *sink, const struct trace_mark *mark);
	void (*instant)(struct trace_sink *sink, const struct trace_mark *mark);
	void (*count)(struct trace_sink *sink, uint64_t ns, uint64_t waiting);
	void (*stop)(struct trace_sink *sink, uint64_t ns);
	void (*left)(struct trace_sink *sink, uint64_t since_ns,
		     unsigned track);
};

/* trace_category - of marks of that kind: a word */
const char *trace_category(enum trace_mark_kind kind);

/**
 * trace_play - all events of a trace that was just opened
 *
 * Return: 0; -ENOMEM; trace_failed().
 */
int trace_play(struct trace *trace, struct trace_sink *sink);

#endif
