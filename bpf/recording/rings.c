/* SPDX-License-Identifier: MIT */
/* rings.c - see rings.h */
#include "bpf/recording/rings.h"

#include <stdlib.h>

#include "bpf/recording/rings_parts.h"

#define MAX_ATTEMPTS 8u

/* ---- polls and calls that began before the recording ------------------------- */

static void begin_before(struct rings *r)
{
	for (unsigned i = 0; i < r->count; i++) {
		struct ring *ring = &r->rings[i];
		const struct target_runtime *runtime = ring_runtime(r, ring);

		if (runtime && ring->calls)
			open_calls_begin(ring->calls, r->target, runtime,
					 ring->what.stream.id);
		else if (runtime)
			open_poll_begin(&ring->before, r->target, runtime,
					ring->what.stream.index,
					ring->what.stream.id);
	}
}

static void look_before(struct rings *r, struct ring *ring, bool last)
{
	if (ring->calls)
		open_calls_check(ring->calls, r->target, ring_runtime(r, ring),
				 ring->what.stream.id, last);
	if (ring->before.open)
		open_poll_check(&ring->before, r->target, ring_runtime(r, ring),
				ring->what.stream.index);
}

static int write_calls(struct rings *r, const struct open_calls *calls)
{
	int code = 0;

	for (unsigned i = 0; code == 0 && i < AREA_EXTERNALS; i++) {
		const struct trace_call *seen = &calls->calls[i].seen;

		if (seen->until_ns == 0)
			continue;
		code = rings_write_name(r, TRACE_NAME_FUNCTION, seen->root);
		if (code == 0)
			code = trace_write_call(r->writer, seen);
	}
	return code;
}

int rings_finish(struct rings *r)
{
	int code = 0;

	for (unsigned i = 0; code == 0 && i < r->count; i++) {
		const struct trace_before *seen = &r->rings[i].before.seen;

		if (r->rings[i].calls)
			code = write_calls(r, r->rings[i].calls);
		if (code || seen->until_ns == 0)
			continue;
		code = rings_write_name(r, rings_name_kind(seen->detail),
					seen->name);
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
		int code = rings_check_stop(r);

		if (code)
			return code;
		look_before(r, &r->rings[i], last);
		if (!r->rings[i].ended)
			code = ring_copy(r, &r->rings[i], last, fullest);
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
		struct ring_words words = { .address = 1 };

		if (ring->ended)
			break;
		code = ring_read_words(r, ring, &words);
		if (code == -EAGAIN && (refreshed = rings_refresh(r)) != 0)
			return refreshed;
		if (code == 0) {
			ring->next = ring_first_wanted(r, ring, &words);
			ring->begun = true;
		}
		/* There is no ring yet. */
		if (code == -ENODATA && words.address == 0)
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
			code = rings_check_stop(r);
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
	r->events = calloc(RINGS_AT_ONCE, sizeof(*r->events));
	r->again = calloc(RINGS_AT_ONCE, sizeof(*r->again));
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
	object_names_free(&r->objects);
	for (unsigned i = 0; i < r->count; i++)
		free(r->rings[i].calls);
	free(r->rings);
	free(r->events);
	free(r->again);
	free(r);
}

bool rings_lack_names(const struct rings *r)
{
	return r->objects.more;
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
	return ring_runtime(r, &r->rings[index]);
}
