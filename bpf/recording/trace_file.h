/* SPDX-License-Identifier: MIT */
/**
 * trace_file.h - reads a file of events (probes/trace_file.h)
 *
 * The file is hostile: its numbers may be any, and it may end anywhere. Impossible
 * parts are left out. Memory holds only the places of chunks and the times in them;
 * events are read when trace_next() needs them.
 */
#ifndef SKUA_BPF_TRACE_FILE_H
#define SKUA_BPF_TRACE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "probes/events.h"
#include "probes/trace_file.h"
#include "skua/base.h"

struct trace;
struct offcpu;

/**
 * struct trace_about - facts about the whole file
 * @meta, @origin: their texts are terminated and printable ASCII
 * @end: all 0 if @cut
 * @cut: the file ends too early
 * @timeless: no rate of the counter is known: times are ticks of the counter
 * @events, @lost: sums over all streams
 * @left_out: number of streams left out because there are more than TRACE_SOURCES
 */
struct trace_about {
	struct trace_meta meta;
	struct trace_origin origin;
	struct trace_end end;
	bool cut;
	bool timeless;
	uint64_t events;
	uint64_t lost;
	unsigned left_out;
};

/* A runtime has a stream for each worker and one for all other threads. */
#define TRACE_SOURCES 4096u

/* A stream. @before: the poll that had begun before the recording; its until_ns
 * is 0 if there is none. @thread: its tid; 0 if other streams have the same.
 * @lost: the number of events lost before, between and after the others. */
struct trace_source {
	struct trace_stream stream;
	struct trace_before before;
	uint32_t thread;
	uint64_t events;
	uint64_t lost;
};

/**
 * struct trace_event - one event
 * @event: any kind except EVENT_NONE; kinds unknown to this version are possible
 * @ns: its time, CLOCK_MONOTONIC; never before that of the previous event
 * @lost: number of events missing just before it in its stream
 * @gap: events are missing just after it
 * @source: its stream, for trace_source()
 */
struct trace_event {
	struct event event;
	uint64_t ns;
	uint64_t lost;
	bool gap;
	unsigned source;
};

/**
 * trace_open - open a file of events
 * @out: receives the trace, which the caller closes with trace_close(); NULL on failure
 *
 * Return: 0; -ENOMEM; -EINVAL (not such a file); the system's error. @err receives
 * the message, without the name of the file.
 */
int trace_open(struct trace **out, const char *path, struct skua_error *err);
void trace_close(struct trace *trace);

const struct trace_about *trace_about(const struct trace *trace);
unsigned trace_sources(const struct trace *trace);
const struct trace_source *trace_source(const struct trace *trace,
					unsigned index);

/* trace_label - write the name of a source, in TRACE_LABEL bytes */
#define TRACE_LABEL 48u
void trace_label(const struct trace *trace, unsigned index, char *text);

/* trace_name - return the name of the symbol at an address, printable ASCII; or
 * NULL */
const char *trace_name(const struct trace *trace, enum trace_name_of of,
		       uint64_t address);

/* trace_calls - return the calls of skua_run() that were seen from outside; @count receives
 * their number. The stream of each is the index of a source */
const struct trace_call *trace_calls(const struct trace *trace, size_t *count);

/* trace_offcpu - return when its threads had no CPU (bpf/recording/offcpu.h) */
const struct offcpu *trace_offcpu(const struct trace *trace);

/* trace_next - get the next event of all streams, in the order of time. Return:
 * false at the end or on failure; trace_failed() tells which */
bool trace_next(struct trace *trace, struct trace_event *out);

/* trace_failed - return 0, or the -errno of a failed read */
int trace_failed(const struct trace *trace);

#endif
