/* SPDX-License-Identifier: MIT */
/* stall_report.c - see stall_report.h */
#include "core/stall/stall_report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/os/address.h"
#include "core/base/boundary.h"
#include "core/os/log.h"

/* ---- a line for the log ----------------------------------------------------- */

struct line {
	char text[1500];
	size_t length;
};

__attribute__((format(printf, 2, 3))) static void add(struct line *line,
						      const char *format, ...)
{
	size_t room = sizeof(line->text) - line->length;
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(line->text + line->length, room, format, args);
	va_end(args);
	if (length > 0)
		line->length +=
			(size_t)length < room ? (size_t)length : room - 1;
}

static void add_address(struct line *line, const void *address)
{
	char text[ADDRESS_TEXT];

	address_print(text, address);
	add(line, " %s", text);
}

static void say(const struct skua_hooks *hooks, const struct skua_stall *stall)
{
	struct line line = { .length = 0 };

	add(&line, "worker %u has polled a task for %" PRIu64 " us",
	    stall->worker, stall->duration_ns / 1000);
	add(&line,
	    ", %" PRIu64 " of them on a CPU, and %" PRIu64 " waiting "
	    "for one",
	    stall->cpu_ns / 1000, stall->waited_ns / 1000);
	if (stall->type)
		add(&line, "; type %.*s", SKUA_TASK_TYPE_NAME,
		    stall->type->name);
	if (stall->poll) {
		add(&line, "; polled by");
		add_address(&line, (const void *)(uintptr_t)stall->poll);
	}
	if (stall->suppressed)
		add(&line,
		    "; %" PRIu64
		    " earlier stalls of this worker were not reported",
		    stall->suppressed);
	if (stall->frames)
		add(&line, "; stack:");
	for (unsigned i = 0; i < stall->frames; i++)
		/* A return address is after the call: step back into it. */
		add_address(&line, (const char *)stall->frame[i] - (i > 0));
	hooks->log(hooks->ctx, SKUA_LOG_WARNING, line.text);
	BOUNDARY(hook);
}

/* ---- reports ---------------------------------------------------------------- */

void stall_report(const struct stall_watch *watch, const struct stall_worker *w)
{
	const struct skua_hooks *hooks = watch->hooks;
	const struct stall_answer *answer = &w->stack.answer;
	struct skua_stall stall = {
		.size = sizeof(stall),
		.worker = w->worker->index,
		.type = w->type,
		.poll = w->poll,
		.duration_ns = w->last.now_ns - w->since_ns,
		.cpu_ns = w->last.cpu_ns - w->first.cpu_ns,
		.waited_ns = w->last.wait_ns - w->first.wait_ns,
		.suppressed = w->suppressed,
	};

	static_assert(SKUA_STALL_FRAMES == STALL_STACK_FRAMES,
		      "one limit, two layers");
	if (w->answered) {
		stall.frames = answer->count;
		memcpy(stall.frame, answer->frames,
		       answer->count * sizeof(*stall.frame));
	}
	if (hooks->stall)
		hooks->stall(hooks->ctx, &stall);
	else if (hooks->log)
		say(hooks, &stall);
	BOUNDARY(hook);
}

void stall_report_lost_signal(struct stall_watch *watch)
{
	if (watch->lost_signal || stall_stack_usable(watch->signal))
		return;
	watch->lost_signal = true;
	log_say(watch->hooks, SKUA_LOG_WARNING,
		"stalls are reported without stacks from now on: another "
		"handler was installed for signal %d",
		watch->signal);
}
