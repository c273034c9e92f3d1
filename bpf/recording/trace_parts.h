/* SPDX-License-Identifier: MIT */
/* trace_parts.h - what trace_file.c has read, and trace_merge.c puts in order */
#ifndef SKUA_BPF_TRACE_PARTS_H
#define SKUA_BPF_TRACE_PARTS_H

#include "bpf/recording/trace_clock.h"
#include "bpf/recording/trace_file.h"
#include "bpf/recording/offcpu.h"
#include "bpf/recording/trace_window.h"

/* Events with numbers that follow each other. */
struct trace_segment {
	uint64_t at; /* in the file */
	uint64_t first;
	uint32_t count;
};

struct trace_track {
	struct trace_source what;
	struct trace_segment *segments;
	size_t segment_count, segment_room;
	struct trace_clock clock;

	/* Where the merge is. */
	size_t segment;
	uint32_t offset; /* in it, of the next to be read */
	struct event *buffer;
	uint32_t buffered, taken;
	uint64_t lost; /* before what comes next */
	struct trace_event next;
};

struct trace {
	int failed;
	struct trace_about about;
	struct trace_track *sources;
	unsigned source_count, source_room;
	uint32_t *by_id; /* indices of sources */
	bool several;    /* runtimes */
	struct trace_name *names;
	size_t name_count, name_room;

	struct offcpu offs;

	struct trace_window *window;

	/* Sources that have a next event, a heap by its time. */
	unsigned *heap;
	unsigned heap_count;
	bool merging;
};

/* trace_behind - the number of the event that would follow */
static inline uint64_t trace_behind(const struct trace_segment *segment)
{
	return segment->first + segment->count;
}

#endif
