/* SPDX-License-Identifier: MIT */
/* perf.c - skua perf: count events of a process's workers, in total and per
 * task */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "bpf/cli/args.h"
#include "bpf/target/pick_process.h"
#include "bpf/target/target_wait.h"
#include "bpf/cli/exits.h"
#include "bpf/perf/perf.h"
#include "bpf/verbs.h"
#include "probes/perf_list.h"

#define MIN_SECONDS 0.001
#define MAX_SECONDS 1e6

struct options {
	uint64_t pid;
	char *events; /* a list; parse_events() cuts it up */
	const char *names[PERF_GROUP_MAX_EVENTS];
	unsigned count;
	double seconds;  /* 0: until a signal */
	double interval; /* 0: one span */
	const char *pattern;
	bool json, list;
};

/* Default events: one group of hardware counters, then one of software
 * events. */
static const char *const usual[] = {
	"cycles",       "instructions",     "cache-references",
	"cache-misses", "branches",         "branch-misses",
	"task-clock",   "context-switches", "cpu-migrations",
	"page-faults",
};

static error_t parse_events(void *input, char *text)
{
	struct options *options = input;
	char *rest = text, *name;

	options->count = 0;
	while ((name = strsep(&rest, ",")) != NULL) {
		if (name[0] == '\0')
			return args_refuse("--event has an empty name; "
					   "allowed: names from skua perf "
					   "--list, separated by commas");
		if (options->count == PERF_GROUP_MAX_EVENTS)
			return args_refuse("--event has more than %d names",
					   PERF_GROUP_MAX_EVENTS);
		options->names[options->count++] = name;
	}
	return 0;
}

static error_t check(void *input)
{
	struct options *options = input;

	if (options->pattern && !options->list)
		return args_refuse("unexpected argument '%s'",
				   options->pattern);
	if (options->list && options->pid != 0)
		return args_refuse("--list is of this machine, not of a "
				   "process; allowed: --list or --pid");
	if (options->count > 0)
		return 0;
	options->count = sizeof(usual) / sizeof(usual[0]);
	memcpy(options->names, usual, sizeof(usual));
	return 0;
}

static const struct args_verb verb = {
	.doc = "Count events of the processor and of the kernel in the "
	       "worker threads of a process, in total and per task. The "
	       "process is not stopped, and no counter is read when a task "
	       "begins or ends",
	ARGS_FILE(struct options, "[PATTERN]", pattern),
	.check = check,
	ARGS_OPTIONS(
		{ .name = "event",
		  .key = 'e',
		  .arg = "EVENT,...",
		  .doc = "Count these events, up to 24, by libpfm's names; "
			 "each group of six is counted at the same times",
		  .value = ARGS_OTHER,
		  .parse = parse_events },
		ARGS_FOR(struct options, MIN_SECONDS, MAX_SECONDS,
			 "at Ctrl-C, or the end of the process"),
		ARGS_INTERVAL(struct options, MIN_SECONDS, MAX_SECONDS,
			      "At this interval, print the counts since the "
			      "last time"),
		ARGS_JSON(struct options, "Print an object each time"),
		ARGS_FLAG_OF(struct options, "list", list,
			     "List the events that this machine has; with "
			     "PATTERN, only those whose names contain it"),
		ARGS_PID(struct options, PICK_PROCESS_HELP)),
};

/* ---- counting -------------------------------------------------------------- */

static unsigned terminal_width(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40)
		return size.ws_col;
	return isatty(STDOUT_FILENO) ? 80 : 200;
}

static int print_span(struct perf_session *session,
		      const struct options *options)
{
	int err = perf_next(session);

	if (err != 0)
		return err;
	if (!options->json)
		perf_print(stdout, session, terminal_width());
	else
		perf_print_json(stdout, session);
	fflush(stdout);
	return 0;
}

static int count_spans(struct perf_session *session,
		       const struct options *options, struct exits *exits)
{
	double start = exits_now();
	double end = start + (options->seconds > 0 ? options->seconds
						   : 1000 * MAX_SECONDS);
	double next = start;
	bool ended = false;
	int err = 0;

	while (err == 0 && !ended && next < end) {
		next = options->interval > 0 ? next + options->interval : end;
		ended = target_wait(session->target, exits,
				    next < end ? next : end);
		err = print_span(session, options);
	}
	return err;
}

static int complain(const char *text)
{
	fprintf(stderr, ARGS_PROGRAM " perf: %s\n", text);
	return EXIT_FAILED;
}

static int count(struct target *target, const struct options *options)
{
	struct perf_session session = { .target = target };
	struct exits exits;
	int err = exits_open(&exits, target_pid(target));

	if (err != 0)
		snprintf(session.reason, sizeof(session.reason), "%s",
			 strerror(-err));
	else
		err = perf_open(&session, target, options->names,
				options->count);
	if (err == 0) {
		err = count_spans(&session, options, &exits);
		if (target_refresh(target) == -ESRCH)
			complain(target_reason(target));
	} else {
		complain(session.reason);
	}
	perf_close(&session);
	exits_close(&exits);
	return err == 0 ? EXIT_OK : EXIT_FAILED;
}

/* ---- the verb -------------------------------------------------------------- */

static void show(const char *name, const char *text, void *arg)
{
	(void)arg;
	printf("%-40s %s\n", name, text);
}

static int list(const struct options *options)
{
	int listed = perf_list(options->pattern, show, NULL);

	if (listed > 0)
		return EXIT_OK;
	return complain(listed < 0 ? "libpfm knows no events here"
				   : "no event of this machine has that name");
}

int verb_perf(int argc, char **argv)
{
	struct options options = { .json = false };
	struct target *target;
	int code;

	if (args_parse_verb(&verb, "perf", argc, argv, &options) != 0)
		return EXIT_USAGE;
	if (options.list)
		return list(&options);
	code = pick_process(&target, "perf", options.pid);
	if (code == EXIT_OK)
		code = count(target, &options);
	target_close(target);
	return code;
}
