/* SPDX-License-Identifier: MIT */
/**
 * trace_file.h - reads a file of events (probes/trace_file.h)
 *
 * The file is hostile: its numbers may be any, and it may end anywhere. Impossible
 * parts are left out. Only where its chunks are, and the times in it, are kept in
 * memory; events are read when they are asked for.
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
 * struct trace_about - what is said of the whole
 * @meta: its texts end, and are printable ASCII
 * @end: all 0 if @cut
 * @cut: the file ends before it should
 * @timeless: no rate of the counter is known: times are its ticks
 * @events, @lost: of all streams
 * @left_out: streams more than TRACE_SOURCES
 */
struct trace_about {
	struct trace_meta meta;
	struct trace_end end;
	bool cut;
	bool timeless;
	uint64_t events;
	uint64_t lost;
	unsigned left_out;
};

/* A runtime has a stream for each worker and one for the threads that are none. */
#define TRACE_SOURCES 4096u

/* A stream; @lost: between those @events; @thread: its tid, if no
 * other has the same, or 0. @before: of its times the latter is 0 if there is none. */
struct trace_source {
	struct trace_stream stream;
	struct trace_before before;
	uint32_t thread;
	uint64_t events;
	uint64_t lost;
};

/**
 * struct trace_event - one event
 * @event: of any kind but EVENT_NONE; a kind that is not known is possible
 * @ns: its time, of CLOCK_MONOTONIC; never before that of the event before it
 * @lost: so many are missing just before it in its stream
 * @gap: some are missing just behind it
 * @source: of which stream, for trace_source()
 */
struct trace_event {
	struct event event;
	uint64_t ns;
	uint64_t lost;
	bool gap;
	unsigned source;
};

/**
 * trace_open - read what is in a file
 * @out: receives the trace, to be closed; or NULL
 *
 * Return: 0; -ENOMEM; -EINVAL (that is no such file); that of the system. @err
 * has the line without the file's name.
 */
int trace_open(struct trace **out, const char *path, struct skua_error *err);
void trace_close(struct trace *trace);

const struct trace_about *trace_about(const struct trace *trace);
unsigned trace_sources(const struct trace *trace);
const struct trace_source *trace_source(const struct trace *trace,
					unsigned index);

/* trace_label - what to call a source, in TRACE_LABEL bytes */
#define TRACE_LABEL 48u
void trace_label(const struct trace *trace, unsigned index, char *text);

/* trace_name - what is at an address, printable ASCII; or NULL */
const char *trace_name(const struct trace *trace, enum trace_name_of of,
		       uint64_t address);

/* trace_offcpu - when its threads had no CPU (bpf/recording/offcpu.h) */
const struct offcpu *trace_offcpu(const struct trace *trace);

/* trace_next - the next event of all streams, in the order of their times; false:
 * there is none, or it cannot be read: trace_failed() */
bool trace_next(struct trace *trace, struct trace_event *out);

/* trace_failed - 0, or -errno of what could not be read */
int trace_failed(const struct trace *trace);

#endif
