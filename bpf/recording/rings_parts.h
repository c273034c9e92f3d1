/* SPDX-License-Identifier: MIT */
/* rings_parts.h - state shared by rings.c, which has the rings of a process, rings_find.c, which
 * finds them, ring_read.c, which reads the memory of one, ring_copy.c, which copies its
 * events, and rings_names.c, which names what these mention */
#ifndef SKUA_BPF_RINGS_PARTS_H
#define SKUA_BPF_RINGS_PARTS_H

#include <errno.h>

#include "bpf/recording/addresses.h"
#include "bpf/recording/object_names.h"
#include "bpf/recording/open_calls.h"
#include "bpf/recording/open_polls.h"
#include "bpf/recording/rings.h"
#include "bpf/recording/trace_file.h"
#include "probes/events.h"

#define RINGS_AT_ONCE 32768u /* events copied at once */

/* A ring in the process, and the addresses of its words there. */
struct ring {
	struct rings_stream what;
	uint64_t runtime, started_ns; /* identify its runtime */
	uint64_t others_ns; /* until when the runtime had to record at first */
	uint64_t words;     /* address of the words for its address and its
			     * size */
	uint64_t head;
	uint64_t error; /* 0: it has no error word */
	struct open_poll before;
	struct open_calls *calls; /* of outside threads; NULL: of a worker */
	uint64_t next;            /* number of the next event to read */
	bool begun;               /* next is valid */
	bool old;   /* it may have events from before rings_open() */
	bool ended; /* its runtime has ended */
};

struct rings {
	struct target *target;
	struct trace_writer *writer;
	struct rings_stop stop;
	uint64_t keep_ns; /* of rings_open() */
	bool opening;     /* rings_open() has not returned yet */
	struct ring *rings;
	unsigned count;
	size_t room;
	unsigned runtimes;      /* that were ever found */
	bool full;              /* a runtime was left out */
	struct addresses names; /* names already written */
	struct object_names objects;
	struct event *events, *again; /* RINGS_AT_ONCE of each */
};

/* The words of a ring, as read once. */
struct ring_words {
	uint64_t address, events, head;
	int64_t error;
};

/* rings_check_stop - return -EINTR if the caller of these functions gives up. Checked between
 * pieces of work: a hostile process could otherwise keep this command busy forever. */
static inline int rings_check_stop(const struct rings *r)
{
	return r->stop.now && r->stop.now(r->stop.context) ? -EINTR : 0;
}

/* ring_runtime - return the runtime of a ring; NULL: it has ended */
static inline const struct target_runtime *ring_runtime(const struct rings *r,
							const struct ring *ring)
{
	return target_find_runtime(r->target, ring->runtime, ring->started_ns);
}

/* ---- the memory of one ring (ring_read.c) ------------------------------------ */

/* ring_read_words - read and check the words of a ring. Return: 0; -ESRCH; -ENODATA: they
 * cannot be read now, or there is no valid ring; -EAGAIN: runtimes started or ended, so the
 * words may be of something else and are dropped */
int ring_read_words(struct rings *rings, struct ring *ring,
		    struct ring_words *out);

/* ring_read_events - read events from a number on. They may wrap around the end of the
 * ring. Return: 0; -errno of target_read() */
int ring_read_events(struct rings *rings, const struct ring_words *words,
		     uint64_t number, uint64_t count, struct event *to);

/* ring_first_whole - return the oldest event that cannot be overwritten while the next one
 * goes to @head */
uint64_t ring_first_whole(const struct ring_words *words, uint64_t head);

/* ring_settle - find the first event that was not overwritten during a copy, and verify that
 * runtimes are still the same. Return: as ring_read_words() */
int ring_settle(struct rings *rings, const struct ring *ring,
		const struct ring_words *words, uint64_t *first);

/* ---- names (rings_names.c) --------------------------------------------------- */

/* rings_write_name - write the name of a function or type, once. Return: 0; -EINTR; -ENOMEM;
 * the writer's error */
int rings_write_name(struct rings *rings, enum trace_name_of of,
		     uint64_t address);

/* rings_name_kind - return the kind of the name that a poll's beginning has */
static inline enum trace_name_of rings_name_kind(uint32_t detail)
{
	return detail == EVENT_NAME_TYPE ? TRACE_NAME_TYPE
					 : TRACE_NAME_FUNCTION;
}

/* ring_write_names - write the names that events need. Return: as rings_write_name() */
int ring_write_names(struct rings *rings, const struct ring *ring,
		     const struct event *events, uint64_t count);

/* ---- events (ring_copy.c) ---------------------------------------------------- */

/* ring_first_wanted - return the number of the first event to read of a ring. A ring that
 * appeared after rings_open() has only new events. A ring that rings_open() found, but did
 * not read, may also have events of earlier recordings. */
uint64_t ring_first_wanted(const struct rings *rings, const struct ring *ring,
			   const struct ring_words *words);

/* ring_copy - write the new events of a ring. @last, @fullest: as in rings_copy(). Return: as
 * ring_read_words(); -EINTR; -ENOMEM; the writer's error */
int ring_copy(struct rings *rings, struct ring *ring, bool last,
	      double *fullest);

#endif
