/* SPDX-License-Identifier: MIT */
/* trace_away.c - see trace_away.h */
#include "bpf/recording/trace_away.h"

#include <stdio.h>

#include "bpf/recording/offcpu.h"

static struct offcpu_look look_at(const struct trace *trace, unsigned source)
{
	uint32_t thread = trace_source(trace, source)->thread;
	struct offcpu_look none = { .epoch = 0 };

	/* Without a rate of the counter, events and switches have no common
	 * time. */
	if (thread == 0 || trace_about(trace)->timeless)
		return none;
	return offcpu_look(trace_offcpu(trace), thread, 0);
}

bool trace_away_any(const struct trace *trace, unsigned source)
{
	struct offcpu_look look = look_at(trace, source);

	return look.next != look.end;
}

unsigned trace_away_track(const struct trace *trace, unsigned source)
{
	return trace_sources(trace) + source;
}

void trace_away_label(const struct trace *trace, unsigned source, char *text)
{
	char label[TRACE_LABEL];

	trace_label(trace, source, label);
	snprintf(text, TRACE_AWAY_LABEL, "%s, without a CPU", label);
}

static void say(struct trace_mark *mark, const struct offcpu_span *off)
{
	const char *name = "asleep";
	unsigned args = 0;

	if (off->kind == OFFCPU_WAKING)
		name = "woken, not running yet";
	else if (off->kind == OFFCPU_STOPPED)
		name = "stopped";
	else if (off->kind == OFFCPU_WAITS)
		name = off->comm[0] ? "preempted by " : "waits for a CPU";
	snprintf(mark->name, sizeof(mark->name), "%s%s", name, off->comm);
	if (off->other)
		mark->args[args++] = (struct trace_arg){ .key = "thread",
							 .number = off->other };
	if (off->again_ns)
		mark->args[args++] =
			(struct trace_arg){ .key = "return",
					    .text = "was not seen" };
	mark->args_first = args;
}

void trace_away_play(const struct trace *trace, struct trace_sink *sink)
{
	for (unsigned i = 0; i < trace_sources(trace); i++) {
		struct offcpu_look look = look_at(trace, i);

		for (; look.next != look.end; look.next++) {
			struct trace_mark mark = {
				.kind = TRACE_AWAY,
				.track = trace_away_track(trace, i),
				.ns = look.next->from_ns,
				.end_ns = look.next->until_ns
			};

			if (look.next->kind == OFFCPU_UNKNOWN)
				continue;
			say(&mark, look.next);
			if (sink->begin)
				sink->begin(sink, &mark);
			if (sink->end)
				sink->end(sink, &mark);
		}
	}
}
