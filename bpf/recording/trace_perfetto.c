/* SPDX-License-Identifier: MIT */
/*
 * trace_perfetto.c - a trace as Perfetto's protocol buffers
 *
 * Written by hand: a code generator and its runtime would be two more packages and
 * another build step, while this file only writes numbers, texts and nested messages,
 * and parses nothing. The field numbers are those of the published schema,
 * perfetto/trace/trace_packet.proto and the files that it includes;
 * tests/service/perfetto.proto lists the fields used here.
 */
#include <stdint.h>
#include <string.h>

#include "bpf/recording/trace_away.h"
#include "bpf/recording/trace_play.h"
#include "bpf/recording/trace_sinks.h"

/* ---- encoding -------------------------------------------------------------- */

/* A message; all messages are far smaller than this buffer. */
struct message {
	uint8_t data[2048];
	size_t bytes;
};

enum wire { WIRE_NUMBER = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };

static void put_raw(struct message *m, const void *data, size_t bytes)
{
	if (bytes > sizeof(m->data) - m->bytes)
		return;
	memcpy(m->data + m->bytes, data, bytes);
	m->bytes += bytes;
}

static void put_varint(struct message *m, uint64_t value)
{
	uint8_t digits[10];
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		digits[n++] = (uint8_t)(value | 0x80);
	digits[n++] = (uint8_t)value;
	put_raw(m, digits, n);
}

static void put_tag(struct message *m, unsigned field, enum wire wire)
{
	put_varint(m, field << 3 | wire);
}

static void put_number(struct message *m, unsigned field, uint64_t value)
{
	put_tag(m, field, WIRE_NUMBER);
	put_varint(m, value);
}

static void put_fixed64(struct message *m, unsigned field, uint64_t value)
{
	put_tag(m, field, WIRE_FIXED64);
	put_raw(m, &value, sizeof(value)); /* little-endian, like the machine */
}

static void put_bytes(struct message *m, unsigned field, const void *data,
		      size_t bytes)
{
	put_tag(m, field, WIRE_BYTES);
	put_varint(m, bytes);
	put_raw(m, data, bytes);
}

static void put_text(struct message *m, unsigned field, const char *text)
{
	put_bytes(m, field, text, strlen(text));
}

static void put_message(struct message *m, unsigned field,
			const struct message *inner)
{
	put_bytes(m, field, inner->data, inner->bytes);
}

/* ---- field numbers --------------------------------------------------------- */

enum {
	TRACE_PACKET = 1,

	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK_DESCRIPTOR = 60,

	SEQUENCE_CLEARED = 1,
	SEQUENCE_NEEDS = 2,

	DEFAULTS_CLOCK = 58,

	SNAPSHOT_CLOCKS = 1,
	SNAPSHOT_PRIMARY = 2,
	CLOCK_ID = 1,
	CLOCK_TIMESTAMP = 2,
	CLOCK_OF_REALTIME = 1,
	CLOCK_OF_MONOTONIC = 3,

	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
	TRACK_COUNTER = 8,
	PROCESS_PID = 1,
	PROCESS_NAME = 6,
	THREAD_PID = 1,
	THREAD_TID = 2,
	THREAD_NAME = 5,
	COUNTER_UNIT = 3,
	UNIT_COUNT = 2,

	EVENT_ANNOTATIONS = 4,
	EVENT_TYPE = 9,
	EVENT_TRACK = 11,
	EVENT_CATEGORIES = 22,
	EVENT_NAME = 23,
	EVENT_COUNTER = 30,
	EVENT_FLOW_IDS = 47,
	EVENT_FLOW_ENDS = 48,

	ANNOTATION_NUMBER = 3,
	ANNOTATION_TEXT = 6,
	ANNOTATION_POINTER = 7,
	ANNOTATION_NAME = 10,
};

enum { TYPE_BEGIN = 1, TYPE_END, TYPE_INSTANT, TYPE_COUNTER };

/* UUIDs of the tracks of a part, from @uuids on. */
enum { UUID_PROCESS = 1, UUID_WAITING = 2, UUID_SOURCES = 16 };
#define PART_UUIDS (UINT64_C(1) << 32)

/* @uuids: where those of the part begin. @flows: likewise, of its arrows */
struct perfetto {
	struct trace_sink sink;
	FILE *file;
	const struct trace_part *part;
	uint64_t uuids;
	uint64_t flows;
};

/* Write a packet to the file. All packets belong to one sequence. */
static void send(struct perfetto *p, struct message *packet, uint64_t flags)
{
	struct message head = { .bytes = 0 };

	put_number(packet, PACKET_SEQUENCE, 1);
	put_number(packet, PACKET_SEQUENCE_FLAGS, flags);
	put_tag(&head, TRACE_PACKET, WIRE_BYTES);
	put_varint(&head, packet->bytes);
	fwrite(head.data, 1, head.bytes, p->file);
	fwrite(packet->data, 1, packet->bytes, p->file);
}

/* ---- descriptions ---------------------------------------------------------- */

static void put_clock(struct message *snapshot, uint64_t id, uint64_t ns)
{
	struct message clock = { .bytes = 0 };

	put_number(&clock, CLOCK_ID, id);
	put_number(&clock, CLOCK_TIMESTAMP, ns);
	put_message(snapshot, SNAPSHOT_CLOCKS, &clock);
}

/* Times are CLOCK_MONOTONIC; also give the wall-clock time at the start. */
static void send_clocks(struct perfetto *p, const struct trace_meta *meta)
{
	struct message packet = { .bytes = 0 }, snapshot = { .bytes = 0 };
	struct message defaults = { .bytes = 0 };

	put_clock(&snapshot, CLOCK_OF_MONOTONIC, meta->start.monotonic_ns);
	put_clock(&snapshot, CLOCK_OF_REALTIME, meta->realtime_ns);
	put_number(&snapshot, SNAPSHOT_PRIMARY, CLOCK_OF_MONOTONIC);
	put_message(&packet, PACKET_CLOCK_SNAPSHOT, &snapshot);
	put_number(&defaults, DEFAULTS_CLOCK, CLOCK_OF_MONOTONIC);
	put_message(&packet, PACKET_DEFAULTS, &defaults);
	send(p, &packet, SEQUENCE_CLEARED);
}

static void send_track(struct perfetto *p, const struct message *track)
{
	struct message packet = { .bytes = 0 };

	put_message(&packet, PACKET_TRACK_DESCRIPTOR, track);
	send(p, &packet, SEQUENCE_NEEDS);
}

static void send_process(struct perfetto *p, const char *name)
{
	struct message track = { .bytes = 0 }, process = { .bytes = 0 };

	put_number(&process, PROCESS_PID, p->part->pid);
	put_text(&process, PROCESS_NAME, name);
	put_number(&track, TRACK_UUID, p->uuids + UUID_PROCESS);
	put_message(&track, TRACK_PROCESS, &process);
	send_track(p, &track);
}

static void send_waiting(struct perfetto *p)
{
	struct message track = { .bytes = 0 }, counter = { .bytes = 0 };

	put_number(&counter, COUNTER_UNIT, UNIT_COUNT);
	put_number(&track, TRACK_UUID, p->uuids + UUID_WAITING);
	put_number(&track, TRACK_PARENT, p->uuids + UUID_PROCESS);
	put_text(&track, TRACK_NAME, "tasks that wait");
	put_message(&track, TRACK_COUNTER, &counter);
	send_track(p, &track);
}

static uint64_t uuid_of(const struct perfetto *p, unsigned track)
{
	return p->uuids + UUID_SOURCES + track;
}

static void send_source(struct perfetto *p, unsigned index)
{
	const struct trace *trace = p->part->trace;
	const struct trace_source *source = trace_source(trace, index);
	struct message track = { .bytes = 0 }, thread = { .bytes = 0 };
	char label[TRACE_LABEL];

	trace_label(trace, index, label);
	put_number(&track, TRACK_UUID, uuid_of(p, index));
	if (source->thread) {
		put_number(&thread, THREAD_PID, p->part->pid);
		put_number(&thread, THREAD_TID, source->thread);
		put_text(&thread, THREAD_NAME, label);
		put_message(&track, TRACK_THREAD, &thread);
	} else {
		put_number(&track, TRACK_PARENT, p->uuids + UUID_PROCESS);
		put_text(&track, TRACK_NAME, label);
	}
	send_track(p, &track);
}

/* A track below that of the thread. */
static void send_away(struct perfetto *p, unsigned index)
{
	const struct trace *trace = p->part->trace;
	struct message track = { .bytes = 0 };
	char label[TRACE_AWAY_LABEL];

	if (!trace_away_any(trace, index))
		return;
	trace_away_label(trace, index, label);
	put_number(&track, TRACK_UUID,
		   uuid_of(p, trace_away_track(trace, index)));
	put_number(&track, TRACK_PARENT, uuid_of(p, index));
	put_text(&track, TRACK_NAME, label);
	send_track(p, &track);
}

/* ---- events ---------------------------------------------------------------- */

static void put_arg(struct message *event, const struct trace_arg *arg)
{
	struct message annotation = { .bytes = 0 };

	put_text(&annotation, ANNOTATION_NAME, arg->key);
	if (arg->text)
		put_text(&annotation, ANNOTATION_TEXT, arg->text);
	else if (arg->address)
		put_number(&annotation, ANNOTATION_POINTER, arg->number);
	else
		put_number(&annotation, ANNOTATION_NUMBER, arg->number);
	put_message(event, EVENT_ANNOTATIONS, &annotation);
}

static void put_args(struct message *event, const struct trace_mark *mark,
		     unsigned first, unsigned behind)
{
	for (unsigned i = first; i < behind && mark->args[i].key; i++)
		put_arg(event, &mark->args[i]);
}

static void send_event(struct perfetto *p, uint64_t ns,
		       const struct message *event)
{
	struct message packet = { .bytes = 0 };

	put_number(&packet, PACKET_TIMESTAMP, trace_part_ns(p->part, ns));
	put_message(&packet, PACKET_TRACK_EVENT, event);
	send(p, &packet, SEQUENCE_NEEDS);
}

static struct message event_of(uint64_t type, uint64_t track)
{
	struct message event = { .bytes = 0 };

	put_number(&event, EVENT_TYPE, type);
	put_number(&event, EVENT_TRACK, track);
	return event;
}

static void put_mark(const struct perfetto *p, struct message *event,
		     const struct trace_mark *mark)
{
	put_text(event, EVENT_CATEGORIES, trace_category(mark->kind));
	put_text(event, EVENT_NAME, mark->name);
	if (mark->flow_out)
		put_fixed64(event, EVENT_FLOW_IDS, p->flows + mark->flow_out);
	if (mark->flow_in)
		put_fixed64(event, EVENT_FLOW_ENDS, p->flows + mark->flow_in);
}

static void on_begin(struct trace_sink *sink, const struct trace_mark *mark)
{
	struct perfetto *p = (struct perfetto *)sink;
	struct message event = event_of(TYPE_BEGIN, uuid_of(p, mark->track));

	put_mark(p, &event, mark);
	put_args(&event, mark, 0, mark->args_first);
	send_event(p, mark->ns, &event);
}

static void on_end(struct trace_sink *sink, const struct trace_mark *mark)
{
	struct perfetto *p = (struct perfetto *)sink;
	struct message event = event_of(TYPE_END, uuid_of(p, mark->track));

	put_args(&event, mark, mark->args_first, TRACE_ARGS);
	send_event(p, mark->end_ns, &event);
}

static void on_instant(struct trace_sink *sink, const struct trace_mark *mark)
{
	struct perfetto *p = (struct perfetto *)sink;
	struct message event = event_of(TYPE_INSTANT, uuid_of(p, mark->track));

	put_mark(p, &event, mark);
	put_args(&event, mark, 0, TRACE_ARGS);
	send_event(p, mark->ns, &event);
}

static void on_count(struct trace_sink *sink, uint64_t ns, uint64_t waiting)
{
	struct perfetto *p = (struct perfetto *)sink;
	struct message event = event_of(TYPE_COUNTER, p->uuids + UUID_WAITING);

	put_number(&event, EVENT_COUNTER, waiting);
	send_event(p, ns, &event);
}

/* Write a part, whose tracks are named before its events. */
static int write_part(struct perfetto *p, const char *name)
{
	struct trace *trace = p->part->trace;
	int code;

	send_process(p, name);
	send_waiting(p);
	for (unsigned i = 0; i < trace_sources(trace); i++) {
		send_source(p, i);
		send_away(p, i);
	}
	code = trace_play(trace, &p->sink);
	trace_away_play(trace, &p->sink);
	return code;
}

int trace_to_perfetto(struct trace_set *set, FILE *file)
{
	struct perfetto p = {
		.sink = { .begin = on_begin,
			  .end = on_end,
			  .instant = on_instant,
			  .count = on_count },
		.file = file,
	};
	int code = 0;

	send_clocks(&p, &trace_about(set->parts[0].trace)->meta);
	for (size_t i = 0; i < set->count && code == 0; i++) {
		p.part = &set->parts[i];
		p.uuids = i * PART_UUIDS;
		p.flows = i * TRACE_SET_FLOWS;
		set->bad = p.part->path;
		code = write_part(&p, trace_set_name(set, i));
	}
	return code;
}
