/* SPDX-License-Identifier: MIT */
/* trace_file.c - see trace_file.h */
#include "probes/trace_file.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

#include "probes/recorder.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the file is little-endian, and is written as it is in memory"
#endif

#define EVENTS_MAX 65536u /* in a chunk */

_Static_assert(sizeof(struct trace_header) == 16 &&
		       sizeof(struct trace_chunk) == 8 &&
		       sizeof(struct trace_meta) == 184 &&
		       sizeof(struct trace_origin) == 136 &&
		       sizeof(struct trace_stream) == 24 &&
		       sizeof(struct trace_name) == 80 &&
		       sizeof(struct trace_events) == 16 &&
		       sizeof(struct trace_end) == 24,
	       "as PROBES.md says");
_Static_assert(sizeof(struct trace_events) +
			       EVENTS_MAX * sizeof(struct event) <=
		       TRACE_CHUNK_MAX,
	       "no chunk is larger than what is read");

/* ---- time ------------------------------------------------------------------ */

enum trace_counter trace_counter_here(void)
{
#if defined(__x86_64__)
	return TRACE_TSC;
#elif defined(__aarch64__)
	return TRACE_CNTVCT;
#else
	return TRACE_UNKNOWN;
#endif
}

struct trace_moment trace_now(void)
{
	struct trace_moment best = { 0, 0 };
	uint64_t narrowest = UINT64_MAX;

	/* An interrupt between the reads would spoil a try: take the best of some. */
	for (int i = 0; i < 5; i++) {
		uint64_t before = recorder_time();
		struct timespec now;
		uint64_t taken;

		clock_gettime(CLOCK_MONOTONIC, &now);
		taken = recorder_time() - before;
		if (taken >= narrowest)
			continue;
		narrowest = taken;
		best.counter = before + taken / 2;
		best.monotonic_ns = (uint64_t)now.tv_sec * 1000000000u +
				    (uint64_t)now.tv_nsec;
	}
	return best;
}

/* ---- writing --------------------------------------------------------------- */

/* advance - remove the first @bytes from the parts that are left to write */
static void advance(struct iovec *parts, unsigned count, size_t bytes)
{
	for (unsigned i = 0; i < count && bytes > 0; i++) {
		size_t part =
			bytes < parts[i].iov_len ? bytes : parts[i].iov_len;

		parts[i].iov_base = (char *)parts[i].iov_base + part;
		parts[i].iov_len -= part;
		bytes -= part;
	}
}

/* put - write all parts, even if each call writes only a few bytes */
static int put(struct trace_writer *w, struct iovec *parts, unsigned count)
{
	size_t left = 0;

	for (unsigned i = 0; i < count; i++)
		left += parts[i].iov_len;
	while (w->error == 0 && left > 0) {
		ssize_t written = writev(w->fd, parts, (int)count);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0) {
			w->error = written < 0 ? -errno : -EIO;
			break;
		}
		advance(parts, count, (size_t)written);
		left -= (size_t)written;
		w->bytes += (size_t)written;
	}
	return w->error;
}

/* put_chunk - write a chunk: a struct, and then @more */
static int put_chunk(struct trace_writer *w, enum trace_kind kind,
		     const void *what, size_t bytes, const void *more,
		     size_t more_bytes)
{
	struct trace_chunk chunk = { .kind = kind,
				     .bytes = (uint32_t)(bytes + more_bytes) };
	struct iovec parts[] = {
		{ &chunk, sizeof(chunk) },
		{ (void *)(uintptr_t)what, bytes },
		{ (void *)(uintptr_t)more, more_bytes },
	};

	return put(w, parts, 3);
}

int trace_write_start(struct trace_writer *w, int fd,
		      const struct trace_meta *meta)
{
	struct trace_header header = { .magic = TRACE_MAGIC,
				       .version = TRACE_VERSION,
				       .bytes = sizeof(header) };
	struct iovec part = { &header, sizeof(header) };

	*w = (struct trace_writer){ .fd = fd };
	if (put(w, &part, 1))
		return w->error;
	return put_chunk(w, TRACE_META, meta, sizeof(*meta), NULL, 0);
}

int trace_write_origin(struct trace_writer *w,
		       const struct trace_origin *origin)
{
	return put_chunk(w, TRACE_ORIGIN, origin, sizeof(*origin), NULL, 0);
}

int trace_write_stream(struct trace_writer *w,
		       const struct trace_stream *stream)
{
	return put_chunk(w, TRACE_STREAM, stream, sizeof(*stream), NULL, 0);
}

int trace_write_name(struct trace_writer *w, enum trace_name_of of,
		     uint64_t address, const char *text)
{
	struct trace_name name = { .address = address, .of = of };

	strncpy(name.text, text, sizeof(name.text) - 1);
	return put_chunk(w, TRACE_NAME, &name, sizeof(name), NULL, 0);
}

int trace_write_events(struct trace_writer *w, uint32_t stream, uint64_t first,
		       const struct event *events, uint32_t count)
{
	while (w->error == 0 && count > 0) {
		uint32_t now = count < EVENTS_MAX ? count : EVENTS_MAX;
		struct trace_events head = { .first = first,
					     .stream = stream,
					     .count = now };

		put_chunk(w, TRACE_EVENTS, &head, sizeof(head), events,
			  now * sizeof(*events));
		events += now;
		first += now;
		count -= now;
	}
	return w->error;
}

int trace_write_gap(struct trace_writer *w, uint32_t stream, uint64_t first,
		    uint64_t count)
{
	struct trace_events head = { .first = first, .stream = stream };

	put_chunk(w, TRACE_EVENTS, &head, sizeof(head), NULL, 0);
	head.first += count;
	return put_chunk(w, TRACE_EVENTS, &head, sizeof(head), NULL, 0);
}

int trace_write_before(struct trace_writer *w,
		       const struct trace_before *before)
{
	return put_chunk(w, TRACE_BEFORE, before, sizeof(*before), NULL, 0);
}

int trace_write_call(struct trace_writer *w, const struct trace_call *call)
{
	return put_chunk(w, TRACE_CALL, call, sizeof(*call), NULL, 0);
}

int trace_write_end(struct trace_writer *w, enum trace_reason reason)
{
	struct trace_end end = { .stop = trace_now(), .reason = reason };

	return put_chunk(w, TRACE_END, &end, sizeof(end), NULL, 0);
}

int trace_write_switches(struct trace_writer *w, uint64_t from_ns,
			 uint64_t until_ns, const struct trace_switch *switches,
			 uint32_t count)
{
	struct trace_switches head = { .from_ns = from_ns,
				       .until_ns = until_ns,
				       .count = count };

	if (head.count > TRACE_SWITCHES_MAX)
		head.count = TRACE_SWITCHES_MAX;
	return put_chunk(w, TRACE_SWITCHES, &head, sizeof(head), switches,
			 head.count * sizeof(*switches));
}
