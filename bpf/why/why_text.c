/* SPDX-License-Identifier: MIT */
/* why_text.c - prints the results for people */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/recording/offcpu.h"
#include "bpf/recording/trace_names.h"
#include "bpf/cli/table.h"
#include "bpf/why/why.h"
#include "bpf/why/why_forks.h"

#define CHANNELS 5u /* that get a line */

/* A worker may wait for its CPU for up to this share of the time without a
 * remark. */
#define NOTEWORTHY 0.1

static const char *ending(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* ---- the recording ------------------------------------------------------- */

static void print_sched(FILE *file, const struct why *why)
{
	for (unsigned i = 0; i < trace_sources(why->trace); i++) {
		const struct trace_stream *stream =
			&trace_source(why->trace, i)->stream;
		const struct why_thread *thread =
			why_sched_find(&why->sched, stream->tid);
		char who[TRACE_LABEL], run[32], delay[32];
		double whole;

		if (!thread || stream->index == TRACE_OUTSIDE)
			continue;
		whole = (double)(thread->run_ns > thread->delay_ns
					 ? thread->run_ns
					 : thread->delay_ns);
		trace_label(why->trace, i, who);
		fprintf(file,
			"%s ran for %s, and waited %s for its CPU, which is in "
			"the parts below\n",
			who, text_time_in(run, (double)thread->run_ns, whole),
			text_time_in(delay, (double)thread->delay_ns, whole));
	}
}

static void print_source(FILE *file, const struct why *why)
{
	char text[32];

	switch (why->source) {
	case WHY_BPF:
		fprintf(file,
			"the threads that had the CPUs are known, by BPF; %s switches lost",
			text_count(text, trace_offcpu(why->trace)->lost));
		if (trace_offcpu(why->trace)->unseen > 0)
			fprintf(file, ", %s not shown by the kernel",
				text_count(text,
					   trace_offcpu(why->trace)->unseen));
		fputc('\n', file);
		break;
	case WHY_SCHEDSTAT:
		fprintf(file,
			"the threads that had the CPUs are not known, only how "
			"long workers waited for one, from schedstat:\n%s\n",
			why->missing);
		print_sched(file, why);
		break;
	default:
		fprintf(file,
			"the threads that had the CPUs are not known: %s\n",
			why->missing);
		break;
	}
}

/* Print how many tasks still wait for locks, and the longest of these waits. */
static void print_stuck(FILE *file, const struct why *why)
{
	const struct ledger *l = &why->ledger;
	const struct ledger_wait *wait;
	char count[32], time[32], lock[TRACE_WAIT_TEXT];
	const char *holder;

	if (!l->stuck)
		return;
	wait = &l->waits[l->stuck - 1];
	holder = ledger_last_holder(l, wait->object);
	fprintf(file,
		"\n%s task%s for locks at the end, longest %s: %s so far, for "
		"%s%s%s",
		text_count(count, l->stuck_count),
		l->stuck_count == 1 ? " waits" : "s wait",
		wait->name < l->name_count ? l->names[wait->name] : "one",
		text_time(time, (double)(l->stop_ns - wait->from_ns)),
		trace_wait_name(l->trace, wait->kind, wait->object, lock),
		holder ? ", held by " : "", holder ? holder : "");
}

static void print_about(FILE *file, const struct why *why)
{
	const struct trace_about *about = trace_about(why->trace);
	uint64_t start = about->meta.start.monotonic_ns;
	uint64_t stop = about->end.stop.monotonic_ns;
	char text[32], oldest[32], since[WHY_TIME];

	fprintf(file, "process %" PRIu32 " (%s)", about->meta.pid,
		about->meta.program);
	if (stop > start && start > 0)
		fprintf(file, ", %s", text_time(text, (double)(stop - start)));
	if (why_time(why->trace, start, since)[0])
		fprintf(file, " from %s (UTC)", since);
	fprintf(file, ", %s events", text_count(text, about->events));
	fprintf(file, ", %s lost%s\n", text_count(text, about->lost),
		about->cut ? ", the end is missing" : "");
	print_source(file, why);
	fprintf(file, "%s waits and their polls",
		text_count(text, why->ledger.count));
	if (why->ledger.incomplete > 0)
		fprintf(file, ", %s poll%s of which a part was not seen",
			text_count(text, why->ledger.incomplete),
			ending(why->ledger.incomplete));
	if (why->ledger.waiting > 0)
		fprintf(file, ", %s task%s waiting at the end, up to %s",
			text_count(text, why->ledger.waiting),
			ending(why->ledger.waiting),
			text_time(oldest, (double)why->ledger.oldest_ns));
	print_stuck(file, why);
	if (why->type)
		fprintf(file, "\nonly tasks of %s are shown", why->type);
	if (why->verdict.slower_than_ns > 0)
		fprintf(file, "\n%s task%s took longer than %s",
			text_count(text, why->verdict.slower),
			ending(why->verdict.slower),
			text_time(oldest, (double)why->verdict.slower_than_ns));
	fputs("\n\n", file);
}

/* The largest share of a worker's time that went to waiting for its CPU. */
static double missing_share(const struct why *why)
{
	double most = 0;

	for (unsigned i = 0; i < trace_sources(why->trace); i++) {
		const struct trace_stream *stream =
			&trace_source(why->trace, i)->stream;
		const struct why_thread *thread =
			why_sched_find(&why->sched, stream->tid);
		double sum, share;

		if (!thread || stream->index == TRACE_OUTSIDE)
			continue;
		sum = (double)thread->run_ns + (double)thread->delay_ns;
		share = sum > 0 ? (double)thread->delay_ns / sum : 0;
		most = share > most ? share : most;
	}
	return most;
}

/* ---- delays before tasks were ready -------------------------------------- */

static void print_delay(FILE *file, const struct why *why,
			const struct ledger_delay *delay)
{
	char who[TRACE_LABEL], by[32], tasks[32], when[WHY_TIME];
	char text[LEDGER_TEXT];

	trace_label(why->trace, delay->late.track, who);
	fprintf(file, "    %s%s late on %s at %s, and woke %s task%s:\n",
		delay->late.io ? "up to " : "",
		text_time(by, (double)ledger_late_by(&delay->late)), who,
		why_when(why, delay->late.until_ns, when),
		text_count(tasks, delay->late.woken),
		ending(delay->late.woken));
	for (unsigned i = 0; i < delay->reason_count; i++) {
		ledger_say(&why->ledger, &delay->reasons[i], 1, text,
			   sizeof(text));
		fprintf(file, "        %s\n", text);
	}
}

/* Print the delays that are in no item. @what, @of: such as "call", "of pollers" */
static void print_delays(FILE *file, const struct why *why,
			 const struct ledger_delays *delays, const char *what,
			 const char *of)
{
	char times[32], limit[32];

	if (delays->count == 0)
		return;
	fprintf(file,
		"before tasks were ready: %s %s%s %s came more than %s late\n",
		text_count(times, delays->times), what, ending(delays->times),
		of, text_time(limit, (double)why->verdict.late_ns));
	for (unsigned i = 0; i < delays->count; i++)
		print_delay(file, why, &delays->list[i]);
	fputc('\n', file);
}

/* ---- channels --------------------------------------------------------------- */

/* Print the channels with the longest waits, which are in no item if the channel was
 * empty. */
static void print_channels(FILE *file, const struct why *why)
{
	const struct ledger *l = &why->ledger;
	char text[LEDGER_TEXT];

	if (l->channel_count == 0)
		return;
	fputs("waits for channels, of tasks of all types:\n", file);
	for (size_t i = 0; i < l->channel_count && i < CHANNELS; i++) {
		ledger_say_channel(l, &l->channels[i], text, sizeof(text));
		fprintf(file, "    %s\n", text);
	}
	if (l->channel_count > CHANNELS)
		fprintf(file, "    and further ones: see --json\n");
	fputc('\n', file);
}

/* ---- descriptors ------------------------------------------------------------ */

/* Print the longest waits for descriptors, which are in no item. */
static void print_io(FILE *file, const struct why *why)
{
	const struct ledger *l = &why->ledger;
	char text[LEDGER_TEXT];

	if (l->io_count == 0)
		return;
	fputs("waits for descriptors, of tasks of all types:\n", file);
	for (size_t i = 0; i < l->io_count && i < CHANNELS; i++) {
		ledger_say_io(l, &l->io[i], text, sizeof(text));
		fprintf(file, "    %s\n", text);
	}
	if (l->io_count > CHANNELS)
		fprintf(file, "    and further ones: see --json\n");
	fputc('\n', file);
}

/* ---- the whole ----------------------------------------------------------- */

/* Whether skua itself preempted workers: it copies events, and busy workers
 * have many. */
static bool blames_recorder(const struct ledger_verdict *v)
{
	for (unsigned i = 0; i < v->share_count; i++)
		if (v->shares[i].reason.kind == LEDGER_PREEMPTED &&
		    strcmp(v->shares[i].reason.culprit, "skua") == 0)
			return true;
	return false;
}

static void print_all(FILE *file, const struct why *why, size_t most)
{
	const struct ledger_verdict *v = &why->verdict;
	char text[LEDGER_TEXT];

	print_about(file, why);
	for (size_t i = 0; i < v->incident_count && i < most; i++)
		why_print_incident(file, why, i, i + 1);
	if (v->incident_count > 0 && most > 0)
		why_print_legend(file);
	print_delays(file, why, &v->pollers, "call", "of pollers");
	print_delays(file, why, &v->events, "look",
		     "for events of descriptors");
	print_channels(file, why);
	print_io(file, why);
	why_print_forks(file, why);
	if (why->ledger.count > 0)
		why_print_types(file, why);
	if (why->ledger.count > 0 ||
	    !why_forks_verdict(why, text, sizeof(text)))
		ledger_say_verdict(&why->ledger, &why->verdict, text,
				   sizeof(text));
	fprintf(file, "verdict: %s\n", text);
	if (why->ledger.count == 0 && why->ledger.forks.calls.count == 0)
		fputs("(a call of skua_run() that began before the recording is "
		      "seen when it ends, when a worker takes a job of it, or "
		      "when it waits in a join)\n",
		      file);
	if (blames_recorder(&why->verdict))
		fputs("(skua is the command that recorded: with fewer events "
		      "it needs less of a CPU)\n",
		      file);
	if (why->source == WHY_SCHEDSTAT && missing_share(why) > NOTEWORTHY)
		fprintf(file,
			"but a worker lacked its CPU for up to %.0f %% of the "
			"time in which it had work: other threads may be to "
			"blame; with CAP_BPF and CAP_PERFMON this command "
			"names them\n",
			100 * missing_share(why));
}

void why_print(FILE *file, const struct why *why, size_t most)
{
	char *text = NULL;
	size_t bytes;
	FILE *lines = open_memstream(&text, &bytes);

	if (!lines) {
		print_all(file, why, most);
		return;
	}
	print_all(lines, why, most);
	fclose(lines);
	why_wrap(file, text);
	free(text);
}
