/* SPDX-License-Identifier: MIT */
/**
 * trace_play.h - turns the events of a file into slices and instants to draw
 *
 * Each stream is a track. Polls, jobs and sleeps are slices, which begin and end. If
 * the beginning or the end was not recorded, because events were lost or the recording
 * began or stopped in between, the slice covers only the part that was recorded.
 * Slices of a track are nested or do not touch.
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
	TRACE_SEARCH, /* a search that found work */
	TRACE_AWAY,   /* time without a CPU (trace_away.h) */
	/* The kinds below are instants. */
	TRACE_GAP, /* events are missing */
	TRACE_READY,
	TRACE_STEAL,
	TRACE_STOLEN, /* tasks of this worker were stolen */
	TRACE_NOTHING,
	TRACE_QUEUE,
	TRACE_STALL,
	TRACE_LATE,    /* the worker calls its pollers late, by this many ns */
	TRACE_WAIT,    /* a task has to wait for an object */
	TRACE_HELD,    /* the holder of that object */
	TRACE_GIVE_UP, /* a task has waited for an object in vain */
	TRACE_REAP,    /* a worker has taken an event of a descriptor */
	TRACE_NEW_LABEL, /* the task that is polled has another label from now on */
	TRACE_FORK, /* a thread calls skua_run(), waits in a join, or helps meanwhile */
};

enum { TRACE_ARGS = 3, TRACE_TEXT = 80 };

/* A detail of a mark. Without a key: end of the list. */
struct trace_arg {
	const char *key;
	const char *text; /* NULL: the value is a number */
	uint64_t number;
	bool address;
};

/**
 * struct trace_mark - a slice, or an instant
 * @track: the index of its source
 * @ns: when the mark begins
 * @end_ns: when the mark ends; a slice has this only when the sink's @end is
 *         called
 * @flow_in, @flow_out: number of the arrow that ends or begins here; 0: none
 * @waited: of a poll: the two fields below are valid
 * @waited_ns: how long the task was runnable before the poll
 * @waited_on: the track that made the task runnable
 * @number: of a steal: the number of tasks; of TRACE_LATE: ns; of TRACE_WAIT: enum
 *         area_wait_kind; of TRACE_REAP: the time of the look for events before; of
 *         TRACE_FORK: enum event_kind; of a job: the place of its victim
 * @thread, @place: of TRACE_FORK: the thread, and its place, or that of the victim
 * @function: of TRACE_FORK: address of the function that the event names
 * @again: of TRACE_WAIT: the task goes on with its last wait for the object
 * @slept, @full: of TRACE_REAP: EVENT_REAP_...
 * @named: of TRACE_NEW_LABEL: the task has a label, which is @name
 * @partial: the beginning or the end of the mark was not recorded
 * @name: printable ASCII, like all texts
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
	uint64_t function;
	unsigned waited_on;
	uint32_t thread, place;
	bool waited;
	bool partial;
	bool again;
	bool slept, full;
	bool named;
	char name[TRACE_TEXT];
	unsigned args_first; /* of a slice: args known at its beginning */
	struct trace_arg args[TRACE_ARGS];
};

/**
 * struct trace_sink - the drawing functions; each may be NULL
 * @begin: begins a slice. Slices of a track begin in the order of time, except that a
 *         slice whose beginning was not recorded begins when it ends
 * @end: ends the slice of the track that began last
 * @instant: draws an instant
 * @count: receives the number of tasks that are runnable and wait
 * @stop: called when there are no more events; slices still open end after it
 * @left: called after @stop for each task that still waits, with the time since when it
 *        waits and the track that made it runnable
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

/* trace_category - return the category of marks of a kind: one word */
const char *trace_category(enum trace_mark_kind kind);

/**
 * trace_play - send all events of a newly opened trace to a sink
 *
 * Return: 0; -ENOMEM; trace_failed().
 */
int trace_play(struct trace *trace, struct trace_sink *sink);

#endif
