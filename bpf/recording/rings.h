/* SPDX-License-Identifier: MIT */
/**
 * rings.h - copies what a process records (probes/events.h) to a file
 *
 * All that is read is hostile, as target.h says: whatever comes, the file is one
 * that can be read.
 */
#ifndef SKUA_BPF_RINGS_H
#define SKUA_BPF_RINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "bpf/target/target.h"
#include "probes/trace_file.h"

/* Events of a ring; one of more cannot be right. */
#define RINGS_MAX_EVENTS (UINT64_C(1) << 26)

struct rings;

/**
 * struct rings_stream - what came of a stream
 * @stream: as in the file
 * @written: events
 * @lost: overwritten before they were read
 * @error: why there is no ring: -errno; 0: none was needed, or there is one; -EILSEQ:
 *         what the process says of it cannot be right:
 * @bad_events, @bad_address: that
 * @here: there is one
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
 * @now: called between two pieces of work, each of at most a megabyte; true: they
 *       return -EINTR. NULL: never
 */
struct rings_stop {
	bool (*now)(void *context);
	void *context;
};

/**
 * rings_open - what the runtimes of a process have
 * @target, @writer: borrowed; the writer's file was begun
 * @stop: copied; NULL: never
 * @keep_ns: what was recorded before is left out, unless others want the runtime to
 *           record until later than this
 *
 * Return: 0; -ENOMEM; -EINTR. To be closed in any case.
 */
int rings_open(struct rings **out, struct target *target,
	       struct trace_writer *writer, uint64_t keep_ns,
	       const struct rings_stop *stop);
void rings_close(struct rings *rings);

/* rings_refresh - runtimes may have come and gone; 0; -EINTR; or -errno as of
 * target.h */
int rings_refresh(struct rings *rings);

/* rings_are_full - was a runtime left out, as a recording has at most TRACE_SOURCES
 * streams (bpf/recording/trace_file.h)? Those of runtimes that have ended count as well */
bool rings_are_full(const struct rings *rings);

/**
 * rings_extend - have all record until then
 * @ns: CLOCK_MONOTONIC; 0: no longer
 *
 * Return: 0; -EINTR, which has them do so nevertheless; or -errno as of target.h
 */
int rings_extend(struct rings *rings, uint64_t ns);

/**
 * rings_copy - write what has come
 * @last: also what is not complete yet
 * @fullest: receives how full a ring was at most: 1 and more, if some was lost
 *
 * Return: 0; -ESRCH; -ENOMEM; -EINTR, and all that was copied before is whole; the
 * writer's error.
 */
int rings_copy(struct rings *rings, bool last, double *fullest);

/* rings_finish - write what is known of polls that had begun before all this. Return: 0;
 * -ENOMEM; -EINTR; the writer's error */
int rings_finish(struct rings *rings);

unsigned rings_count(const struct rings *rings);
const struct rings_stream *rings_stream(const struct rings *rings,
					unsigned index);

/* rings_runtime - of that stream; NULL: it has gone, as far as rings_refresh() saw */
const struct target_runtime *rings_runtime(const struct rings *rings,
					   unsigned index);

#endif
