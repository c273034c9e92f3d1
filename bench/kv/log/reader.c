/* SPDX-License-Identifier: MIT */
/* reader.c - reads the file of a log from its start, and judges its end */
#include "bench/kv/log/reader.h"

#include <errno.h>
#include <stdlib.h>

#define WINDOW (1u << 20) /* bytes that are read at once */

/* A part of the file: @have bytes from place @base on. */
struct reader {
	const struct log_source *source;
	struct log_found *found;
	char *buffer;
	size_t room, have;
	uint64_t base;
};

static bool fail(struct reader *r, int error)
{
	r->found->verdict = LOG_UNREAD;
	r->found->error = error;
	return false;
}

/* Read until @want bytes of the buffer are there. */
static bool fill(struct reader *r, size_t want)
{
	while (r->have < want) {
		ssize_t got =
			r->source->read(r->source->ctx, r->buffer + r->have,
					r->room - r->have, r->base + r->have);

		if (got <= 0)
			return fail(r, got ? (int)got : -EIO);
		r->have += (size_t)got;
	}
	return true;
}

/* Return @size bytes of the file, which must be there. NULL: they cannot be read. */
static const char *bytes_at(struct reader *r, uint64_t offset, size_t size)
{
	uint64_t left = r->source->size - offset;
	size_t kept = 0;
	char *buffer;

	if (offset >= r->base && offset - r->base <= r->have) {
		kept = r->have - (size_t)(offset - r->base);
		if (size <= kept)
			return r->buffer + (offset - r->base);
		memmove(r->buffer, r->buffer + (offset - r->base), kept);
	}
	r->base = offset;
	r->have = kept;
	if (size > r->room) {
		buffer = realloc(r->buffer, size);
		if (!buffer) {
			fail(r, -ENOMEM);
			return NULL;
		}
		r->buffer = buffer;
		r->room = size;
	}
	return fill(r, size < left ? size : (size_t)left) ? r->buffer : NULL;
}

/* Return the good frame at a place; NULL: there is none, or, if *@failed, the file cannot be
 * read. */
static const char *frame_at(struct reader *r, uint64_t offset, size_t *size,
			    bool *failed)
{
	uint64_t left = r->source->size - offset;
	const char *at;

	*failed = false;
	if (left < FRAME_HEADER)
		return NULL;
	at = bytes_at(r, offset, FRAME_HEADER);
	*failed = !at;
	if (!at)
		return NULL;
	*size = (size_t)frame_size(&r->found->file, at, left - FRAME_HEADER);
	if (!*size)
		return NULL;
	at = bytes_at(r, offset, FRAME_HEADER + *size);
	*failed = !at;
	return at && frame_is_good(&r->found->file, at, *size, offset) ? at
								       : NULL;
}

/* ---- after a bad frame ---------------------------------------------------------- */

/* Return the next place from @offset on that has the mark of a frame; the size of the file:
 * there is none, or the verdict is LOG_UNREAD. *@zeros becomes false if another byte than zero
 * comes before it. */
static uint64_t find_mark(struct reader *r, uint64_t offset, bool *zeros)
{
	while (r->source->size - offset >= 4) {
		uint64_t left = r->source->size - offset;
		size_t size = left < WINDOW ? (size_t)left : WINDOW;
		const char *at = bytes_at(r, offset, size);

		if (!at)
			return r->source->size;
		for (size_t i = 0; i + 4 <= size; i++) {
			*zeros &= !at[i];
			if (record_get_32(at + i) == r->found->file.mark)
				return offset + i;
		}
		offset += size - 3;
	}
	return r->source->size;
}

static bool last_are_zeros(struct reader *r)
{
	uint64_t left = r->source->size - r->found->end;
	size_t size = left < 4 ? (size_t)left : 4;
	const char *at = bytes_at(r, r->source->size - size, size);
	bool zeros = at != NULL;

	for (size_t i = 0; zeros && i < size; i++)
		zeros = !at[i];
	return zeros;
}

/* The bytes from @end on are no good frame. Is that the end of what was written, or the
 * loss of something that was there? */
static void judge(struct reader *r)
{
	struct log_found *found = r->found;
	uint64_t size = r->source->size;
	uint64_t offset = found->end;
	bool zeros = true, failed;
	size_t records;

	found->verdict = LOG_TORN;
	while ((offset = find_mark(r, offset, &zeros)) < size) {
		const char *frame = frame_at(r, offset, &records, &failed);

		zeros = false;
		if (failed)
			return;
		if (!frame) {
			offset++;
		} else if (frame_synced(frame) > found->end) {
			found->verdict = LOG_DAMAGED;
			found->next = offset;
			return;
		} else {
			offset += FRAME_HEADER + records;
		}
	}
	if (found->verdict == LOG_TORN && zeros && last_are_zeros(r))
		found->verdict = LOG_WHOLE;
}

/* ---- the file ------------------------------------------------------------------- */

static void read_file(struct reader *r, log_visit_fn visit, void *ctx)
{
	struct log_found *found = r->found;
	size_t size = r->source->size < FRAME_FILE_HEADER
			      ? (size_t)r->source->size
			      : FRAME_FILE_HEADER;
	const char *at = bytes_at(r, 0, size);
	bool failed = false;

	if (!at)
		return;
	if (size < FRAME_FILE_HEADER || !frame_file_read(&found->file, at)) {
		found->verdict = r->source->size <= FRAME_FILE_HEADER &&
						 frame_file_is_begun(at, size)
					 ? LOG_NEW
					 : LOG_FOREIGN;
		return;
	}
	found->end = FRAME_FILE_HEADER;
	while ((at = frame_at(r, found->end, &size, &failed))) {
		if (!visit(ctx, found->end,
			   (struct bytes){ at + FRAME_HEADER, size })) {
			found->verdict = LOG_STOPPED;
			return;
		}
		found->frames++;
		found->end += FRAME_HEADER + size;
	}
	if (!failed && found->end < r->source->size)
		judge(r);
}

void log_read(const struct log_source *source, log_visit_fn visit, void *ctx,
	      struct log_found *found)
{
	struct reader r = { .source = source, .found = found, .room = WINDOW };

	if (source->size < WINDOW)
		r.room = (size_t)source->size + 1;
	memset(found, 0, sizeof(*found));
	found->verdict = LOG_WHOLE;
	r.buffer = malloc(r.room);
	if (!r.buffer) {
		fail(&r, -ENOMEM);
		return;
	}
	read_file(&r, visit, ctx);
	free(r.buffer);
}
