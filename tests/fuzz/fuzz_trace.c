/* SPDX-License-Identifier: MIT */
/**
 * fuzz_trace.c - any file of events, read and exported
 *
 * The first byte says whether the rest is such a file as it is; or else a program
 * that writes one, with events that may be in any order, and chunks that are not
 * as they should be. Of what is read holds, whatever it is: events come in the
 * order of their times, as many as were announced; slices of a track are one
 * inside the other; the parts of an item's time add up to it; what is written is
 * text without control characters.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/why/ledger.h"
#include "bpf/recording/trace_play.h"
#include "bpf/recording/trace_sinks.h"
#include "probes/area.h"
#include "tests/fuzz/fuzz.h"

#define SOURCES 4u
#define DEPTH   256u

/* ---- the program ----------------------------------------------------------- */

static void put(int file, const void *data, size_t bytes)
{
	if (write(file, data, bytes) != (ssize_t)bytes)
		abort();
}

static struct event make_event(struct fuzz_input *in, uint64_t *time)
{
	struct event event = { .a = 0x7000 + fuzz_below(in, 4) };
	unsigned kind = fuzz_below(in, EVENT_KINDS + 1);

	*time += fuzz_byte(in);
	if (kind == EVENT_CLOCK)
		event.a = *time / 2 + fuzz_below(in, 3);
	else if (kind == EVENT_HELD && fuzz_below(in, 2))
		event.a |= AREA_HOLDER_THREAD;
	event.b = 0x5000 + fuzz_below(in, 4);
	event.detail = fuzz_below(in, 4);
	if (kind == EVENT_WAIT && event.detail == AREA_WAITS_NOTHING)
		event.detail = AREA_WAITS_IO_READ;
	if (kind == EVENT_REAP)
		event.b = *time / 2 - fuzz_below(in, 2) * 50;
	event.what = event_what((enum event_kind)kind, event.detail,
				fuzz_below(in, SOURCES));
	event.time = *time;
	return event;
}

static void put_events(struct trace_writer *w, struct fuzz_input *in,
		       uint64_t *time, uint64_t *numbers)
{
	unsigned source = fuzz_below(in, SOURCES);
	unsigned count = fuzz_below(in, 16) + 1;
	struct event events[16];

	for (unsigned i = 0; i < count; i++)
		events[i] = make_event(in, time);
	numbers[source] += fuzz_below(in, 4) == 0;
	trace_write_events(w, source, numbers[source], events, count);
	numbers[source] += count;
}

/* Of threads 0 to 3, as streams have them; spans and times may be any. */
static void put_switches(struct trace_writer *w, struct fuzz_input *in,
			 uint64_t time)
{
	unsigned count = fuzz_below(in, 8);
	uint64_t from_ns = time / 2 - fuzz_byte(in);
	uint64_t until_ns = from_ns + 4 * fuzz_byte(in);
	struct trace_switch some[8] = { { .ns = 0 } };

	for (unsigned i = 0; i < count; i++) {
		some[i].ns = from_ns + 2 * fuzz_byte(in);
		some[i].tid = fuzz_below(in, 4);
		some[i].kind = fuzz_below(in, 8);
		some[i].lost = fuzz_below(in, 4) == 3;
		memset(some[i].comm, fuzz_byte(in), fuzz_below(in, 17));
	}
	trace_write_switches(w, from_ns, until_ns, some, count);
}

static void put_name(struct trace_writer *w, unsigned word)
{
	static const char *const texts[] = { "a\"\\\n", "thread 1" };
	bool thread = word & 4;

	trace_write_name(w, (enum trace_name_of)(word & 3),
			 thread ? 0x7001 | AREA_HOLDER_THREAD
				: 0x5000 + (word & 3),
			 texts[thread]);
}

static void write_trace(int file, struct fuzz_input *in)
{
	struct trace_meta meta = { .pid = 1, .start = { 10, 5 } };
	uint64_t time = 100, numbers[SOURCES] = { 0 };
	struct trace_origin origin = { .rank = 1, .clock = "one" };
	struct trace_writer w;

	meta.program[0] = (char)fuzz_byte(in);
	memset(origin.host, meta.program[0], sizeof(origin.host));
	trace_write_start(&w, file, &meta);
	trace_write_origin(&w, &origin);
	for (unsigned i = 0; i < SOURCES; i++) {
		const struct trace_stream stream = {
			.id = i,
			.index = i == 3 ? TRACE_OUTSIDE : i,
			.tid = fuzz_below(in, 3),
			.runtime = fuzz_below(in, 2),
		};

		trace_write_stream(&w, &stream);
	}
	while (fuzz_more(in)) {
		uint64_t word = fuzz_number(in, 1);

		if (word < 0xf0)
			put_events(&w, in, &time, numbers);
		else if (word < 0xf8)
			put_name(&w, (unsigned)word);
		else if (word < 0xfc)
			time -= 1000;
		else if (word < 0xfd) /* not a chunk */
			put(file, &word, 1);
		else if (word < 0xfe)
			put_switches(&w, in, time);
		else
			trace_write_end(&w, TRACE_FINISHED);
	}
}

/* ---- what holds ------------------------------------------------------------ */

static void check_events(const char *path)
{
	struct trace_event event = { .ns = 0 };
	uint64_t count = 0, ns = 0;
	struct skua_error err;
	struct trace *trace;

	if (trace_open(&trace, path, &err))
		return;
	for (; trace_next(trace, &event); count++) {
		fuzz_check(ns <= event.ns, "%" PRIu64 " ns behind %" PRIu64,
			   event.ns, ns);
		fuzz_check(event.event.kind != EVENT_NONE, "no event");
		fuzz_check(event.source < trace_sources(trace), "of nobody");
		ns = event.ns;
	}
	fuzz_check(count == trace_about(trace)->events,
		   "%" PRIu64 " events of %" PRIu64, count,
		   trace_about(trace)->events);
	trace_close(trace);
}

/* Checks slices. */
struct checker {
	struct trace_sink sink;
	struct trace_mark stack[SOURCES][DEPTH];
	unsigned depth[SOURCES];
	uint64_t drawn_ns[SOURCES]; /* before that nothing may begin */
	uint64_t flows;
};

static void check_mark(const struct trace_mark *mark)
{
	for (const char *c = mark->name; *c; c++)
		fuzz_check(*c >= ' ' && *c <= '~', "a name with a %d", *c);
	fuzz_check(mark->name[0], "no name");
}

static void on_begin(struct trace_sink *sink, const struct trace_mark *mark)
{
	struct checker *c = (struct checker *)sink;
	unsigned track = mark->track;

	check_mark(mark);
	if (track >= SOURCES)
		return;
	fuzz_check(c->depth[track] < DEPTH, "too deep");
	fuzz_check(mark->kind != TRACE_SEARCH || mark->ns >= c->drawn_ns[track],
		   "a search during something else");
	c->stack[track][c->depth[track]++] = *mark;
}

static void on_end(struct trace_sink *sink, const struct trace_mark *mark)
{
	struct checker *c = (struct checker *)sink;
	unsigned track = mark->track;
	const struct trace_mark *open;

	fuzz_check(mark->ns <= mark->end_ns, "it ends before it begins");
	if (track >= SOURCES)
		return;
	fuzz_check(c->depth[track] > 0, "an end without a beginning");
	open = &c->stack[track][--c->depth[track]];
	fuzz_check(open->ns == mark->ns && !strcmp(open->name, mark->name),
		   "the end of another");
	fuzz_check(c->depth[track] == 0 || open[-1].ns <= mark->ns,
		   "it begins before what it is in");
	fuzz_check(mark->end_ns >= c->drawn_ns[track], "time goes back");
	c->drawn_ns[track] = mark->end_ns;
}

static void on_instant(struct trace_sink *sink, const struct trace_mark *mark)
{
	struct checker *c = (struct checker *)sink;

	check_mark(mark);
	fuzz_check(!mark->flow_out || mark->flow_out > c->flows,
		   "an arrow twice");
	if (mark->flow_out)
		c->flows = mark->flow_out;
}

static void check_slices(const char *path)
{
	static struct checker c;
	struct skua_error err;
	struct trace *trace;

	memset(&c, 0, sizeof(c));
	c.sink = (struct trace_sink){ .begin = on_begin,
				      .end = on_end,
				      .instant = on_instant };
	if (trace_open(&trace, path, &err)) {
		fuzz_check(err.text[0] && err.code, "refused without a reason");
		return;
	}
	fuzz_check(trace_play(trace, &c.sink) == 0, "it cannot be played");
	for (unsigned i = 0; i < SOURCES; i++)
		fuzz_check(c.depth[i] == 0, "not at an end");
	trace_close(trace);
}

static void check_text(const char *text)
{
	for (const char *c = text; *c; c++)
		fuzz_check(*c >= ' ' && *c <= '~', "a text with a %d", *c);
}

static void check_cause(const struct ledger_split *split,
			const struct ledger_cause *cause)
{
	uint64_t did = 0;

	fuzz_check(cause->ns <= split->parts[cause->part],
		   "a cause of more than its part");
	for (unsigned i = 0; i < LEDGER_PARTS; i++)
		did += cause->did[i];
	fuzz_check(cause->part != LEDGER_WAITED || did == cause->ns,
		   "a holder for %" PRIu64 " ns did things for %" PRIu64,
		   cause->ns, did);
}

static void check_slow(const struct ledger *ledger,
		       const struct ledger_slow *slow)
{
	uint64_t sum = 0;
	char text[LEDGER_TEXT];

	fuzz_check(slow->item.from_ns <= slow->item.ready_ns &&
			   slow->item.ready_ns <= slow->item.begin_ns &&
			   slow->item.begin_ns <= slow->item.end_ns,
		   "time goes back in it");
	for (unsigned i = 0; i < LEDGER_PARTS; i++)
		sum += slow->split.parts[i];
	fuzz_check(sum == ledger_took(&slow->item),
		   "parts of %" PRIu64 " ns, of %" PRIu64, sum,
		   ledger_took(&slow->item));
	for (unsigned i = 0; i < slow->split.cause_count; i++)
		check_cause(&slow->split, &slow->split.causes[i]);
	fuzz_check(slow->reason_count > 0, "no reason");
	ledger_say(ledger, slow->reasons, slow->reason_count, text,
		   sizeof(text));
	check_text(text);
	for (unsigned i = 0; i < slow->reason_count; i++)
		check_text(slow->reasons[i].culprit);
}

static void check_channels(const struct ledger *ledger)
{
	char text[LEDGER_TEXT];

	for (size_t i = 0; i < ledger->channel_count; i++) {
		const struct ledger_channel *channel = &ledger->channels[i];
		uint64_t did = 0;

		for (unsigned k = 0; k < LEDGER_PARTS; k++)
			did += channel->did[k];
		fuzz_check(did == channel->longest_ns,
			   "in %" PRIu64
			   " ns its server did things for %" PRIu64,
			   channel->longest_ns, did);
		ledger_say_channel(ledger, channel, text, sizeof(text));
		check_text(text);
	}
}

static void check_io(const struct ledger *ledger)
{
	for (size_t i = 0; i < ledger->io_count; i++) {
		const struct ledger_io *io = &ledger->io[i];
		char text[LEDGER_TEXT];

		fuzz_check(io->unseen_ns <= io->ns &&
				   io->longest_unseen_ns <= io->longest_ns &&
				   io->longest_ns <= io->ns,
			   "of %ju ns, %ju ns unseen", io->ns, io->unseen_ns);
		ledger_say_io(ledger, io, text, sizeof(text));
		check_text(text);
	}
}

static void check_ledger(const char *path)
{
	struct ledger_verdict verdict;
	struct ledger ledger;
	struct skua_error err;
	struct trace *trace;
	uint64_t count = 0;
	char text[LEDGER_TEXT];

	if (trace_open(&trace, path, &err))
		return;
	fuzz_check(ledger_open(&ledger, trace) == 0, "no ledger");
	fuzz_check(ledger_judge(&ledger, 1000, 0, &verdict) == 0, "no verdict");
	for (size_t i = 0; i < verdict.slow_count; i++)
		check_slow(&ledger, &verdict.slow[i]);
	for (size_t i = 1; i < verdict.type_count; i++)
		count += verdict.types[i].count;
	fuzz_check(count == ledger.count && count == verdict.types[0].count,
		   "items of no type");
	check_channels(&ledger);
	check_io(&ledger);
	ledger_say_verdict(&ledger, &verdict, text, sizeof(text));
	check_text(text);
	ledger_free(&verdict);
	ledger_close(&ledger);
	trace_close(trace);
}

/* Export the file as a set of @count files: alone, or twice. */
static void check_export(const char *path, size_t count,
			 int (*export)(struct trace_set *, FILE *), bool text)
{
	const char *const paths[] = { path, path };
	struct skua_error err;
	struct trace_set set;
	size_t size, quotes = 0;
	char *out;
	FILE *file;

	if (trace_set_open(&set, paths, count, &err) ||
	    trace_set_align(&set, &err)) {
		trace_set_close(&set);
		return;
	}
	file = open_memstream(&out, &size);
	fuzz_check(file && export(&set, file) == 0, "not exported");
	fclose(file);
	for (size_t i = 0; text && i < size; i++) {
		fuzz_check(out[i] == '\n' || (out[i] >= ' ' && out[i] <= '~'),
			   "a %d in the text", out[i]);
		if (out[i] == '\\')
			i++;
		else
			quotes += out[i] == '"';
	}
	fuzz_check(quotes % 2 == 0, "a text without an end");
	free(out);
	trace_set_close(&set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, data + size };
	int file = memfd_create("trace", MFD_CLOEXEC);
	bool raw = fuzz_byte(&in) == '#';
	char path[64];

	if (file < 0)
		abort();
	if (raw)
		put(file, in.next, (size_t)(in.end - in.next));
	else
		write_trace(file, &in);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	check_events(path);
	check_slices(path);
	check_ledger(path);
	check_export(path, 1, trace_to_perfetto, false);
	check_export(path, 1, trace_to_chrome, true);
	check_export(path, 2, trace_to_chrome, true);
	close(file);
	return 0;
}
