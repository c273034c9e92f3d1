/* SPDX-License-Identifier: MIT */
/**
 * trace_file.h - the format of files of events, and functions that write them
 *
 * A file has a header and then chunks; before each chunk are its kind and length. PROBES.md
 * describes them. All numbers are little-endian. A file may be written while events come
 * in, and is valid up to where it ends.
 *
 * The writer allocates nothing, buffers nothing, and needs no runtime: any program that
 * has events can use it. bpf/recording/trace_file.h reads such files.
 */
#ifndef SKUA_PROBES_TRACE_FILE_H
#define SKUA_PROBES_TRACE_FILE_H

#include <stdint.h>

#include "probes/events.h"

#define TRACE_MAGIC   UINT64_C(0x6361727461756b73) /* "skuatrac" */
#define TRACE_VERSION UINT32_C(1)

/* A reader ignores chunks of unknown kinds. New kinds, and new fields at the end of each
 * struct, may be added; the version changes when one is removed. */
enum trace_kind {
	TRACE_META = 1, /* struct trace_meta, once, first */
	TRACE_STREAM, /* struct trace_stream; the last one of an id is valid */
	TRACE_NAME,   /* struct trace_name */
	TRACE_EVENTS, /* struct trace_events, and then the events */
	TRACE_END,    /* struct trace_end, once, last */
	TRACE_SWITCHES, /* struct trace_switches, and then the switches */
	TRACE_BEFORE, /* struct trace_before; the last one of a stream is valid */
	TRACE_ORIGIN, /* struct trace_origin, at most once, before the streams */
	TRACE_CALL,   /* struct trace_call */
};

struct trace_header {
	uint64_t magic;
	uint32_t version;
	uint32_t bytes; /* of this struct */
};

struct trace_chunk {
	uint32_t kind;  /* enum trace_kind */
	uint32_t bytes; /* length of the rest of the chunk: a multiple of 8 */
};

#define TRACE_CHUNK_MAX (UINT32_C(1) << 26)

/* The counter of the processor that times events. */
enum trace_counter { TRACE_UNKNOWN, TRACE_TSC, TRACE_CNTVCT };

/* A value of the counter, and the time when it was read; 0, 0: it was not read. */
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
	uint32_t area_abi;    /* AREA_ABI of the program */
	uint32_t reserved;
	char program[64];
	char library[16]; /* its version */
	char kernel[64];
};

#define TRACE_NO_RANK UINT32_MAX

/* Where the file was made, for tools that show several files together. Texts end
 * with 0. */
struct trace_origin {
	uint32_t rank; /* of the process in its MPI job; TRACE_NO_RANK: none */
	uint32_t reserved;
	char host[64];
	/* Files with the same text have times of the same CLOCK_MONOTONIC. Empty: unknown */
	char clock[64];
};

#define TRACE_OUTSIDE UINT32_MAX

/* The source of events: a worker, or all threads that are no workers. */
struct trace_stream {
	uint32_t id;      /* by which chunks of events refer to it */
	uint32_t runtime; /* number of its runtime in the process, from 0 */
	uint32_t index;   /* of the worker; TRACE_OUTSIDE: no worker */
	uint32_t tid;     /* 0: unknown */
	int32_t cpu;      /* -1: bound to none */
	int32_t node;
};

#define TRACE_STREAMS 65536u /* each id is less than this */

/* The kind of object at an address in events. */
enum trace_name_of {
	TRACE_NAME_FUNCTION,
	TRACE_NAME_TYPE,
	TRACE_NAME_OBJECT, /* as the program named it */
	/* The a of EVENT_HELD: a task's type or function; or of a thread, this and its
	 * number. */
	TRACE_NAME_HOLDER,
#define TRACE_HOLDER_THREAD "thread "
	TRACE_NAME_LABEL, /* the b of EVENT_LABEL: the text */
};

struct trace_name {
	uint64_t address;
	uint32_t of; /* enum trace_name_of */
	uint32_t reserved;
	char text[64];
};

/* Events are numbered from the begin of the stream. If the numbers of two chunks of a
 * stream leave a gap, the events in it are lost; a chunk may have no events, and just bound
 * a gap. An event of kind EVENT_NONE is lost, too. */
struct trace_events {
	uint64_t first; /* the number of the first */
	uint32_t stream;
	uint32_t count; /* number of events that follow */
};

enum trace_switch_kind {
	TRACE_SWITCH_IN = 1, /* it runs; other: the thread that had the CPU */
	TRACE_SWITCH_PREEMPTED, /* it is runnable; other: runs next on the CPU */
	TRACE_SWITCH_ASLEEP,    /* it waits; other: runs next on the CPU */
	TRACE_SWITCH_WOKEN, /* it is runnable; other: the thread that woke it */
	TRACE_SWITCH_INSTEAD, /* it is still runnable; other: runs now */
	TRACE_SWITCH_STOPPED, /* a signal or a debugger has stopped it */
};

/* A decision of the kernel's scheduler about a thread of the process. */
struct trace_switch {
	uint64_t ns; /* CLOCK_MONOTONIC */
	uint32_t tid;
	uint32_t other; /* a thread; 0: its number is not known here */
	uint32_t kind;  /* enum trace_switch_kind */
	uint32_t lost;  /* number of switches lost just before this one */
	/* The name of the other process or, if other is in the same process, of the
	 * thread; empty: the CPU was or will be idle. */
	char comm[16];
};

/* All switches from one time to another, except the lost ones. A thread without switches
 * ran or slept all the time. */
struct trace_switches {
	uint64_t from_ns;
	uint64_t until_ns;
	uint32_t count; /* number of switches that follow */
	uint32_t reserved;
};

/* A poll that began before the recording, so that the file may have no event of its
 * begin. The command observed it from @from_ns to @until_ns, times of CLOCK_MONOTONIC. */
struct trace_before {
	uint64_t from_ns;
	uint64_t until_ns;
	uint64_t task;
	uint64_t name;   /* its type or poll function, as detail says */
	uint32_t detail; /* enum event_name */
	uint32_t stream;
};

/* A call of skua_run() of which the file may have no event of the begin. It began at @from_ns,
 * and the command saw it last at @until_ns, times of CLOCK_MONOTONIC. */
struct trace_call {
	uint64_t from_ns;
	uint64_t until_ns;
	uint64_t root; /* its function */
	uint32_t tid;  /* as in EVENT_RUN_BEGIN, as is the place */
	uint32_t place;
	uint32_t stream; /* of the outside threads of its runtime */
	uint32_t reserved;
};

enum trace_reason {
	TRACE_FINISHED,
	TRACE_ENDED, /* the process ended, or executed another program */
	TRACE_FAILED,
};

struct trace_end {
	struct trace_moment stop;
	uint32_t reason; /* enum trace_reason */
	uint32_t reserved;
};

/* trace_now - read the counter and the time, as close together as possible */
struct trace_moment trace_now(void);

/* trace_counter_here - return the kind of counter that times events on this machine */
enum trace_counter trace_counter_here(void);

/**
 * struct trace_writer - a file that is being written
 * @fd: borrowed
 * @error: -errno of the first write that failed; then no more is written
 * @bytes: the number of bytes written
 */
struct trace_writer {
	int fd;
	int error;
	uint64_t bytes;
};

/**
 * trace_write_start - initialise @w, and write the header and the meta chunk
 *
 * All functions below: Threads: one at a time. Blocks: as the file does. Allocates:
 * nothing. Return: 0, or the writer's error.
 */
int trace_write_start(struct trace_writer *w, int fd,
		      const struct trace_meta *meta);
int trace_write_origin(struct trace_writer *w,
		       const struct trace_origin *origin);
int trace_write_stream(struct trace_writer *w,
		       const struct trace_stream *stream);

/* trace_write_name - write the name of an address; longer texts than fit are cut */
int trace_write_name(struct trace_writer *w, enum trace_name_of of,
		     uint64_t address, const char *text);

/* trace_write_events - write @count events of a stream; @first: the number of the first */
int trace_write_events(struct trace_writer *w, uint32_t stream, uint64_t first,
		       const struct event *events, uint32_t count);

/* trace_write_gap - write that @count events of a stream are lost; @first: the number of the
 * first. Needed only where no events come before the gap, or after it */
int trace_write_gap(struct trace_writer *w, uint32_t stream, uint64_t first,
		    uint64_t count);
int trace_write_before(struct trace_writer *w,
		       const struct trace_before *before);
int trace_write_call(struct trace_writer *w, const struct trace_call *call);
int trace_write_end(struct trace_writer *w, enum trace_reason reason);

/* trace_write_switches - write up to TRACE_SWITCHES_MAX switches; the rest is left out */
#define TRACE_SWITCHES_MAX (UINT32_C(1) << 20)
int trace_write_switches(struct trace_writer *w, uint64_t from_ns,
			 uint64_t until_ns, const struct trace_switch *switches,
			 uint32_t count);

#endif
