/* SPDX-License-Identifier: MIT */
/* rings.c - see rings.h */
#include "bpf/cli/grow.h"
#include "bpf/recording/rings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/recording/addresses.h"
#include "bpf/recording/lock_names.h"
#include "bpf/recording/open_polls.h"
#include "bpf/recording/trace_file.h"
#include "probes/area.h"
#include "probes/events.h"

#define AT_ONCE      32768u /* events copied at once */
#define MAX_NAMES    65536u
#define MAX_ATTEMPTS 8u

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
	uint64_t next; /* number of the next event to read */
	bool begun;    /* next is valid */
	bool old;      /* it may have events from before rings_open() */
	bool ended;    /* its runtime has ended */
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
	struct lock_names locks;
	struct event *events, *again;
};

/* The words of a ring, as read once. */
struct state {
	uint64_t address, events, head;
	int64_t error;
};

/* Checked between pieces of work: a hostile process could otherwise keep this
 * command busy forever. */
static int check_stop(const struct rings *r)
{
	return r->stop.now && r->stop.now(r->stop.context) ? -EINTR : 0;
}

/* ---- finding rings --------------------------------------------------------- */

static struct ring *add_ring(struct rings *r,
			     const struct target_runtime *runtime)
{
	struct ring *ring;

	if (!grow(&r->rings, sizeof(*r->rings), r->count, &r->room))
		return NULL;
	ring = &r->rings[r->count];
	*ring = (struct ring){ .runtime = runtime->address,
			       .started_ns = runtime->area.started_ns,
			       .others_ns = runtime->area.record_until_ns,
			       .old = r->opening };
	ring->what.stream = (struct trace_stream){ .id = r->count++,
						   .runtime = r->runtimes,
						   .index = TRACE_OUTSIDE,
						   .cpu = -1,
						   .node = -1 };
	return ring;
}

static int add_outside(struct rings *r, const struct target_runtime *runtime)
{
	size_t known = offsetof(struct area_runtime, ring_head) +
		       sizeof(runtime->area.ring_head);
	struct ring *ring;

	if (runtime->area.bytes < known)
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

/* The runtime of a ring; NULL: it has ended. */
static const struct target_runtime *runtime_of(const struct rings *r,
					       const struct ring *ring)
{
	return target_find_runtime(r->target, ring->runtime, ring->started_ns);
}

/* Any ring of a runtime; NULL: the runtime is new. */
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
	/* An address has one name, even if events claim two kinds for it. */
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

static int write_names(struct rings *r, const struct ring *ring,
		       const struct event *events, uint64_t count)
{
	int code = 0;

	for (uint64_t i = 0; code == 0 && i < count; i++) {
		const struct event *e = &events[i];

		if (e->kind == EVENT_BEGIN)
			code = name(r, name_kind(e->detail), e->b);
		else if (e->kind == EVENT_JOB_BEGIN)
			code = name(r, TRACE_NAME_FUNCTION, e->a);
		else if (e->kind == EVENT_WAIT || e->kind == EVENT_HELD ||
			 e->kind == EVENT_LABEL)
			code = lock_names_write(&r->locks, r->target,
						runtime_of(r, ring), r->writer,
						e);
	}
	return code;
}

/* ---- events ---------------------------------------------------------------- */

/* Verify that the words just read belong to the ring's runtime. Return: 0;
 * -ESRCH; -EAGAIN: runtimes started or ended. */
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

/* Read the words of a ring. Return: 0; -ESRCH; -ENODATA: they cannot be read
 * now. */
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

/* Read and check the words of a ring. Return: as read_words(); -ENODATA also if
 * there is no valid ring; -EAGAIN: runtimes started or ended, so the words may
 * be of something else and are dropped. */
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

/* Read events from a number on. They may wrap around the end of the ring. */
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

/* The oldest event that cannot be overwritten while the next one goes to @head. */
static uint64_t first_whole(const struct state *state, uint64_t head)
{
	return head >= state->events ? head - state->events + 1 : 0;
}

/* In a ring that threads share: whether the event with this number is in its
 * slot. */
static bool is_complete(const struct state *state, uint64_t number,
			const struct event *event)
{
	return event->other == (uint16_t)(number / state->events) &&
	       event->kind != EVENT_NONE;
}

/*
 * How many of @count events of a ring that threads share to take now. An incomplete
 * event may be completed later, so copying stops there. One that is older than half
 * the ring, or is found in the last round, counts as lost: it becomes EVENT_NONE.
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

/* Find the first event that was not overwritten during the copy, and verify
 * that runtimes are still the same. */
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

/* Copy some events from ring->next on. @done: receives how many were handled,
 * lost ones included. */
static int copy_some(struct rings *r, struct ring *ring,
		     const struct state *state, bool last, uint64_t *done)
{
	bool shared = ring->what.stream.index == TRACE_OUTSIDE;
	uint64_t count = state->head - ring->next, first, skip = 0;
	int code;

	if (count > AT_ONCE)
		count = AT_ONCE;
	code = read_events(r, state, ring->next, count, r->events);
	/* An event that is complete in the first copy is whole in the second. */
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
	code = write_names(r, ring, r->events + skip, count - skip);
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

/* Return the number of the first event to read of a ring. A ring that appeared after
 * rings_open() has only new events. A ring that rings_open() found, but did not read, may also
 * have events of earlier recordings. */
static uint64_t first_wanted(const struct rings *r, const struct ring *ring,
			     const struct state *state)
{
	return ring->old && ring->others_ns <= r->keep_ns ? state->head : 0;
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
	if (!ring->begun || state.head < ring->next) {
		ring->next = ring->begun ? state.head
					 : first_wanted(r, ring, &state);
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

/* ---- polls that began before the recording ---------------------------------- */

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

/* ---- all rings ------------------------------------------------------------- */

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
		/* The ring's runtime has ended, or another one has started. */
		if (code == -EAGAIN)
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

/* Repeats while runtimes start and end, at most MAX_ATTEMPTS times. */
static int skip_old_of(struct rings *r, unsigned index)
{
	int code = -EAGAIN, refreshed;

	for (unsigned i = 0; code == -EAGAIN && i < MAX_ATTEMPTS; i++) {
		struct ring *ring = &r->rings[index];
		/* Not 0, which means that there is no ring: it may stay unread. */
		struct state state = { .address = 1 };

		if (ring->ended)
			break;
		code = read_state(r, ring, &state);
		if (code == -EAGAIN && (refreshed = rings_refresh(r)) != 0)
			return refreshed;
		if (code == 0) {
			ring->next = first_wanted(r, ring, &state);
			ring->begun = true;
		}
		/* There is no ring yet. */
		if (code == -ENODATA && state.address == 0)
			ring->old = false;
	}
	return code == -EAGAIN || code == -ENODATA ? 0 : code;
}

/* Skip the events recorded before rings_open(), as its @keep_ns says. */
static int skip_old(struct rings *r)
{
	int code = 0;

	for (unsigned i = 0; code == 0 && i < r->count; i++) {
		code = skip_old_of(r, i);
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
	r->keep_ns = keep_ns;
	r->opening = true;
	if (stop)
		r->stop = *stop;
	r->events = calloc(AT_ONCE, sizeof(*r->events));
	r->again = calloc(AT_ONCE, sizeof(*r->again));
	if (r->events && r->again)
		code = rings_refresh(r);
	if (code == 0) {
		begin_before(r);
		code = skip_old(r);
	}
	r->opening = false;
	return code;
}

void rings_close(struct rings *r)
{
	if (!r)
		return;
	addresses_free(&r->names);
	lock_names_free(&r->locks);
	free(r->rings);
	free(r->events);
	free(r->again);
	free(r);
}

bool rings_lack_names(const struct rings *r)
{
	return r->locks.more;
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
