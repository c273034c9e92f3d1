/* SPDX-License-Identifier: MIT */
/* trace.c - skua trace: count what workers do, by their probes and the
 * kernel */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/cli/args.h"
#include "bpf/target/pick_process.h"
#include "bpf/target/target_wait.h"
#include "bpf/trace/counts_view.h"
#include "bpf/trace/pins.h"
#include "bpf/cli/exits.h"
#include "bpf/cli/terminal.h"
#include "bpf/verbs.h"

#define MIN_SECONDS 0.01
#define MAX_SECONDS 1e6

/* The number of terminal lines that show neither workers nor the matrix. */
#define OTHER_ROWS 20u

struct options {
	uint64_t pid;
	const char *path;
	double seconds;  /* 0: until a signal */
	double interval; /* 0: only at the end */
	bool json;
};

/* A running trace: @first has the counts at its start, @last those of the last
 * display. */
struct trace {
	const struct options *options;
	struct attachment attached;
	struct counts_view view;
	struct counts first, last;
	struct counts_style style;
	struct exits exits;
	bool live; /* drawn on a terminal again and again */
};

/* ---- options --------------------------------------------------------------- */

static error_t check(void *input)
{
	const struct options *options = input;

	return options->pid && options->path
		       ? args_refuse("both a process and a path; allowed: "
				     "one of them")
		       : 0;
}

static const struct args_verb verb = {
	.doc = "Count what workers do by their probes: steals by thief and "
	       "victim, how long they sleep, and when the kernel takes them off "
	       "the CPU. With a PATH, in all processes that have the file. "
	       "Where a probe may not be attached, the process's own counters "
	       "replace it",
	ARGS_FILE(struct options, "[PATH]", path),
	.check = check,
	ARGS_OPTIONS(
		ARGS_FOR(struct options, MIN_SECONDS, MAX_SECONDS,
			 "at Ctrl-C, q, or the end of the process"),
		ARGS_INTERVAL(struct options, MIN_SECONDS, MAX_SECONDS,
			      "At this interval, print the counts since the "
			      "last time (default: 1 on a terminal, "
			      "otherwise only at the end)"),
		ARGS_JSON(struct options, "Print an object each time"),
		ARGS_PID(struct options, PICK_PROCESS_HELP)),
};

/* ---- showing --------------------------------------------------------------- */

static bool print(void *of, FILE *file)
{
	const struct trace *trace = of;

	if (trace->options->json)
		return counts_json(file, &trace->view);
	counts_text(file, &trace->view, &trace->style);
	return true;
}

static bool draw(struct trace *trace)
{
	unsigned rows = terminal_rows();

	/* Workers have rows in a table, and often also in a matrix. */
	trace->style.rows = rows > OTHER_ROWS + 8 ? (rows - OTHER_ROWS) / 2 : 4;
	trace->style.width = terminal_columns();
	return terminal_draw(print, trace);
}

/* Show the counts since @before. Changes @now to that difference. */
static int show(struct trace *trace, struct counts *now,
		const struct counts *before)
{
	int err;

	counts_since(now, before);
	err = counts_arrange(&trace->view, now);
	if (err)
		return err;
	if (!(trace->live ? draw(trace) : print(trace, stdout)))
		return -ENOMEM;
	if (!trace->live && !trace->view.whole && !trace->options->json)
		putchar('\n');
	fflush(stdout);
	return ferror(stdout) ? -EIO : 0;
}

static int show_interval(struct trace *trace)
{
	struct counts now, copy;
	int err = counts_read(trace->attached.maps, trace->view.target, &now);

	if (err)
		return err;
	err = counts_copy(&copy, &now);
	if (!err) {
		err = show(trace, &copy, &trace->last);
		counts_free(&trace->last);
		trace->last = now;
		counts_free(&copy);
	} else {
		counts_free(&now);
	}
	return err;
}

/* Show the counts of the whole time; if the process is gone, up to the last
 * display. */
static int show_whole(struct trace *trace)
{
	struct counts now;
	int err;

	trace->live = false;
	trace->style.rows = trace->style.width = 0;
	trace->view.whole = true;
	err = counts_read(trace->attached.maps, trace->view.target, &now);
	if (err == -ESRCH)
		err = counts_copy(&now, &trace->last);
	if (err)
		return err;
	err = show(trace, &now, &trace->first);
	counts_free(&now);
	return err;
}

/* ---- the time between ------------------------------------------------------ */

/* Wait. Return: whether something ended the wait early. */
static bool wait_until(struct trace *trace, double until)
{
	struct target *target = trace->view.target;

	if (!trace->live)
		return target ? target_wait(target, &trace->exits, until)
			      : exits_wait(&trace->exits, until);
	while (exits_now() < until) {
		double left = until - exits_now();

		/* A change of the terminal's size is used at the next
		 * display. */
		if (left > 0 &&
		    terminal_wait((uint64_t)(left * 1e9)) == TERMINAL_QUIT)
			return true;
	}
	return exits_wait(&trace->exits, 0) ||
	       (target && !target_alive(target));
}

static int watch(struct trace *trace)
{
	const struct options *options = trace->options;
	double every = options->interval, now = exits_now();
	double end = options->seconds > 0 ? now + options->seconds : 1e300;
	int err = 0;

	if (every <= 0)
		every = trace->live ? 1 : 1e300;
	for (double next = now + every; !err && now < end; next += every) {
		double until = next < end ? next : end;

		if (until > now + MAX_SECONDS)
			until = now + MAX_SECONDS;
		if (wait_until(trace, until))
			break;
		now = exits_now();
		if (now >= next)
			err = show_interval(trace);
	}
	terminal_end();
	return err == -ESRCH ? 0 : err;
}

/* Take the first counts. Programs that this command has attached begin at 0;
 * pinned ones have counted before. */
static int begin(struct trace *trace)
{
	const struct options *options = trace->options;
	int err = counts_read(trace->attached.maps, trace->view.target,
			      &trace->first);

	if (!err && trace->view.target)
		err = counts_know(&trace->view);
	if (!err)
		err = exits_open(&trace->exits,
				 trace->view.target
					 ? target_pid(trace->view.target)
					 : 0);
	if (err)
		return err;
	if (trace->attached.how != ATTACH_PINNED)
		counts_forget(&trace->first, trace->attached.maps);
	trace->style.line_art = terminal_is_utf8();
	err = counts_copy(&trace->last, &trace->first);
	if (!err && !options->json && options->interval <= 0)
		trace->live = terminal_begin();
	return err;
}

static int conclude(const struct trace *trace, int err)
{
	const char *why = strerror(-err);

	if (!err || ferror(stdout)) /* args_flush() prints the error */
		return EXIT_OK;
	if (trace->view.target && *target_reason(trace->view.target))
		why = target_reason(trace->view.target);
	fprintf(stderr, ARGS_PROGRAM " trace: %s\n", why);
	return EXIT_FAILED;
}

/* Say if the process has ended or executed another program; its counts are
 * valid up to then. */
static void remark(const struct trace *trace)
{
	struct target *target = trace->view.target;

	if (target && target_refresh(target) == -ESRCH)
		fprintf(stderr, "%s\n", target_reason(target));
}

/* Trace from the attachment to the end. Return: an exit code. */
static int run(struct trace *trace)
{
	int code, err = begin(trace);

	/* Tell scripts that counting has begun. */
	if (!err && !trace->live)
		fprintf(stderr, "tracing%s\n",
			trace->options->seconds > 0 ? "" : ", until Ctrl-C");
	if (!err)
		err = watch(trace);
	if (!err)
		err = show_whole(trace);
	code = conclude(trace, err);
	if (!err)
		remark(trace);
	exits_close(&trace->exits);
	counts_free(&trace->first);
	counts_free(&trace->last);
	counts_view_free(&trace->view);
	attach_close(&trace->attached);
	return code;
}

int verb_trace(int argc, char **argv)
{
	struct options options = { .pid = 0 };
	struct trace trace = { .options = &options };
	struct target *target = NULL;
	int code;

	if (args_parse_verb(&verb, "trace", argc, argv, &options) != 0)
		return EXIT_USAGE;
	trace.view.attached = &trace.attached;
	if (options.path) {
		trace.view.path = options.path;
		code = attach_file(&trace.attached, options.path);
		if (code) {
			fprintf(stderr, ARGS_PROGRAM " trace: %s: %s\n",
				options.path, trace.attached.probes_missing);
			attach_close(&trace.attached);
			return EXIT_FAILED;
		}
		return run(&trace);
	}
	code = pick_process(&target, "trace", options.pid);
	if (code == EXIT_OK) {
		pick_process_remark(target, "trace");
		trace.view.target = target;
		if (!pins_attach(&trace.attached, target_pid(target)))
			attach_process(&trace.attached, target);
		code = run(&trace);
	}
	target_close(target);
	return code;
}
