/* SPDX-License-Identifier: MIT */
/* trace_parts.h - state shared by trace_file.c, which reads the file, and
 * trace_merge.c, which merges its streams */
#ifndef SKUA_BPF_TRACE_PARTS_H
#define SKUA_BPF_TRACE_PARTS_H

#include "bpf/recording/trace_clock.h"
#include "bpf/recording/trace_file.h"
#include "bpf/recording/offcpu.h"
#include "bpf/recording/trace_window.h"

/* Events with consecutive numbers. */
struct trace_segment {
	uint64_t at; /* offset in the file */
	uint64_t first;
	uint32_t count;
};

struct trace_track {
	struct trace_source what;
	struct trace_segment *segments;
	size_t segment_count, segment_room;
	struct trace_clock clock;
	bool begun; /* expected is valid */
	uint64_t
		expected; /* number of the next event, unless events are lost */

	/* The position of the merge. */
	size_t segment;
	uint32_t offset; /* of the next event to read, in the segment */
	struct event *buffer;
	uint32_t buffered, taken;
	uint64_t lost; /* events lost before the next one */
	struct trace_event next;
};

struct trace {
	int failed;
	struct trace_about about;
	struct trace_track *sources;
	unsigned source_count, source_room;
	uint32_t *by_id; /* index in sources, by stream id */
	bool several;    /* there are several runtimes */
	struct trace_name *names;
	size_t name_count, name_room;

	struct trace_call *calls;
	size_t call_count, call_room;

	struct offcpu offs;

	struct trace_window *window;

	/* Indices of sources with a next event: a heap by its time. */
	unsigned *heap;
	unsigned heap_count;
	bool merging;
};

/* trace_behind - return the number of the event after the segment */
static inline uint64_t trace_behind(const struct trace_segment *segment)
{
	return segment->first + segment->count;
}

#endif
