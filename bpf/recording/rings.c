/* SPDX-License-Identifier: MIT */
/* rings.c - see rings.h */
#include "bpf/cli/grow.h"
#include "bpf/recording/rings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/recording/addresses.h"
#include "bpf/recording/open_polls.h"
#include "bpf/recording/trace_file.h"
#include "probes/area.h"
#include "probes/events.h"

#define AT_ONCE      32768u /* events that are copied */
#define MAX_NAMES    65536u
#define MAX_ATTEMPTS 8u

/* A ring in the process; the addresses of its words. */
struct ring {
	struct rings_stream what;
	uint64_t runtime, started_ns; /* whose */
	uint64_t others_ns;           /* until when others want it to record */
	uint64_t words;               /* where it is, and how large */
	uint64_t head;
	uint64_t error; /* 0: there is no such word */
	struct open_poll before;
	uint64_t next; /* number of the first event that was not read */
	bool begun;    /* next says something */
	bool ended;    /* its runtime is gone */
};

struct rings {
	struct target *target;
	struct trace_writer *writer;
	struct rings_stop stop;
	struct ring *rings;
	unsigned count;
	size_t room;
	unsigned runtimes;      /* that were ever seen */
	bool full;              /* one was left out */
	struct addresses names; /* that were looked up */
	struct event *events, *again;
};

/* The words of a ring. */
struct state {
	uint64_t address, events, head;
	int64_t error;
};

/* Words of a process may keep their reader busy for ever. */
static int check_stop(const struct rings *r)
{
	return r->stop.now && r->stop.now(r->stop.context) ? -EINTR : 0;
}

/* ---- which there are ------------------------------------------------------- */

static struct ring *add_ring(struct rings *r,
			     const struct target_runtime *runtime)
{
	struct ring *ring;

	if (!grow(&r->rings, sizeof(*r->rings), r->count, &r->room))
		return NULL;
	ring = &r->rings[r->count];
	*ring = (struct ring){ .runtime = runtime->address,
			       .started_ns = runtime->area.started_ns,
			       .others_ns = runtime->area.record_until_ns };
	ring->what.stream = (struct trace_stream){ .id = r->count++,
						   .runtime = r->runtimes,
						   .index = TRACE_OUTSIDE,
						   .cpu = -1,
						   .node = -1 };
	return ring;
}

static int add_outside(struct rings *r, const struct target_runtime *runtime)
{
	struct ring *ring;

	if (runtime->area.bytes < sizeof(struct area_runtime))
		return 0;
	ring = add_ring(r, runtime);
	if (!ring)
		return -ENOMEM;
	ring->words = runtime->address + offsetof(struct area_runtime, ring);
	ring->head =
		runtime->address + offsetof(struct area_runtime, ring_head);
	return 0;
}

static int add_worker(struct rings *r, const struct target_runtime *runtime,
		      unsigned index)
{
	uint64_t address = runtime->workers[index];
	struct area_worker area;
	struct ring *ring;
	size_t known = offsetof(struct area_worker, ring_error) +
		       sizeof(area.ring_error);
	int code;

	if (runtime->area.worker_bytes < known)
		return 0;
	code = target_read(r->target, address, &area, known);
	if (code)
		return code == -ESRCH ? code : 0;
	ring = add_ring(r, runtime);
	if (!ring)
		return -ENOMEM;
	ring->what.stream.index = index;
	ring->what.stream.tid =
		(uint32_t)target_thread(r->target, (uint32_t)area.tid);
	ring->what.stream.cpu = area.cpu;
	ring->what.stream.node = area.node;
	ring->words = address + offsetof(struct area_worker, ring);
	ring->head = address + offsetof(struct area_worker, ring_head);
	ring->error = address + offsetof(struct area_worker, ring_error);
	return 0;
}

/* NULL: it has gone. */
static const struct target_runtime *runtime_of(const struct rings *r,
					       const struct ring *ring)
{
	return target_find_runtime(r->target, ring->runtime, ring->started_ns);
}

/* A ring of that runtime; NULL: it is new. */
static const struct ring *find_ring(const struct rings *r,
				    const struct target_runtime *runtime)
{
	for (unsigned i = 0; i < r->count; i++)
		if (r->rings[i].runtime == runtime->address &&
		    r->rings[i].started_ns == runtime->area.started_ns)
			return &r->rings[i];
	return NULL;
}

static int add_runtime(struct rings *r, const struct target_runtime *runtime)
{
	unsigned first = r->count;
	int code = check_stop(r);

	if (code || find_ring(r, runtime))
		return code;
	if (r->count + runtime->area.worker_count >= TRACE_SOURCES) {
		r->full = true;
		return 0;
	}
	for (unsigned i = 0; code == 0 && i < runtime->area.worker_count; i++) {
		code = add_worker(r, runtime, i);
		if (code == 0)
			code = check_stop(r);
	}
	if (code == 0)
		code = add_outside(r, runtime);
	r->runtimes++;
	for (unsigned i = first; code == 0 && i < r->count; i++)
		code = trace_write_stream(r->writer, &r->rings[i].what.stream);
	return code;
}

bool rings_are_full(const struct rings *r)
{
	return r->full;
}

int rings_refresh(struct rings *r)
{
	int code = target_refresh(r->target);

	if (code)
		return code;
	for (unsigned i = 0; i < r->count; i++)
		r->rings[i].ended |= !runtime_of(r, &r->rings[i]);
	for (unsigned i = 0; code == 0 && i < target_runtimes(r->target); i++)
		code = add_runtime(r, target_runtime(r->target, i));
	return code;
}

/* ---- names ----------------------------------------------------------------- */

static int name(struct rings *r, enum trace_name_of of, uint64_t address)
{
	/* An address is of one kind, whatever is said of it. */
	const struct address entry = { .address = address };
	char text[TARGET_NAME];

	if (address == 0 || addresses_has(&r->names, address) ||
	    r->names.count >= MAX_NAMES)
		return 0;
	if (check_stop(r))
		return -EINTR;
	if (of == TRACE_NAME_TYPE)
		target_name(r->target, address, 0, text);
	else
		target_symbol(r->target, address, text);
	if (addresses_put(&r->names, &entry))
		return -ENOMEM;
	return trace_write_name(r->writer, of, address, text);
}

static enum trace_name_of name_kind(uint32_t detail)
{
	return detail == EVENT_NAME_TYPE ? TRACE_NAME_TYPE
					 : TRACE_NAME_FUNCTION;
}

static int write_names(struct rings *r, const struct event *events,
		       uint64_t count)
{
	int code = 0;

	for (uint64_t i = 0; code == 0 && i < count; i++) {
		const struct event *e = &events[i];

		if (e->kind == EVENT_BEGIN)
			code = name(r, name_kind(e->detail), e->b);
		else if (e->kind == EVENT_JOB_BEGIN)
			code = name(r, TRACE_NAME_FUNCTION, e->a);
	}
	return code;
}

/* ---- events ---------------------------------------------------------------- */

/* Whether what was just read is of that runtime: -EAGAIN: others came or went. */
static int check_runtime(struct rings *r, const struct ring *ring)
{
	const struct target_runtime *runtime = runtime_of(r, ring);
	uint64_t changes;
	int code;

	if (!runtime)
		return -EAGAIN;
	code = target_read(r->target,
			   runtime->root + offsetof(struct area_root, changes),
			   &changes, sizeof(changes));
	if (code)
		return code == -ESRCH ? code : -EAGAIN;
	return changes == runtime->changes ? 0 : -EAGAIN;
}

/* -ENODATA: nothing can be read there now. */
static int read_words(struct rings *r, const struct ring *ring,
		      struct state *out)
{
	uint64_t words[2];
	int code = target_read(r->target, ring->words, words, sizeof(words));

	if (code == 0)
		code = target_read(r->target, ring->head, &out->head,
				   sizeof(out->head));
	out->error = 0;
	if (code == 0 && ring->error)
		code = target_read(r->target, ring->error, &out->error,
				   sizeof(out->error));
	if (code)
		return code == -ESRCH ? code : -ENODATA;
	out->address = words[0];
	out->events = words[1];
	return 0;
}

/* Also -EAGAIN: they may be of something else, and nothing is believed. */
static int read_state(struct rings *r, struct ring *ring, struct state *out)
{
	int code = read_words(r, ring, out);

	if (code == 0)
		code = check_runtime(r, ring);
	if (code)
		return code;
	if (out->error < 0 && out->error >= -4095)
		ring->what.error = (int)out->error;
	if (out->address == 0)
		return -ENODATA;
	if (out->events < 2 || out->events > RINGS_MAX_EVENTS ||
	    (out->events & (out->events - 1)) != 0 ||
	    out->address > UINT64_MAX - out->events * sizeof(struct event)) {
		ring->what.error = -EILSEQ;
		ring->what.bad_events = out->events;
		ring->what.bad_address = out->address;
		return -ENODATA;
	}
	ring->what.here = true;
	ring->what.error = 0;
	return 0;
}

/* Events from a number on, which may be in two parts. */
static int read_events(struct rings *r, const struct state *state,
		       uint64_t number, uint64_t count, struct event *to)
{
	uint64_t at = number & (state->events - 1);
	uint64_t part = state->events - at < count ? state->events - at : count;
	int code = target_read(r->target, state->address + at * sizeof(*to), to,
			       part * sizeof(*to));

	if (code == 0 && part < count)
		code = target_read(r->target, state->address, to + part,
				   (count - part) * sizeof(*to));
	return code;
}

/* The first event that is whole while @head is where the next one goes. */
static uint64_t first_whole(const struct state *state, uint64_t head)
{
	return head >= state->events ? head - state->events + 1 : 0;
}

/* Is the event there that has that number, of a ring that threads share? */
static bool is_complete(const struct state *state, uint64_t number,
			const struct event *event)
{
	return event->other == (uint16_t)(number / state->events) &&
	       event->kind != EVENT_NONE;
}

/*
 * Of a ring that threads share, events may not be complete, and come later: how
 * many of @count to take now. Those that will not come any more are of no kind.
 */
static uint64_t take_complete(struct rings *r, const struct state *state,
			      uint64_t number, uint64_t count, bool last)
{
	for (uint64_t i = 0; i < count; i++) {
		bool late = state->head - (number + i) > state->events / 2;

		if (is_complete(state, number + i, &r->events[i]) &&
		    is_complete(state, number + i, &r->again[i]))
			r->events[i] = r->again[i];
		else if (last || late)
			r->events[i].kind = EVENT_NONE;
		else
			return i;
	}
	return count;
}

/* Those that are still there after they were copied; runtimes as they were? */
static int settle(struct rings *r, const struct ring *ring,
		  const struct state *state, uint64_t *first)
{
	uint64_t head;
	int code = target_read(r->target, ring->head, &head, sizeof(head));

	if (code)
		return code == -ESRCH ? code : -ENODATA;
	code = check_runtime(r, ring);
	if (code == 0 && head < state->head)
		code = -EAGAIN;
	*first = first_whole(state, head);
	return code;
}

/* Some events from ring->next on; receives how many of them were dealt with. */
static int copy_some(struct rings *r, struct ring *ring,
		     const struct state *state, bool last, uint64_t *done)
{
	bool shared = ring->what.stream.index == TRACE_OUTSIDE;
	uint64_t count = state->head - ring->next, first, skip = 0;
	int code;

	if (count > AT_ONCE)
		count = AT_ONCE;
	code = read_events(r, state, ring->next, count, r->events);
	/* Events that were complete before are so when they are copied again. */
	if (code == 0 && shared)
		code = read_events(r, state, ring->next, count, r->again);
	if (code)
		return code == -ESRCH ? code : -ENODATA;
	code = settle(r, ring, state, &first);
	if (code)
		return code;
	if (first > ring->next)
		skip = first - ring->next < count ? first - ring->next : count;
	if (shared)
		count = take_complete(r, state, ring->next, count, last);
	if (skip > count)
		skip = count;
	code = write_names(r, r->events + skip, count - skip);
	if (code == 0)
		code = trace_write_events(r->writer, ring->what.stream.id,
					  ring->next + skip, r->events + skip,
					  (uint32_t)(count - skip));
	ring->what.lost += skip;
	ring->what.written += count - skip;
	ring->next += count;
	*done = count;
	return code;
}

static int copy_ring(struct rings *r, struct ring *ring, bool last,
		     double *fullest)
{
	struct state state;
	uint64_t first, done = 1;
	int code = read_state(r, ring, &state);
	double full;

	if (code)
		return code;
	/* A ring that was not there before has nothing old in it. */
	if (!ring->begun || state.head < ring->next) {
		ring->next = ring->begun ? state.head : 0;
		ring->begun = true;
	}
	full = (double)(state.head - ring->next) / (double)state.events;
	if (full > *fullest)
		*fullest = full;
	first = first_whole(&state, state.head);
	if (first > ring->next) {
		ring->what.lost += first - ring->next;
		ring->next = first;
	}
	while (code == 0 && done > 0 && ring->next < state.head) {
		code = check_stop(r);
		if (code == 0)
			code = copy_some(r, ring, &state, last, &done);
	}
	return code;
}

/* ---- polls that had begun before -------------------------------------------- */

static void begin_before(struct rings *r)
{
	for (unsigned i = 0; i < r->count; i++) {
		struct ring *ring = &r->rings[i];
		const struct target_runtime *runtime = runtime_of(r, ring);

		if (runtime && ring->what.stream.index != TRACE_OUTSIDE)
			open_poll_begin(&ring->before, r->target, runtime,
					ring->what.stream.index,
					ring->what.stream.id);
	}
}

static void look_before(struct rings *r, struct ring *ring)
{
	if (ring->before.open)
		open_poll_check(&ring->before, r->target, runtime_of(r, ring),
				ring->what.stream.index);
}

int rings_finish(struct rings *r)
{
	int code = 0;

	for (unsigned i = 0; code == 0 && i < r->count; i++) {
		const struct trace_before *seen = &r->rings[i].before.seen;

		if (seen->until_ns == 0)
			continue;
		code = name(r, name_kind(seen->detail), seen->name);
		if (code == 0)
			code = trace_write_before(r->writer, seen);
	}
	return code;
}

/* ---- all of them ----------------------------------------------------------- */

int rings_copy(struct rings *r, bool last, double *fullest)
{
	*fullest = 0;
	for (unsigned i = 0; i < r->count; i++) {
		int code = check_stop(r);

		if (code)
			return code;
		look_before(r, &r->rings[i]);
		if (!r->rings[i].ended)
			code = copy_ring(r, &r->rings[i], last, fullest);
		if (code == -EAGAIN) /* its runtime is going, or another came */
			code = rings_refresh(r);
		if (code && code != -ENODATA)
			return code;
	}
	return 0;
}

int rings_extend(struct rings *r, uint64_t ns)
{
	int code = rings_refresh(r), put;

	if (code && code != -EINTR)
		return code;
	put = target_record_until(r->target, ns);
	return put ? put : code;
}

/* While runtimes come and go, it is looked again, and not for ever. */
static int skip_old_of(struct rings *r, unsigned index, uint64_t keep_ns)
{
	int code = -EAGAIN, refreshed;

	for (unsigned i = 0; code == -EAGAIN && i < MAX_ATTEMPTS; i++) {
		struct ring *ring = &r->rings[index];
		struct state state;

		if (ring->ended)
			break;
		code = read_state(r, ring, &state);
		if (code == -EAGAIN && (refreshed = rings_refresh(r)) != 0)
			return refreshed;
		if (code == 0) {
			ring->next =
				ring->others_ns <= keep_ns ? state.head : 0;
			ring->begun = true;
		}
	}
	return code == -EAGAIN || code == -ENODATA ? 0 : code;
}

/* Where to begin: behind what was recorded before. */
static int skip_old(struct rings *r, uint64_t keep_ns)
{
	int code = 0;

	for (unsigned i = 0; code == 0 && i < r->count; i++) {
		code = skip_old_of(r, i, keep_ns);
		if (code == 0)
			code = check_stop(r);
	}
	return code;
}

int rings_open(struct rings **out, struct target *target,
	       struct trace_writer *writer, uint64_t keep_ns,
	       const struct rings_stop *stop)
{
	struct rings *r = calloc(1, sizeof(*r));
	int code = -ENOMEM;

	*out = r;
	if (!r)
		return code;
	r->target = target;
	r->writer = writer;
	if (stop)
		r->stop = *stop;
	r->events = calloc(AT_ONCE, sizeof(*r->events));
	r->again = calloc(AT_ONCE, sizeof(*r->again));
	if (r->events && r->again)
		code = rings_refresh(r);
	if (code == 0) {
		begin_before(r);
		code = skip_old(r, keep_ns);
	}
	return code;
}

void rings_close(struct rings *r)
{
	if (!r)
		return;
	addresses_free(&r->names);
	free(r->rings);
	free(r->events);
	free(r->again);
	free(r);
}

unsigned rings_count(const struct rings *r)
{
	return r->count;
}

const struct rings_stream *rings_stream(const struct rings *r, unsigned index)
{
	return &r->rings[index].what;
}

const struct target_runtime *rings_runtime(const struct rings *r,
					   unsigned index)
{
	return runtime_of(r, &r->rings[index]);
}
