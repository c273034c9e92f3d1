/* SPDX-License-Identifier: MIT */
/* record.c - skua record: record what the workers of a process do, in a file */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "bpf/cli/args.h"
#include "bpf/cli/outfile.h"
#include "bpf/target/pick_process.h"
#include "bpf/programs/programs.h"
#include "bpf/recording/recording.h"
#include "bpf/verbs.h"

#define MIN_SECONDS 0.001
#define MAX_SECONDS 31536000.0
#define MIN_BYTES   UINT64_C(1000000)
#define MAX_BYTES   (UINT64_C(1) << 62)

struct options {
	uint64_t pid;
	double seconds;     /* 0: until a signal */
	uint64_t max_bytes; /* 0: no limit */
	const char *out;
	bool last;
	bool on;
	struct trigger trigger;
	bool switches;
};

/* ---- options --------------------------------------------------------------- */

static error_t check(void *input)
{
	const struct options *options = input;

	if (!options->out)
		return args_refuse("no file to write to; allowed: --output "
				   "FILE");
	if (!*options->out)
		return args_refuse("--output is empty; allowed: a file");
	if (options->last && options->switches)
		return args_refuse("--switches with --last; allowed: one of "
				   "them");
	if (options->on && !options->last)
		return args_refuse("--on without --last; allowed: both");
	return 0;
}

static error_t parse_condition(void *input, char *text)
{
	struct options *options = input;

	options->on = true;
	return trigger_parse(&options->trigger, text);
}

static const struct args_verb verb = {
	.doc = "Record what the workers of a process do: polls, steals, sleeps "
	       "and more, for skua export. The process is not stopped",
	.check = check,
	ARGS_OPTIONS(
		ARGS_FOR(struct options, MIN_SECONDS, MAX_SECONDS,
			 "at Ctrl-C, or the end of the process"),
		ARGS_FLAG_OF(struct options, "last", last,
			     "Write only the last events of each worker, "
			     "at the end: the contents of its ring"),
		ARGS_NUMBER_OF(struct options, "max-bytes", max_bytes,
			       MIN_BYTES, MAX_BYTES, "BYTES",
			       "End when the file has this many bytes, or "
			       "a few megabytes more (default: no limit)"),
		ARGS_PARSED("on", parse_condition, "CONDITION",
			    "With --last: end when this occurs, to keep the "
			    "events before it: stall, or a limit such as "
			    "p99>2ms, polls:p99.9>500us, waits:p50>1ms, over "
			    "one second"),
		ARGS_OUTPUT(struct options,
			    "Write to FILE; an old one is overwritten"),
		ARGS_PID(struct options, PICK_PROCESS_HELP),
		ARGS_FLAG_OF(struct options, "switches", switches,
			     "Also record when the kernel takes CPUs from "
			     "threads of the process, and for which threads; "
			     "needs CAP_BPF and CAP_PERFMON")),
};

/* ---- recording ------------------------------------------------------------- */

static int open_file(const struct options *options, struct recording *r)
{
	const char *why;
	int fd = outfile_open(options->out, O_WRONLY | O_TRUNC, 0600, &why);

	if (fd < 0)
		return recording_complain(r, options->out, why);
	return recording_start(r, fd);
}

static int add_switches(struct recording *r)
{
	int code = recording_switches(r);

	return code ? recording_complain(r, "--switches", programs_reason(code))
		    : EXIT_OK;
}

/* Print the outcome. */
static int tell(const struct recording *r)
{
	recording_report(r);
	if (r->reason != TRACE_ENDED)
		return EXIT_OK;
	fprintf(stderr, "%s%s\n", target_reason(r->target),
		r->last ? "; its last events are lost"
			: "; all events read before are in the file");
	return r->last ? EXIT_FAILED : EXIT_OK;
}

int verb_record(int argc, char **argv)
{
	struct options options = { 0 };
	struct recording r = { .verb = "record" };
	int code;

	if (args_parse_verb(&verb, "record", argc, argv, &options) != 0)
		return EXIT_USAGE;
	r.name = options.out;
	r.seconds = options.seconds;
	r.last = options.last;
	r.on = options.on;
	r.trigger = options.trigger;
	r.max_bytes = options.max_bytes;
	code = recording_open(&r, options.pid);
	if (code == EXIT_OK && !trigger_can_come(&r.trigger, r.target))
		code = recording_complain(
			&r, "--on stall",
			"the process has no limit for polls; set "
			"SKUA_STALL_LIMIT_NS when it starts");
	if (code == EXIT_OK)
		code = open_file(&options, &r);
	if (code == EXIT_OK && options.switches)
		code = add_switches(&r);
	if (code == EXIT_OK)
		code = recording_run(&r);
	if (code == EXIT_OK)
		code = tell(&r);
	recording_close(&r);
	return code;
}
