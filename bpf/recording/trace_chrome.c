/* SPDX-License-Identifier: MIT */
/* trace_chrome.c - a trace in the Trace Event Format: JSON, one event a line */
#include <inttypes.h>

#include "bpf/recording/trace_away.h"
#include "bpf/recording/trace_play.h"
#include "bpf/recording/trace_sinks.h"

/* Numbers for tracks without a thread; no real thread has one as high
 * (PID_MAX_LIMIT). */
#define FIRST_TRACK ((UINT32_C(1) << 22) + 1)

/* @flows: where the numbers of the part's arrows begin. @some: an event was written */
struct chrome {
	struct trace_sink sink;
	FILE *file;
	const struct trace_part *part;
	uint64_t flows;
	bool some;
};

/* Write a string. Its text is printable ASCII. */
static void put_text(FILE *file, const char *text)
{
	fputc('"', file);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', file);
		fputc(*text, file);
	}
	fputc('"', file);
}

static uint32_t thread_of(const struct chrome *c, unsigned track)
{
	uint32_t thread = track < trace_sources(c->part->trace)
				  ? trace_source(c->part->trace, track)->thread
				  : 0;

	return thread ? thread : FIRST_TRACK + track;
}

/* Begin an event with the fields common to all, except the time. */
static void open_event(struct chrome *c, const char *phase, const char *name)
{
	fprintf(c->file, "%s{\"ph\":\"%s\",\"pid\":%" PRIu32 ",\"name\":",
		c->some ? ",\n" : "", phase, c->part->pid);
	put_text(c->file, name);
	c->some = true;
}

/* Write a time, in microseconds. */
static void put_time(struct chrome *c, const char *key, uint64_t ns)
{
	fprintf(c->file, ",\"%s\":%" PRIu64 ".%03u", key, ns / 1000,
		(unsigned)(ns % 1000));
}

static void put_place(struct chrome *c, const struct trace_mark *mark,
		      const char *category)
{
	fprintf(c->file, ",\"cat\":\"%s\",\"tid\":%" PRIu32, category,
		thread_of(c, mark->track));
	put_time(c, "ts", trace_part_ns(c->part, mark->ns));
}

static void put_arg(FILE *file, const struct trace_arg *arg)
{
	put_text(file, arg->key);
	fputc(':', file);
	if (arg->text)
		put_text(file, arg->text);
	else if (arg->address)
		fprintf(file, "\"0x%" PRIx64 "\"", arg->number);
	else
		fprintf(file, "%" PRIu64, arg->number);
}

static void close_with_args(struct chrome *c, const struct trace_mark *mark)
{
	fputs(",\"args\":{", c->file);
	for (unsigned i = 0; i < TRACE_ARGS && mark->args[i].key; i++) {
		if (i > 0)
			fputc(',', c->file);
		put_arg(c->file, &mark->args[i]);
	}
	fputs("}}", c->file);
}

/* Write one end of an arrow. It binds to the slice around it. */
static void send_flow(struct chrome *c, const struct trace_mark *mark,
		      const char *phase, uint64_t flow)
{
	if (flow == 0)
		return;
	/* Both ends must have the same name and category. */
	open_event(c, phase, "flow");
	put_place(c, mark, "flow");
	fprintf(c->file, ",\"id\":%" PRIu64 ",\"bp\":\"e\"}", c->flows + flow);
}

/* ---- marks ----------------------------------------------------------------- */

static void on_end(struct trace_sink *sink, const struct trace_mark *mark)
{
	struct chrome *c = (struct chrome *)sink;

	open_event(c, "X", mark->name);
	put_place(c, mark, trace_category(mark->kind));
	put_time(c, "dur", mark->end_ns - mark->ns);
	close_with_args(c, mark);
	send_flow(c, mark, "f", mark->flow_in);
}

static void on_instant(struct trace_sink *sink, const struct trace_mark *mark)
{
	struct chrome *c = (struct chrome *)sink;

	open_event(c, "i", mark->name);
	put_place(c, mark, trace_category(mark->kind));
	fputs(",\"s\":\"t\"", c->file);
	close_with_args(c, mark);
	send_flow(c, mark, "s", mark->flow_out);
	send_flow(c, mark, "f", mark->flow_in);
}

static void on_count(struct trace_sink *sink, uint64_t ns, uint64_t waiting)
{
	struct chrome *c = (struct chrome *)sink;

	open_event(c, "C", "tasks that wait");
	put_time(c, "ts", trace_part_ns(c->part, ns));
	fprintf(c->file, ",\"args\":{\"tasks\":%" PRIu64 "}}", waiting);
}

/* ---- names of tracks ------------------------------------------------------- */

static void send_name(struct chrome *c, const char *of, uint32_t thread,
		      const char *name)
{
	open_event(c, "M", of);
	fprintf(c->file, ",\"tid\":%" PRIu32 ",\"args\":{\"name\":", thread);
	put_text(c->file, name);
	fputs("}}", c->file);
}

static void send_names(struct chrome *c, unsigned source)
{
	char label[TRACE_AWAY_LABEL];

	trace_label(c->part->trace, source, label);
	send_name(c, "thread_name", thread_of(c, source), label);
	if (!trace_away_any(c->part->trace, source))
		return;
	trace_away_label(c->part->trace, source, label);
	send_name(c, "thread_name",
		  thread_of(c, trace_away_track(c->part->trace, source)),
		  label);
}

static int write_part(struct chrome *c, const char *name)
{
	struct trace *trace = c->part->trace;
	int code;

	send_name(c, "process_name", c->part->pid, name);
	for (unsigned i = 0; i < trace_sources(trace); i++)
		send_names(c, i);
	code = trace_play(trace, &c->sink);
	trace_away_play(trace, &c->sink);
	return code;
}

int trace_to_chrome(struct trace_set *set, FILE *file)
{
	struct chrome c = {
		.sink = { .end = on_end,
			  .instant = on_instant,
			  .count = on_count },
		.file = file,
	};
	int code = 0;

	fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", file);
	for (size_t i = 0; i < set->count && code == 0; i++) {
		c.part = &set->parts[i];
		c.flows = i * TRACE_SET_FLOWS;
		set->bad = c.part->path;
		code = write_part(&c, trace_set_name(set, i));
	}
	fputs("\n]}\n", file);
	return code;
}
