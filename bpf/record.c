/* SPDX-License-Identifier: MIT */
/* record.c - skua record: what the workers of a process do, as a file */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "bench/args.h"
#include "bpf/choose.h"
#include "bpf/rings.h"
#include "bpf/table.h"
#include "bpf/target.h"
#include "bpf/verbs.h"
#include "probes/trace_file.h"

enum { OPTION_FOR = 0x100, OPTION_LAST };

#define LEAST_SECONDS 0.001
#define MOST_SECONDS  31536000.0
#define NS_PER_S      UINT64_C(1000000000)

/* Recording ends by itself so long after the last renewal: after a crash. */
#define RENEW_NS (NS_PER_S)
#define AHEAD_NS (3 * NS_PER_S)

/* Between looks at the rings. One that gets fuller than an eighth is looked at
 * more often, so that three more of the same do not make it overflow. */
#define LEAST_NS UINT64_C(200000)
#define MOST_NS  UINT64_C(100000000)
#define FULL     0.125

struct options {
	uint64_t pid;
	double seconds; /* 0: until a signal */
	const char *out;
	bool last;
};

struct recording {
	const struct options *options;
	struct target *target;
	struct trace_writer writer;
	struct rings *rings;
	enum trace_reason reason;
	uint64_t start_ns;
};

/* ---- options --------------------------------------------------------------- */

static error_t check(const struct options *options)
{
	if (!options->out)
		return args_refuse("no file to write to; allowed: --output "
				   "FILE");
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'p':
		return args_number("--pid", arg, 1, CHOOSE_MOST, &options->pid);
	case 'o':
		if (!*arg)
			return args_refuse(
				"--output is empty; allowed: a file");
		options->out = arg;
		return 0;
	case OPTION_FOR:
		return args_seconds("--for", arg, LEAST_SECONDS, MOST_SECONDS,
				    &options->seconds);
	case OPTION_LAST:
		options->last = true;
		return 0;
	case ARGP_KEY_END:
		return check(options);
	case ARGP_KEY_ARG:
		return args_refuse("no argument '%s'; allowed: options", arg);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option argp_options[] = {
	{ .name = "for",
	  .key = OPTION_FOR,
	  .arg = "SECONDS",
	  .doc = "End after so long (default: when interrupted)" },
	{ .name = "last",
	  .key = OPTION_LAST,
	  .doc = "Write only the last events of each worker, when it ends: "
		 "what its ring holds" },
	{ .name = "output",
	  .key = 'o',
	  .arg = "FILE",
	  .doc = "Where to; an old FILE is overwritten" },
	{ .name = "pid", .key = 'p', .arg = "PID", .doc = CHOOSE_HELP },
	{ 0 },
};

static const struct argp argp = {
	.options = argp_options,
	.parser = parse,
	.doc = "Record what the workers of a process do: polls, steals, sleeps "
	       "and more, for skua export. The process is not stopped",
};

/* ---- beginning ------------------------------------------------------------- */

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static struct trace_meta describe(const struct recording *r)
{
	struct trace_meta meta = { .pid = (uint32_t)target_pid(r->target),
				   .counter = trace_counter_here(),
				   .start = trace_now(),
				   .realtime_ns = now_ns(CLOCK_REALTIME),
				   .area_abi = AREA_ABI };
	char name[TARGET_NAME];
	struct utsname system;

	target_comm(r->target, name);
	snprintf(meta.program, sizeof(meta.program), "%s", name);
	if (target_runtimes(r->target) > 0) /* else some may come */
		memcpy(meta.library, target_runtime(r->target, 0)->version,
		       sizeof(meta.library));
	if (uname(&system) == 0)
		snprintf(meta.kernel, sizeof(meta.kernel), "%.63s",
			 system.release);
	return meta;
}

static int complain(const char *what, const char *why)
{
	fprintf(stderr, ARGS_PROGRAM " record: %s%s%s\n", what,
		*what ? ": " : "", why);
	return EXIT_FAILED;
}

static int open_target(struct recording *r)
{
	return choose_process(&r->target, "record", r->options->pid);
}

static int open_file(struct recording *r)
{
	struct trace_meta meta = describe(r);
	int fd = open(r->options->out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
		      0600);

	r->start_ns = meta.start.monotonic_ns;
	if (fd < 0)
		return complain(r->options->out, strerror(errno));
	if (trace_write_start(&r->writer, fd, &meta))
		return complain(r->options->out, strerror(-r->writer.error));
	return EXIT_OK;
}

/* ---- recording ------------------------------------------------------------- */

/* Whether something ends the recording, that @code says; and what. */
static bool is_over(struct recording *r, int code)
{
	if (code == 0)
		return false;
	r->reason = code == -ESRCH ? TRACE_ENDED : TRACE_FAILED;
	return true;
}

/* Until a time, or a signal: true. */
static bool wait_until(const sigset_t *signals, uint64_t until_ns)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC);
	uint64_t ns = until_ns > now ? until_ns - now : 0;
	const struct timespec wait = { (time_t)(ns / NS_PER_S),
				       (long)(ns % NS_PER_S) };

	return sigtimedwait(signals, NULL, &wait) > 0;
}

static uint64_t adapt(uint64_t period_ns, double fullest)
{
	if (fullest > FULL)
		period_ns /= fullest > 4 * FULL ? 4 : 2;
	else if (fullest < FULL / 4)
		period_ns *= 2;
	return period_ns < LEAST_NS  ? LEAST_NS
	       : period_ns > MOST_NS ? MOST_NS
				     : period_ns;
}

static void record(struct recording *r, const sigset_t *signals)
{
	uint64_t end_ns =
		r->options->seconds > 0
			? r->start_ns + (uint64_t)(r->options->seconds * 1e9)
			: UINT64_MAX;
	uint64_t renew_ns = 0, period_ns = LEAST_NS, now;
	double fullest;

	while ((now = now_ns(CLOCK_MONOTONIC)) < end_ns) {
		uint64_t next_ns = r->options->last ? end_ns : now + period_ns;
		int code = 0;

		if (now >= renew_ns) {
			code = rings_extend(r->rings, now + AHEAD_NS);
			renew_ns = now + RENEW_NS;
		}
		if (code == 0 && !r->options->last) {
			code = rings_copy(r->rings, false, &fullest);
			period_ns = adapt(period_ns, fullest);
		}
		if (is_over(r, code))
			return;
		if (next_ns > renew_ns)
			next_ns = renew_ns;
		if (wait_until(signals, next_ns < end_ns ? next_ns : end_ns))
			return;
	}
}

/* First no more is recorded, so that what is left stays as it is. */
static void finish(struct recording *r)
{
	double fullest;
	int code;

	if (r->reason != TRACE_ENDED) {
		code = rings_extend(r->rings, 0);
		if (code == 0 && r->reason == TRACE_FINISHED)
			code = rings_copy(r->rings, true, &fullest);
		is_over(r, code);
	}
	trace_write_end(&r->writer, r->reason);
}

/* ---- what came of it ------------------------------------------------------- */

/* A worker notices that it is recorded between two polls, or when it wakes up. */
static void report_silent(const struct recording *r,
			  const struct trace_stream *stream, const char *who)
{
	char name[TARGET_NAME];
	struct target_now now = { 0 };

	if (stream->runtime < target_runtimes(r->target))
		target_look(r->target,
			    target_runtime(r->target, stream->runtime),
			    stream->index, &now);
	if (now.task && now.poll) {
		target_name(r->target, now.type, now.poll, name);
		fprintf(stderr,
			"%s: in one poll of %s since before: no events\n", who,
			name);
	} else if (now.state == AREA_PARKED) {
		fprintf(stderr, "%s: slept all the time: no events\n", who);
	} else {
		fprintf(stderr, "%s: slept, or was in one poll: no events\n",
			who);
	}
}

static void report_stream(const struct recording *r,
			  const struct rings_stream *stream)
{
	char written[32], lost[32], who[32] = "other threads";

	if (stream->stream.index != TRACE_OUTSIDE)
		snprintf(who, sizeof(who), "worker %" PRIu32,
			 stream->stream.index);
	text_count(written, stream->written);
	text_count(lost, stream->lost);
	if (stream->error)
		fprintf(stderr, "%s: no ring for its events: %s\n", who,
			strerror(-stream->error));
	else if (stream->stream.index != TRACE_OUTSIDE && !stream->here)
		report_silent(r, &stream->stream, who);
	else if (stream->lost > 0)
		fprintf(stderr, "%s: %s events; %s %s\n", who, written, lost,
			r->options->last
				? "older ones were overwritten, as was wanted"
				: "were lost: overwritten before they were "
				  "read");
}

static void report(const struct recording *r)
{
	uint64_t written = 0, lost = 0;
	char text[32];

	for (unsigned i = 0; i < rings_count(r->rings); i++) {
		const struct rings_stream *stream = rings_stream(r->rings, i);

		report_stream(r, stream);
		written += stream->written;
		lost += stream->lost;
	}
	fprintf(stderr, "%s: %s events", r->options->out,
		text_count(text, written));
	if (!r->options->last)
		fprintf(stderr, ", %s lost", text_count(text, lost));
	fprintf(stderr, ", %s bytes", text_count(text, r->writer.bytes));
	fprintf(stderr, ", of %s\n",
		text_time(text,
			  (double)(now_ns(CLOCK_MONOTONIC) - r->start_ns)));
}

static int judge(const struct recording *r)
{
	if (r->writer.error)
		return complain(r->options->out, strerror(-r->writer.error));
	if (r->reason == TRACE_FAILED)
		return complain("", target_reason(r->target));
	report(r);
	if (r->reason != TRACE_ENDED)
		return EXIT_OK;
	fprintf(stderr, "%s%s\n", target_reason(r->target),
		r->options->last ? "; its last events are gone with it"
				 : "; all that was read before is there");
	return r->options->last ? EXIT_FAILED : EXIT_OK;
}

/* Signals that end it are waited for, so that none is missed. */
static void block(sigset_t *signals)
{
	sigemptyset(signals);
	sigaddset(signals, SIGINT);
	sigaddset(signals, SIGTERM);
	sigaddset(signals, SIGHUP);
	sigprocmask(SIG_BLOCK, signals, NULL);
}

static int run(struct recording *r)
{
	sigset_t signals;
	int code;

	block(&signals);
	/* The last events of a program that records by itself are there. */
	code = rings_open(&r->rings, r->target, &r->writer,
			  r->options->last ? r->start_ns : UINT64_MAX);
	if (code == -ENOMEM)
		return complain("", strerror(ENOMEM));
	if (!is_over(r, code))
		record(r, &signals);
	finish(r);
	return judge(r);
}

int verb_record(int argc, char **argv)
{
	struct options options = { 0 };
	struct recording r = { .options = &options, .writer = { .fd = -1 } };
	int code;

	if (args_parse(&argp, "record", argc, argv, &options) != 0)
		return EXIT_USAGE;
	code = open_target(&r);
	if (code == EXIT_OK)
		code = open_file(&r);
	if (code == EXIT_OK)
		code = run(&r);
	rings_close(r.rings);
	if (r.writer.fd >= 0)
		close(r.writer.fd);
	target_close(r.target);
	return code;
}
