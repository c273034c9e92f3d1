/* SPDX-License-Identifier: MIT */
/**
 * trace_file.h - events in a file: its form, and what writes it
 *
 * A header, then chunks, each with its kind and length in front of it; PROBES.md
 * describes them. All numbers are little-endian. A file may be written while
 * events come in, and is good up to where it ends.
 *
 * The writer allocates nothing, keeps nothing back, and knows no runtime: any
 * program that has events can use it. bpf/recording/trace_file.h reads.
 */
#ifndef SKUA_PROBES_TRACE_FILE_H
#define SKUA_PROBES_TRACE_FILE_H

#include <stdint.h>

#include "probes/events.h"

#define TRACE_MAGIC   UINT64_C(0x6361727461756b73) /* "skuatrac" */
#define TRACE_VERSION UINT32_C(1)

/* A reader leaves out chunks of other kinds. New kinds may come, and new
 * fields at the end of each: the version changes when one goes. */
enum trace_kind {
	TRACE_META = 1, /* struct trace_meta, once, first */
	TRACE_STREAM,   /* struct trace_stream; a later one of its id counts */
	TRACE_NAME,     /* struct trace_name */
	TRACE_EVENTS,   /* struct trace_events, and then the events */
	TRACE_END,      /* struct trace_end, once, last */
	TRACE_SWITCHES, /* struct trace_switches, and then the switches */
	TRACE_BEFORE, /* struct trace_before; a later one of a stream counts */
};

struct trace_header {
	uint64_t magic;
	uint32_t version;
	uint32_t bytes; /* of this struct */
};

struct trace_chunk {
	uint32_t kind;  /* enum trace_kind */
	uint32_t bytes; /* of what follows: a multiple of 8 */
};

#define TRACE_CHUNK_MAX (UINT32_C(1) << 26)

/* The processor's counter, as in struct event. */
enum trace_counter { TRACE_UNKNOWN, TRACE_TSC, TRACE_CNTVCT };

/* The counter at a time; 0, 0: it was not read. */
struct trace_moment {
	uint64_t counter;
	uint64_t monotonic_ns;
};

/* Texts end with 0. */
struct trace_meta {
	uint32_t pid;
	uint32_t counter; /* enum trace_counter */
	struct trace_moment start;
	uint64_t realtime_ns; /* at the start */
	uint32_t area_abi;    /* that the events are of */
	uint32_t reserved;
	char program[64];
	char library[16]; /* its version */
	char kernel[64];
};

#define TRACE_OUTSIDE UINT32_MAX

/* Where events come from: a worker, or the threads that are none. */
struct trace_stream {
	uint32_t id;      /* that its events name */
	uint32_t runtime; /* which one in the process, from 0 */
	uint32_t index;   /* of the worker; TRACE_OUTSIDE */
	uint32_t tid;     /* 0: unknown */
	int32_t cpu;      /* -1: bound to none */
	int32_t node;
};

#define TRACE_STREAMS 65536u /* ids are below that */

/* The name of an address in events. */
enum trace_name_of { TRACE_NAME_FUNCTION, TRACE_NAME_TYPE };

struct trace_name {
	uint64_t address;
	uint32_t of; /* enum trace_name_of */
	uint32_t reserved;
	char text[64];
};

/* Numbers count from when the stream began. Those that are in no chunk are lost,
 * if there are some before and behind them. An event may be of EVENT_NONE: it
 * is lost, too. */
struct trace_events {
	uint64_t first; /* the number of the first */
	uint32_t stream;
	uint32_t count; /* that follow */
};

enum trace_switch_kind {
	TRACE_SWITCH_IN = 1, /* it runs; other: the thread that had the CPU */
	TRACE_SWITCH_PREEMPTED, /* it would go on; other: the thread that runs next */
	TRACE_SWITCH_ASLEEP, /* it waits for something; likewise */
	TRACE_SWITCH_WOKEN, /* it would go on; other: the thread that woke it */
	TRACE_SWITCH_INSTEAD, /* it still would; other: the thread on the CPU now */
	TRACE_SWITCH_STOPPED, /* a signal, or a debugger, has stopped it */
};

/* A step of the kernel with a thread of the process. */
struct trace_switch {
	uint64_t ns; /* CLOCK_MONOTONIC */
	uint32_t tid;
	uint32_t other; /* a thread; 0: it is not known by number here */
	uint32_t kind;  /* enum trace_switch_kind */
	uint32_t lost;  /* that are missing just before this one */
	/* Of the other's process, or of the thread if that is this process; empty:
	 * the CPU was idle, or will be. */
	char comm[16];
};

/* All switches from the one time to the other, except those lost. A thread
 * without any ran all the time, or slept. */
struct trace_switches {
	uint64_t from_ns;
	uint64_t until_ns;
	uint32_t count; /* that follow */
	uint32_t reserved;
};

/* A poll that had begun before the recording, of which there may be no event: it was
 * seen to go on from the one time of CLOCK_MONOTONIC to the other. */
struct trace_before {
	uint64_t from_ns;
	uint64_t until_ns;
	uint64_t task;
	uint64_t name;   /* its type, or poll function: */
	uint32_t detail; /* enum event_name */
	uint32_t stream;
};

enum trace_reason {
	TRACE_FINISHED,
	TRACE_ENDED, /* the process did, or runs another program */
	TRACE_FAILED,
};

struct trace_end {
	struct trace_moment stop;
	uint32_t reason; /* enum trace_reason */
	uint32_t reserved;
};

/* trace_now - the counter and the time, as near to each other as can be */
struct trace_moment trace_now(void);

/* trace_counter_here - what events of this machine are timed by */
enum trace_counter trace_counter_here(void);

/**
 * struct trace_writer - a file that is being written
 * @fd: borrowed
 * @error: of the first write that failed: -errno; no more is written then
 * @bytes: that were written
 */
struct trace_writer {
	int fd;
	int error;
	uint64_t bytes;
};

/**
 * trace_write_start - the header, and what is recorded
 *
 * Like the functions below. Threads: one at a time. Blocks: as the file does.
 * Allocates: nothing. Return: 0, or the writer's error.
 */
int trace_write_start(struct trace_writer *w, int fd,
		      const struct trace_meta *meta);
int trace_write_stream(struct trace_writer *w,
		       const struct trace_stream *stream);

/* trace_write_name - @text is cut to what there is room for */
int trace_write_name(struct trace_writer *w, enum trace_name_of of,
		     uint64_t address, const char *text);

/* trace_write_events - @count events of a stream, whose first has that number */
int trace_write_events(struct trace_writer *w, uint32_t stream, uint64_t first,
		       const struct event *events, uint32_t count);
int trace_write_before(struct trace_writer *w,
		       const struct trace_before *before);
int trace_write_end(struct trace_writer *w, enum trace_reason reason);

/* trace_write_switches - at most TRACE_SWITCHES_MAX; more are cut off */
#define TRACE_SWITCHES_MAX (UINT32_C(1) << 20)
int trace_write_switches(struct trace_writer *w, uint64_t from_ns,
			 uint64_t until_ns, const struct trace_switch *switches,
			 uint32_t count);

#endif
