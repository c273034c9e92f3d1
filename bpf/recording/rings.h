/* SPDX-License-Identifier: MIT */
/**
 * rings.h - copies the events that a process records (probes/events.h) to a file
 *
 * The memory of the process is hostile, as target.h says: whatever it contains, the
 * file is always a valid recording.
 */
#ifndef SKUA_BPF_RINGS_H
#define SKUA_BPF_RINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "bpf/target/target.h"
#include "probes/trace_file.h"

/* Most events of a ring; a process that claims more is not believed. */
#define RINGS_MAX_EVENTS (UINT64_C(1) << 26)

struct rings;

/**
 * struct rings_stream - the result of copying a stream
 * @stream: as in the file
 * @written: number of events written
 * @lost: number of events overwritten before they were read, or never completed. A reader of
 *        the file counts as many of both
 * @error: why there is no ring, as -errno; 0: there is a ring, or none was needed;
 *         -EILSEQ: the process describes an impossible ring
 * @bad_events, @bad_address: with -EILSEQ, the impossible description
 * @here: there is a ring
 */
struct rings_stream {
	struct trace_stream stream;
	uint64_t written;
	uint64_t lost;
	int error;
	uint64_t bad_events, bad_address;
	bool here;
};

/**
 * struct rings_stop - tells the functions below when to give up
 * @now: called between two pieces of work, each of at most a megabyte. If it returns
 *       true, the function that called it returns -EINTR. NULL: never
 */
struct rings_stop {
	bool (*now)(void *context);
	void *context;
};

/**
 * rings_open - find the rings of all runtimes of a process
 * @target, @writer: borrowed; the writer's file was begun
 * @stop: copied; NULL: never
 * @keep_ns: CLOCK_MONOTONIC. Events recorded before this call are left out, unless their
 *           runtime had already been told to record until a time after @keep_ns
 *
 * Return: 0; -ENOMEM; -EINTR. The caller closes it with rings_close() in any case.
 */
int rings_open(struct rings **out, struct target *target,
	       struct trace_writer *writer, uint64_t keep_ns,
	       const struct rings_stop *stop);
void rings_close(struct rings *rings);

/* rings_refresh - find runtimes that started or ended. Return: 0; -EINTR; or
 * -errno as in target.h */
int rings_refresh(struct rings *rings);

/* rings_are_full - return true if a runtime was left out because a recording
 * has at most TRACE_SOURCES streams (bpf/recording/trace_file.h). Streams of
 * ended runtimes count as well */
bool rings_are_full(const struct rings *rings);

/* rings_lack_names - return true if locks or holders got no name because there are too many
 * (OBJECT_NAMES_MAX, bpf/recording/object_names.h) */
bool rings_lack_names(const struct rings *rings);

/**
 * rings_extend - make all runtimes record until a time
 * @ns: CLOCK_MONOTONIC; 0: stop recording
 *
 * Return: 0; -EINTR, after the time was set nevertheless; or -errno as in target.h
 */
int rings_extend(struct rings *rings, uint64_t ns);

/**
 * rings_copy - write the new events
 * @last: do not wait for events that are not complete yet: write them as missing
 * @fullest: receives the fill level of the fullest ring; 1 or more if events were lost
 *
 * Return: 0; -ESRCH; -ENOMEM; -EINTR, and all events copied before are whole; the
 * writer's error.
 */
int rings_copy(struct rings *rings, bool last, double *fullest);

/* rings_finish - write the known data of polls and calls that began before the
 * recording.
 * Return: 0; -ENOMEM; -EINTR; the writer's error */
int rings_finish(struct rings *rings);

unsigned rings_count(const struct rings *rings);
const struct rings_stream *rings_stream(const struct rings *rings,
					unsigned index);

/* rings_runtime - return the runtime of a stream; NULL if rings_refresh() found
 * that it has ended */
const struct target_runtime *rings_runtime(const struct rings *rings,
					   unsigned index);

#endif
