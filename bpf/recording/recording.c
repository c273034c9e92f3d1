/* SPDX-License-Identifier: MIT */
/* recording.c - see recording.h */
#include "bpf/recording/recording.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bpf/cli/args.h"
#include "bpf/cli/clock.h"
#include "bpf/target/pick_process.h"
#include "bpf/recording/object_names.h"
#include "bpf/recording/recording_about.h"
#include "bpf/recording/trace_file.h"
#include "bpf/cli/table.h"

#define NS_PER_S UINT64_C(1000000000)

/* Workers record until AHEAD_NS after the last renewal, which is repeated every
 * RENEW_NS: so they also stop if this command crashes. */
#define RENEW_NS (NS_PER_S)
#define AHEAD_NS (3 * NS_PER_S)

/* The shortest and the longest time between two scans of the rings. If a ring
 * is more than an eighth full, the time is halved, which leaves room for a
 * burst; if one is more than half full, it is quartered. If all are nearly
 * empty, it is doubled. */
#define MIN_NS UINT64_C(200000)
#define MAX_NS UINT64_C(100000000)
#define FULL   0.125

/* Limits on the CPU time of the search for rings, and of the last round. Without them, a
 * process with forged rings could keep this command busy forever. Rings are rarely an eighth
 * full in the last round, except with --last, when they are full. */
#define OPEN_NS        NS_PER_S
#define FINISH_NS      (NS_PER_S / 20)
#define FINISH_LAST_NS (2 * NS_PER_S)

#define MAX_TOLD 32u /* workers that get a line in the report */

/* ---- beginning ------------------------------------------------------------- */

int recording_complain(const struct recording *r, const char *what,
		       const char *why)
{
	fprintf(stderr, ARGS_PROGRAM " %s: %s%s%s\n", r->verb, what,
		*what && *why ? ": " : "", why);
	return EXIT_FAILED;
}

int recording_open(struct recording *r, uint64_t pid)
{
	int code;

	r->writer.fd = -1;
	code = r->target ? EXIT_OK : pick_process(&r->target, r->verb, pid);
	if (code == EXIT_OK)
		pick_process_remark(r->target, r->verb);
	return code;
}

int recording_start(struct recording *r, int fd)
{
	struct trace_meta meta = recording_meta(r->target);
	struct trace_origin origin = recording_origin(r->target);

	r->start_ns = meta.start.monotonic_ns;
	if (trace_write_start(&r->writer, fd, &meta) ||
	    trace_write_origin(&r->writer, &origin))
		return recording_complain(r, r->name,
					  strerror(-r->writer.error));
	return EXIT_OK;
}

int recording_switches(struct recording *r)
{
	return switches_open(&r->switches, target_pid(r->target), &r->writer);
}

/* ---- recording ------------------------------------------------------------- */

/* Whether @code ends the recording; if so, set the reason unless it is a signal
 * or a limit. */
static bool is_over(struct recording *r, int code)
{
	if (code == 0)
		return false;
	if (code != -EINTR)
		r->reason = code == -ESRCH ? TRACE_ENDED : TRACE_FAILED;
	return true;
}

/* Wait until a time, or for a signal. Return: true if a signal came. */
static bool wait_until(struct recording *r, uint64_t until_ns)
{
	uint64_t now = now_ns();
	uint64_t ns = until_ns > now ? until_ns - now : 0;
	const struct timespec wait = { (time_t)(ns / NS_PER_S),
				       (long)(ns % NS_PER_S) };
	bool came = sigtimedwait(&r->signals, NULL, &wait) > 0;

	r->signalled += came;
	return came;
}

static bool is_full(const struct recording *r)
{
	return r->max_bytes && r->writer.bytes >= r->max_bytes;
}

/* The callback of struct rings_stop. A signal also ends the last round. */
static bool stop_now(void *context)
{
	struct recording *r = context;

	if (wait_until(r, 0) || is_full(r))
		return true;
	if (r->cpu_ns)
		return clock_read_ns(CLOCK_THREAD_CPUTIME_ID) >= r->cpu_ns;
	return now_ns() >= r->end_ns;
}

static uint64_t adapt(uint64_t period_ns, double fullest)
{
	if (fullest > FULL)
		period_ns /= fullest > 4 * FULL ? 4 : 2;
	else if (fullest < FULL / 4)
		period_ns *= 2;
	return period_ns < MIN_NS   ? MIN_NS
	       : period_ns > MAX_NS ? MAX_NS
				    : period_ns;
}

/* Copy the new events of the rings, and the new switches. */
static int copy(struct recording *r, bool last, double *fullest)
{
	int code = rings_copy(r->rings, last, fullest);

	if (code == 0 && r->switches)
		code = switches_copy(r->switches, fullest);
	return code;
}

/* Check the trigger, if that is due. Return: -EINTR if it has fired. */
static int look_for_trigger(struct recording *r, uint64_t now, uint64_t *due_ns)
{
	int code;

	if (!r->on || now < *due_ns)
		return 0;
	*due_ns = now + TRIGGER_NS;
	code = trigger_look(&r->trigger, r->target);
	return code == 1 ? -EINTR : code;
}

static void record(struct recording *r)
{
	uint64_t renew_ns = 0, period_ns = MIN_NS, look_ns = 0, now;
	double fullest;

	while ((now = now_ns()) < r->end_ns && !is_full(r)) {
		uint64_t next_ns = r->last ? r->end_ns : now + period_ns;
		int code = 0;

		if (now >= renew_ns) {
			code = rings_extend(r->rings, now + AHEAD_NS);
			renew_ns = now + RENEW_NS;
		}
		if (code == 0)
			code = look_for_trigger(r, now, &look_ns);
		if (code == 0 && !r->last) {
			code = copy(r, false, &fullest);
			period_ns = adapt(period_ns, fullest);
		}
		if (is_over(r, code))
			return;
		if (next_ns > renew_ns)
			next_ns = renew_ns;
		if (r->on && next_ns > look_ns)
			next_ns = look_ns;
		if (wait_until(r, next_ns < r->end_ns ? next_ns : r->end_ns))
			return;
	}
}

/* Stop the workers' recording before the last copy, so that the rings do not
 * change while they are copied. */
static void finish(struct recording *r)
{
	double fullest = 0;
	int code;

	if (r->stop_signal)
		sigdelset(&r->signals, r->stop_signal);
	r->cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) +
		    (r->last ? FINISH_LAST_NS : FINISH_NS);
	if (r->reason != TRACE_ENDED) {
		code = rings_extend(r->rings, 0);
		if (code == 0 && r->reason == TRACE_FINISHED)
			code = copy(r, true, &fullest);
		r->cut = code == -EINTR;
		is_over(r, code);
	} else if (r->switches) { /* their buffer outlives the process */
		switches_copy(r->switches, &fullest);
	}
	if (r->rings)
		rings_finish(r->rings);
	trace_write_end(&r->writer, r->reason);
}

/* ---- report ---------------------------------------------------------------- */

/* Return true if the stream is that of a worker that never had a ring. */
static bool is_silent(const struct rings_stream *stream)
{
	return stream->stream.index != TRACE_OUTSIDE && !stream->here;
}

/* Say why a worker has no events: it notices that it is recorded only between
 * two polls, or when it wakes up. */
static void report_silent(const struct recording *r,
			  const struct target_runtime *runtime, unsigned index,
			  const char *who)
{
	char name[TARGET_NAME];
	struct target_now now = { 0 };

	target_look(r->target, runtime, index, &now);
	if (now.task && now.poll) {
		target_name(r->target, now.type, now.poll, name);
		fprintf(stderr,
			"%s: in one poll of %s since before the "
			"recording: no events\n",
			who, name);
	} else if (now.state == AREA_PARKED) {
		fprintf(stderr, "%s: slept all the time: no events\n", who);
	} else {
		fprintf(stderr, "%s: slept, or was in one poll: no events\n",
			who);
	}
}

static void report_stream(const struct recording *r,
			  const struct rings_stream *stream,
			  const struct target_runtime *runtime)
{
	char written[32], lost[32], who[32] = "other threads";

	if (stream->stream.index != TRACE_OUTSIDE)
		snprintf(who, sizeof(who), "worker %" PRIu32,
			 stream->stream.index);
	text_count(written, stream->written);
	text_count(lost, stream->lost);
	if (stream->error == -EILSEQ)
		fprintf(stderr,
			"%s: its ring is impossible, and was not read: "
			"%" PRIu64 " events at 0x%" PRIx64
			"; allowed: a power of two, up to %" PRIu64 "\n",
			who, stream->bad_events, stream->bad_address,
			RINGS_MAX_EVENTS);
	else if (stream->error)
		fprintf(stderr, "%s: no ring for its events: %s\n", who,
			strerror(-stream->error));
	else if (is_silent(stream) && runtime)
		report_silent(r, runtime, stream->stream.index, who);
	else if (stream->lost > 0)
		fprintf(stderr, "%s: %s events; %s %s\n", who, written, lost,
			r->last ? "older ones were overwritten, as --last implies"
				: "were lost: overwritten before they were "
				  "read");
}

static bool is_told(const struct rings_stream *stream,
		    const struct target_runtime *runtime)
{
	return stream->error || stream->lost > 0 ||
	       (is_silent(stream) && runtime);
}

/* There may be any number of workers: one line sums up those that have ended,
 * and another one those after the first MAX_TOLD. */
void recording_report_streams(const struct recording *r)
{
	unsigned gone = 0, told = 0;

	for (unsigned i = 0; i < rings_count(r->rings); i++) {
		const struct rings_stream *stream = rings_stream(r->rings, i);
		const struct target_runtime *runtime =
			rings_runtime(r->rings, i);

		if (is_told(stream, runtime) && told++ < MAX_TOLD)
			report_stream(r, stream, runtime);
		gone += is_silent(stream) && !stream->error && !runtime;
	}
	if (told > MAX_TOLD)
		fprintf(stderr, "%u more workers lost events, or have none\n",
			told - MAX_TOLD);
	if (gone > 0)
		fprintf(stderr,
			"%u of the workers ended before they noticed "
			"that they were recorded: no events\n",
			gone);
	if (rings_lack_names(r->rings))
		fprintf(stderr,
			"only the first %u locks, channels and holders have names: "
			"further ones are shown by their addresses\n",
			OBJECT_NAMES_MAX);
	if (rings_are_full(r->rings))
		fprintf(stderr,
			"a recording has streams for at most %u workers, "
			"including ended ones: later runtimes are missing\n",
			TRACE_SOURCES);
}

bool recording_is_empty(const struct recording *r)
{
	for (unsigned i = 0; i < rings_count(r->rings); i++) {
		if (rings_stream(r->rings, i)->written > 0)
			return false;
	}
	return true;
}

void recording_report_limit(const struct recording *r)
{
	if (is_full(r))
		fprintf(stderr,
			"the recording ended at its limit of %" PRIu64
			" bytes\n",
			r->max_bytes);
	else if (r->cut)
		fprintf(stderr, "the events left in rings at the end are "
				"missing: copying them took too long, or was "
				"interrupted\n");
}

static void report_trigger(const struct recording *r)
{
	struct timespec now;
	struct tm tm;
	char text[32];

	if (!r->on)
		return;
	if (!*r->trigger.why) {
		fprintf(stderr, "the condition of --on was not met\n");
		return;
	}
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	fprintf(stderr, "%s: %s\n", text, r->trigger.why);
}

void recording_report(const struct recording *r)
{
	uint64_t written = 0, lost = 0;
	char text[32], other[32];

	report_trigger(r);
	recording_report_streams(r);
	recording_report_limit(r);
	for (unsigned i = 0; i < rings_count(r->rings); i++) {
		const struct rings_stream *stream = rings_stream(r->rings, i);

		written += stream->written;
		lost += stream->lost;
	}
	fprintf(stderr, "%s: %s events", r->name, text_count(text, written));
	if (!r->last)
		fprintf(stderr, ", %s lost", text_count(text, lost));
	if (r->switches)
		fprintf(stderr, ", %s switches, %s lost",
			text_count(text, switches_count(r->switches)),
			text_count(other, switches_lost(r->switches)));
	fprintf(stderr, ", %s bytes", text_count(text, r->writer.bytes));
	fprintf(stderr, ", of %s\n",
		text_time(text, (double)(now_ns() - r->start_ns)));
}

/* Block the signals that end the recording: wait_until() accepts them, so that
 * none is missed. */
static void block(struct recording *r)
{
	sigemptyset(&r->signals);
	sigaddset(&r->signals, SIGINT);
	sigaddset(&r->signals, SIGTERM);
	sigaddset(&r->signals, SIGHUP);
	if (r->stop_signal)
		sigaddset(&r->signals, r->stop_signal);
	sigprocmask(SIG_BLOCK, &r->signals, NULL);
}

/* Report the first failure, if there is one. */
static int judge(const struct recording *r)
{
	if (r->writer.error)
		return recording_complain(r, r->name,
					  strerror(-r->writer.error));
	if (r->reason == TRACE_FAILED)
		return recording_complain(r, "", target_reason(r->target));
	return EXIT_OK;
}

int recording_run(struct recording *r)
{
	const struct rings_stop stop = { stop_now, r };
	int code;

	block(r);
	r->cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) + OPEN_NS;
	/* With --last, also keep the events that a program has recorded by
	 * itself before. */
	code = rings_open(&r->rings, r->target, &r->writer,
			  r->last ? r->start_ns : UINT64_MAX, &stop);
	r->cpu_ns = 0;
	/* Workers record from now on. On a busy machine, the programs may have taken seconds
	 * to load. */
	r->end_ns = r->seconds > 0 ? now_ns() + (uint64_t)(r->seconds * 1e9)
				   : UINT64_MAX;
	if (code == -ENOMEM)
		return recording_complain(r, "", strerror(ENOMEM));
	if (!is_over(r, code))
		record(r);
	finish(r);
	return judge(r);
}

void recording_close(struct recording *r)
{
	switches_close(r->switches);
	rings_close(r->rings);
	if (r->writer.fd >= 0)
		close(r->writer.fd);
	trigger_free(&r->trigger);
	target_close(r->target);
}
