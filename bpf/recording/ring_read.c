/* SPDX-License-Identifier: MIT */
/* ring_read.c - reads the memory of one ring, without trusting it */
#include <stddef.h>

#include "bpf/recording/rings_parts.h"
#include "probes/area.h"

/* Verify that the words just read belong to the ring's runtime. Return: 0;
 * -ESRCH; -EAGAIN: runtimes started or ended. */
static int check_runtime(struct rings *r, const struct ring *ring)
{
	const struct target_runtime *runtime = ring_runtime(r, ring);
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
static int read_raw(struct rings *r, const struct ring *ring,
		    struct ring_words *out)
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

int ring_read_words(struct rings *r, struct ring *ring, struct ring_words *out)
{
	int code = read_raw(r, ring, out);

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

int ring_read_events(struct rings *r, const struct ring_words *words,
		     uint64_t number, uint64_t count, struct event *to)
{
	uint64_t at = number & (words->events - 1);
	uint64_t part = words->events - at < count ? words->events - at : count;
	int code = target_read(r->target, words->address + at * sizeof(*to), to,
			       part * sizeof(*to));

	if (code == 0 && part < count)
		code = target_read(r->target, words->address, to + part,
				   (count - part) * sizeof(*to));
	return code;
}

uint64_t ring_first_whole(const struct ring_words *words, uint64_t head)
{
	return head >= words->events ? head - words->events + 1 : 0;
}

int ring_settle(struct rings *r, const struct ring *ring,
		const struct ring_words *words, uint64_t *first)
{
	uint64_t head;
	int code = target_read(r->target, ring->head, &head, sizeof(head));

	if (code)
		return code == -ESRCH ? code : -ENODATA;
	code = check_runtime(r, ring);
	if (code == 0 && head < words->head)
		code = -EAGAIN;
	*first = ring_first_whole(words, head);
	return code;
}
