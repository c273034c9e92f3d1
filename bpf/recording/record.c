/* SPDX-License-Identifier: MIT */
/* record.c - skua record: record what the workers of a process do, in a file */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/cli/args.h"
#include "bpf/cli/outfile.h"
#include "bpf/target/pick_several.h"
#include "bpf/programs/programs.h"
#include "bpf/recording/record_several.h"
#include "bpf/recording/recording.h"
#include "bpf/verbs.h"

#define MIN_SECONDS 0.001
#define MAX_SECONDS 31536000.0
#define MIN_BYTES   UINT64_C(1000000)
#define MAX_BYTES   (UINT64_C(1) << 62)

struct options {
	struct pick pick;
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
	return pick_check(&options->pick);
}

static error_t parse_condition(void *input, char *text)
{
	struct options *options = input;

	options->on = true;
	return trigger_parse(&options->trigger, text);
}

static const struct args_verb verb = {
	.doc = "Record what the workers of a process do: polls, steals, sleeps "
	       "and more, for skua export. Several processes, such as the "
	       "ranks of an MPI job, have a file each. No process is stopped",
	.check = check,
	ARGS_OPTIONS(
		ARGS_FOR(struct options, MIN_SECONDS, MAX_SECONDS,
			 "at Ctrl-C, or the end of the process"),
		ARGS_NUMBER_OF(struct options, "job", pick.job, 1, ARGS_MAX_PID,
			       "PID", PICK_JOB_HELP),
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
			    "Write to FILE; an old one is overwritten. With "
			    "several processes or --job: to FILE.RANK, or "
			    "FILE.PID"),
		{ .name = "pid",
		  .key = 'p',
		  .arg = "PID[,PID...]",
		  .doc = "The processes (default: the only one that uses skua)",
		  .value = ARGS_OTHER,
		  .parse = pick_add,
		  .field = offsetof(struct options, pick) },
		ARGS_FLAG_OF(struct options, "switches", switches,
			     "Also record when the kernel takes CPUs from "
			     "threads of the process, and for which threads; "
			     "needs CAP_BPF and CAP_PERFMON")),
};

/* ---- recording ------------------------------------------------------------- */

static int open_file(struct recording *r)
{
	const char *why;
	int fd = outfile_open(r->name, O_WRONLY | O_TRUNC, 0600, &why);

	if (fd < 0)
		return recording_complain(r, r->name, why);
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

/* Record the process of @options, or the only one with a runtime. @target: that of another
 * process instead, or NULL; this call closes it. @stop_signal: as in struct recording */
static int record(const struct options *options, struct target *target,
		  const char *out, int stop_signal)
{
	const struct pick *pick = &options->pick;
	struct recording r = { .verb = "record",
			       .name = out,
			       .target = target,
			       .seconds = options->seconds,
			       .last = options->last,
			       .on = options->on,
			       .trigger = options->trigger,
			       .stop_signal = stop_signal,
			       .max_bytes = options->max_bytes };
	int code = recording_open(&r, pick->count ? pick->pids[0] : 0);

	if (code == EXIT_OK && !trigger_can_come(&r.trigger, r.target))
		code = recording_complain(
			&r, "--on stall",
			"the process has no limit for polls; set "
			"SKUA_STALL_LIMIT_NS when it starts");
	if (code == EXIT_OK)
		code = open_file(&r);
	if (code == EXIT_OK && options->switches)
		code = add_switches(&r);
	if (code == EXIT_OK)
		code = recording_run(&r);
	if (code == EXIT_OK)
		code = tell(&r);
	recording_close(&r);
	return code;
}

/* ---- several processes ----------------------------------------------------- */

/* Record one of several processes; runs in a child process. */
static int record_part(void *context, struct target *target)
{
	const struct options *options = context;
	uint32_t rank = target_rank(target);
	char *out;
	int code;

	if (rank == TARGET_NO_RANK)
		code = asprintf(&out, "%s.%d", options->out,
				target_pid(target));
	else
		code = asprintf(&out, "%s.%" PRIu32, options->out, rank);
	if (code < 0) {
		fprintf(stderr, ARGS_PROGRAM " record: %s\n", strerror(ENOMEM));
		return EXIT_FAILED;
	}
	code = record(options, target, out, RECORD_STOP);
	free(out);
	return code;
}

/* Whether two processes would have the same file. */
static bool share_file(const struct target *a, const struct target *b)
{
	const uint32_t rank_a = target_rank(a), rank_b = target_rank(b);

	if (rank_a == TARGET_NO_RANK)
		return rank_b == (uint32_t)target_pid(a);
	if (rank_b == TARGET_NO_RANK)
		return rank_a == (uint32_t)target_pid(b);
	return rank_a == rank_b;
}

static int refuse_pair(const struct target *a, const struct target *b)
{
	if (target_rank(a) == target_rank(b))
		fprintf(stderr,
			ARGS_PROGRAM " record: processes %d and %d both have "
				     "rank %" PRIu32
				     "; allowed: the processes of one job\n",
			target_pid(a), target_pid(b), target_rank(a));
	else
		fprintf(stderr,
			ARGS_PROGRAM " record: the number of one of the "
				     "processes %d and %d is the rank of the "
				     "other; allowed: different names of "
				     "files\n",
			target_pid(a), target_pid(b));
	return EXIT_FAILED;
}

static int check_files(const struct picked *picked)
{
	for (size_t i = 0; i < picked->count; i++)
		for (size_t j = 0; j < i; j++)
			if (share_file(picked->targets[j], picked->targets[i]))
				return refuse_pair(picked->targets[j],
						   picked->targets[i]);
	return EXIT_OK;
}

static int record_all(struct options *options)
{
	struct picked picked = { .count = 0 };
	int code = pick_several(&picked, "record", &options->pick);

	if (code == EXIT_OK)
		code = check_files(&picked);
	if (code == EXIT_OK)
		code = record_several(&picked, record_part, options,
				      options->on);
	picked_close(&picked);
	return code;
}

int verb_record(int argc, char **argv)
{
	struct options options = { 0 };
	const struct pick *pick = &options.pick;
	int code;

	if (args_parse_verb(&verb, "record", argc, argv, &options) != 0)
		code = EXIT_USAGE;
	else if (pick->job || pick->count > 1)
		code = record_all(&options);
	else
		code = record(&options, NULL, options.out, 0);
	pick_free(&options.pick);
	return code;
}
