/* SPDX-License-Identifier: MIT */
/* trace_file.c - see trace_file.h */
#include "bpf/cli/sorted.h"
#include "bpf/recording/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/cli/grow.h"
#include "bpf/cli/saturated.h"
#include "bpf/recording/trace_parts.h"

/* skua record writes at most this many names. */
#define NAMES 65536u
/* More calls than are ever in places of outside threads. */
#define CALLS     65536u
#define NO_SOURCE UINT32_MAX
#define LEFT_OUT  (UINT32_MAX - 1)

/* The source of a stream; NULL: there is none, or it was left out. */
static struct trace_track *find_source(struct trace *t, uint32_t id)
{
	return id < TRACE_STREAMS && t->by_id[id] < t->source_count
		       ? &t->sources[t->by_id[id]]
		       : NULL;
}

/* ---- chunks ---------------------------------------------------------------- */

/* Read a struct of a chunk. In a file of another version, the struct may be
 * longer or shorter. */
static int look_at_chunk(struct trace *t, uint64_t at, uint32_t there, void *to,
			 size_t bytes)
{
	return trace_window_look(t->window, at, to,
				 there < bytes ? there : bytes);
}

static void make_printable(char *text, size_t size)
{
	text[size - 1] = '\0';
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}

static int take_meta(struct trace *t, uint64_t at, uint32_t bytes)
{
	struct trace_meta *meta = &t->about.meta;
	int code = look_at_chunk(t, at, bytes, meta, sizeof(*meta));

	make_printable(meta->program, sizeof(meta->program));
	make_printable(meta->library, sizeof(meta->library));
	make_printable(meta->kernel, sizeof(meta->kernel));
	return code;
}

static int take_origin(struct trace *t, uint64_t at, uint32_t bytes)
{
	struct trace_origin *origin = &t->about.origin;
	int code = look_at_chunk(t, at, bytes, origin, sizeof(*origin));

	make_printable(origin->host, sizeof(origin->host));
	make_printable(origin->clock, sizeof(origin->clock));
	return code;
}

static int take_stream(struct trace *t, uint64_t at, uint32_t bytes)
{
	struct trace_stream stream = { 0 };
	size_t room = t->source_room;
	int code = look_at_chunk(t, at, bytes, &stream, sizeof(stream));
	uint32_t *index = &t->by_id[stream.id % TRACE_STREAMS];

	if (code || bytes < sizeof(stream) || stream.id >= TRACE_STREAMS)
		return code;
	if (*index == NO_SOURCE && t->source_count == TRACE_SOURCES) {
		*index = LEFT_OUT;
		t->about.left_out++;
	}
	if (*index == LEFT_OUT)
		return 0;
	if (*index == NO_SOURCE) {
		if (!grow(&t->sources, sizeof(*t->sources), t->source_count,
			  &room))
			return -ENOMEM;
		t->source_room = (unsigned)room;
		*index = t->source_count++;
		memset(&t->sources[*index], 0, sizeof(*t->sources));
	}
	t->sources[*index].what.stream = stream;
	return 0;
}

static int take_before(struct trace *t, uint64_t at, uint32_t bytes)
{
	struct trace_before before = { 0 };
	int code = look_at_chunk(t, at, bytes, &before, sizeof(before));
	struct trace_track *source = code == 0 && bytes >= sizeof(before)
					     ? find_source(t, before.stream)
					     : NULL;

	if (source && before.from_ns < before.until_ns)
		source->what.before = before;
	return code;
}

static int take_call(struct trace *t, uint64_t at, uint32_t bytes)
{
	struct trace_call call = { 0 };
	int code = look_at_chunk(t, at, bytes, &call, sizeof(call));
	const struct trace_track *source = code == 0 && bytes >= sizeof(call)
						   ? find_source(t, call.stream)
						   : NULL;

	if (!source || call.from_ns >= call.until_ns || call.tid == 0 ||
	    t->call_count == CALLS)
		return code;
	if (!grow(&t->calls, sizeof(*t->calls), t->call_count, &t->call_room))
		return -ENOMEM;
	call.stream = (uint32_t)(source - t->sources);
	t->calls[t->call_count++] = call;
	return 0;
}

static int take_name(struct trace *t, uint64_t at, uint32_t bytes)
{
	struct trace_name *name;

	if (bytes < sizeof(*name) || t->name_count == NAMES)
		return 0;
	if (!grow(&t->names, sizeof(*t->names), t->name_count, &t->name_room))
		return -ENOMEM;
	name = &t->names[t->name_count++];
	/* Store the rank of each name, as they will be sorted. */
	if (trace_window_look(t->window, at, name, sizeof(*name)))
		return -EIO;
	name->reserved = (uint32_t)t->name_count;
	make_printable(name->text, sizeof(name->text));
	return 0;
}

/* Count the events of a segment, and add the pair of each EVENT_CLOCK. */
static int take_clocks(struct trace *t, struct trace_track *s,
		       const struct trace_segment *segment)
{
	for (uint32_t i = 0; i < segment->count; i++) {
		struct trace_moment moment;
		struct event event;
		int code = trace_window_look(t->window,
					     segment->at + i * sizeof(event),
					     &event, sizeof(event));

		if (code)
			return code;
		s->what.lost += event.kind == EVENT_NONE;
		s->what.events += event.kind != EVENT_NONE;
		if (event.kind != EVENT_CLOCK)
			continue;
		moment = (struct trace_moment){ event.time, event.a };
		if (trace_clock_add(&s->clock, segment->first + i, moment))
			return -ENOMEM;
	}
	return 0;
}

/* @segment: if it has no events, it just bounds a gap. */
static int add_segment(struct trace *t, struct trace_track *s,
		       const struct trace_segment *segment)
{
	uint64_t gap = s->begun ? segment->first - s->expected : 0;

	/* The segment is a duplicate, or out of order. */
	if (s->begun && segment->first < s->expected)
		return 0;
	s->begun = true;
	s->expected = trace_behind(segment);
	s->what.lost += gap;
	if (s->segment_count == 0)
		s->lost += gap;
	if (segment->count == 0)
		return 0;
	if (!grow(&s->segments, sizeof(*s->segments), s->segment_count,
		  &s->segment_room))
		return -ENOMEM;
	s->segments[s->segment_count++] = *segment;
	return take_clocks(t, s, segment);
}

static int take_events(struct trace *t, uint64_t at, uint32_t bytes)
{
	struct trace_events head = { 0 };
	struct trace_segment segment;
	struct trace_track *source;
	int code = look_at_chunk(t, at, bytes, &head, sizeof(head));
	uint64_t room = bytes < sizeof(head)
				? 0
				: (bytes - sizeof(head)) / sizeof(struct event);

	/* A truncated chunk has fewer events than it says. */
	if (head.count > room)
		head.count = (uint32_t)room;
	source = find_source(t, head.stream);
	if (code || !source || bytes < sizeof(head) ||
	    head.first > UINT64_MAX - head.count)
		return code;
	segment = (struct trace_segment){ at + sizeof(head), head.first,
					  head.count };
	return add_segment(t, source, &segment);
}

/* Keeps all switches in memory: they are few compared to events. */
static int take_switches(struct trace *t, uint64_t at, uint32_t bytes)
{
	struct trace_switches head = { 0 };
	struct trace_switch what;
	int code;

	if (bytes < sizeof(head))
		return 0;
	code = look_at_chunk(t, at, bytes, &head, sizeof(head));
	if (code == 0)
		code = offcpu_span(&t->offs, &head);
	bytes -= (uint32_t)sizeof(head);
	at += sizeof(head);
	for (; code == 0 && head.count > 0 && bytes >= sizeof(what);
	     head.count--) {
		code = trace_window_look(t->window, at, &what, sizeof(what));
		if (code == 0)
			code = offcpu_add(&t->offs, &what);
		bytes -= (uint32_t)sizeof(what);
		at += sizeof(what);
	}
	return code == -EINVAL ? 0 : code;
}

static int take_end(struct trace *t, uint64_t at, uint32_t bytes)
{
	t->about.cut = false;
	return look_at_chunk(t, at, bytes, &t->about.end, sizeof(t->about.end));
}

static int take_chunk(struct trace *t, const struct trace_chunk *chunk,
		      uint64_t at)
{
	switch (chunk->kind) {
	case TRACE_META:
		return take_meta(t, at, chunk->bytes);
	case TRACE_ORIGIN:
		return take_origin(t, at, chunk->bytes);
	case TRACE_STREAM:
		return take_stream(t, at, chunk->bytes);
	case TRACE_NAME:
		return take_name(t, at, chunk->bytes);
	case TRACE_EVENTS:
		return take_events(t, at, chunk->bytes);
	case TRACE_END:
		return take_end(t, at, chunk->bytes);
	case TRACE_SWITCHES:
		return take_switches(t, at, chunk->bytes);
	case TRACE_BEFORE:
		return take_before(t, at, chunk->bytes);
	case TRACE_CALL:
		return take_call(t, at, chunk->bytes);
	default:
		return 0;
	}
}

/* Read chunk after chunk. Of a truncated chunk, only events are taken. */
static int take_chunks(struct trace *t, uint64_t at)
{
	uint64_t size = t->window->size;
	struct trace_chunk chunk;
	int code = 0;

	t->about.cut = true;
	while (code == 0 && t->about.cut && size - at >= sizeof(chunk)) {
		code = trace_window_look(t->window, at, &chunk, sizeof(chunk));
		at += sizeof(chunk);
		if (code || chunk.bytes % 8 != 0 ||
		    chunk.bytes > TRACE_CHUNK_MAX)
			break;
		if (chunk.bytes > size - at) {
			if (chunk.kind != TRACE_EVENTS)
				break;
			chunk.bytes = (uint32_t)(size - at);
		}
		code = take_chunk(t, &chunk, at);
		at += chunk.bytes;
	}
	return code;
}

/* ---- opening --------------------------------------------------------------- */

static int refuse(struct skua_error *err, int code, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(err->text, sizeof(err->text), format, list);
	va_end(list);
	err->code = code;
	return code;
}

static int compare_names(const void *left, const void *right)
{
	const struct trace_name *a = left, *b = right;

	int order = compare_numbers(a->of, b->of);

	return order ? order : compare_numbers(a->address, b->address);
}

/* Give a stream without times the times of the recorder, and its rate. */
static int settle_clocks(struct trace *t)
{
	const struct trace_about *about = &t->about;
	struct trace_clock all = { 0 };
	int code = 0;

	if (about->meta.start.counter > 0)
		code = trace_clock_add(&all, 0, about->meta.start);
	if (code == 0 && about->end.stop.counter > 0)
		code = trace_clock_add(&all, UINT64_MAX, about->end.stop);
	for (unsigned i = 0; i < t->source_count && all.rate.ticks == 0; i++)
		all.rate = t->sources[i].clock.rate;
	for (unsigned i = 0; i < t->source_count && all.count == 0; i++)
		if (t->sources[i].clock.count > 0)
			code = trace_clock_add(
				&all, 0, t->sources[i].clock.pairs[0].moment);
	for (unsigned i = 0; i < t->source_count && code == 0; i++)
		code = trace_clock_settle(&t->sources[i].clock, &all);
	t->about.timeless = all.rate.ticks == 0;
	trace_clock_free(&all);
	return code;
}

struct thread {
	uint32_t tid;
	unsigned source;
};

static int compare_threads(const void *left, const void *right)
{
	const struct thread *a = left, *b = right;

	return compare_numbers(a->tid, b->tid);
}

/* Set a source's thread, unless the thread drives several workers. */
static int find_threads(struct trace *t)
{
	unsigned count = t->source_count;
	struct thread *threads = calloc(count + 1, sizeof(*threads));

	if (!threads)
		return -ENOMEM;
	for (unsigned i = 0; i < count; i++)
		threads[i] =
			(struct thread){ t->sources[i].what.stream.tid, i };
	qsort(threads, count, sizeof(*threads), compare_threads);
	for (unsigned i = 0; i < count; i++)
		if ((i == 0 || threads[i - 1].tid != threads[i].tid) &&
		    (i + 1 == count || threads[i + 1].tid != threads[i].tid))
			t->sources[threads[i].source].what.thread =
				threads[i].tid;
	free(threads);
	return 0;
}

static int load(struct trace *t, struct skua_error *err)
{
	struct trace_header header = { 0 };
	int code = -EINVAL;

	if (t->window->size >= sizeof(header))
		code = trace_window_look(t->window, 0, &header, sizeof(header));
	if (code || header.magic != TRACE_MAGIC ||
	    header.bytes < sizeof(header) || header.bytes > t->window->size)
		return refuse(err, -EINVAL, "not a file of skua record");
	if (header.version != TRACE_VERSION)
		return refuse(err, -EINVAL,
			      "its format has version %u; allowed: %u",
			      header.version, TRACE_VERSION);
	code = take_chunks(t, header.bytes);
	if (code == 0)
		code = settle_clocks(t);
	if (code == 0)
		code = find_threads(t);
	if (code == 0)
		code = offcpu_settle(&t->offs);
	if (code)
		return refuse(err, code, "%s", strerror(-code));
	if (t->name_count > 0)
		qsort(t->names, t->name_count, sizeof(*t->names),
		      compare_names);
	for (unsigned i = 0; i < t->source_count; i++) {
		const struct trace_source *what = &t->sources[i].what;

		t->about.events += what->events;
		t->about.lost = add_saturated(t->about.lost, what->lost);
		t->several |= what->stream.runtime !=
			      t->sources[0].what.stream.runtime;
	}
	return 0;
}

static int open_file(struct trace *t, const char *path, struct skua_error *err)
{
	struct stat stat;
	off_t hole;

	t->window->file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (t->window->file < 0 || fstat(t->window->file, &stat) < 0)
		return refuse(err, -errno, "%s", strerror(errno));
	if (!S_ISREG(stat.st_mode))
		return refuse(err, -EINVAL, "not a regular file");
	/* A recording has no holes: nothing was written after one. */
	hole = lseek(t->window->file, 0, SEEK_HOLE);
	t->window->size = (uint64_t)(hole >= 0 ? hole : stat.st_size);
	return 0;
}

int trace_open(struct trace **out, const char *path, struct skua_error *err)
{
	struct trace *t = calloc(1, sizeof(*t));
	int code;

	*out = NULL;
	if (t) {
		t->window = calloc(1, sizeof(*t->window));
		t->by_id = malloc(TRACE_STREAMS * sizeof(*t->by_id));
	}
	if (!t || !t->window || !t->by_id) {
		if (t) {
			free(t->window);
			free(t->by_id);
		}
		free(t);
		return refuse(err, -ENOMEM, "no memory");
	}
	t->about.origin.rank = TRACE_NO_RANK;
	memset(t->by_id, 0xff, TRACE_STREAMS * sizeof(*t->by_id));
	code = open_file(t, path, err);
	if (code == 0)
		code = load(t, err);
	if (code)
		trace_close(t);
	else
		*out = t;
	return code;
}

void trace_close(struct trace *t)
{
	if (!t)
		return;
	for (unsigned i = 0; i < t->source_count; i++) {
		free(t->sources[i].segments);
		free(t->sources[i].buffer);
		trace_clock_free(&t->sources[i].clock);
	}
	if (t->window->file >= 0)
		close(t->window->file);
	free(t->sources);
	free(t->window);
	free(t->by_id);
	free(t->names);
	free(t->calls);
	free(t->heap);
	offcpu_free(&t->offs);
	free(t);
}

const struct trace_about *trace_about(const struct trace *t)
{
	return &t->about;
}

unsigned trace_sources(const struct trace *t)
{
	return t->source_count;
}

const struct trace_source *trace_source(const struct trace *t, unsigned index)
{
	return &t->sources[index].what;
}

void trace_label(const struct trace *t, unsigned index, char *text)
{
	const struct trace_stream *stream = &t->sources[index].what.stream;
	char where[TRACE_LABEL / 2] = "";

	if (t->several)
		snprintf(where, sizeof(where), "runtime %u, ", stream->runtime);
	if (stream->index == TRACE_OUTSIDE)
		snprintf(text, TRACE_LABEL, "%sother threads", where);
	else
		snprintf(text, TRACE_LABEL, "%sworker %u", where,
			 stream->index);
}

const struct trace_call *trace_calls(const struct trace *t, size_t *count)
{
	*count = t->call_count;
	return t->calls;
}

const struct offcpu *trace_offcpu(const struct trace *t)
{
	return &t->offs;
}

const char *trace_name(const struct trace *t, enum trace_name_of of,
		       uint64_t address)
{
	const struct trace_name key = { .address = address, .of = of };
	const struct trace_name *found = NULL;

	if (t->name_count > 0)
		found = bsearch(&key, t->names, t->name_count,
				sizeof(*t->names), compare_names);
	return found ? found->text : NULL;
}
