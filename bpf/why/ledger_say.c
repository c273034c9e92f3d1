/* SPDX-License-Identifier: MIT */
/* ledger_say.c - describes reasons and verdicts in words */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "bpf/cli/table.h"
#include "bpf/recording/trace_names.h"
#include "bpf/target/wait_kind.h"
#include "bpf/why/ledger.h"

static const char *const words[LEDGER_REASONS] = {
	"waited",      "queued",  "parked", "stolen",  "running",   "preempted",
	"descheduled", "unknown", "burst",  "backlog", "unfinished"
};

const char *ledger_word(unsigned part)
{
	return words[part];
}

/* ---- one item ------------------------------------------------------------ */

static void say_queued(const struct ledger_reason *r, const char *who,
		       char *text, size_t bytes)
{
	char took[32], longest[32], times[32], culprit[LEDGER_WHO];

	text_time(took, (double)r->ns);
	ledger_who(r, culprit);
	if (!r->culprit[0])
		snprintf(text, bytes, "waited %s while %s was between polls",
			 took, who);
	else if (r->times == 1)
		snprintf(text, bytes, "waited %s behind %s on %s", took,
			 culprit, who);
	else
		snprintf(text, bytes,
			 "waited %s behind %s on %s: %s polls, up to %s", took,
			 culprit, who, text_count(times, r->times),
			 text_time_in(longest, (double)r->longest_ns,
				      (double)r->ns));
}

static void say_burst(const struct ledger_reason *r, char *text, size_t bytes)
{
	char came[32], within[32], ahead[32];

	snprintf(text, bytes,
		 "burst: %s tasks became runnable within %s before it, and it "
		 "waited behind %s polls",
		 text_count(came, r->burst),
		 text_time(within, (double)r->burst_ns),
		 text_count(ahead, r->times));
}

static void say_backlog(const struct ledger_reason *r, char *text, size_t bytes)
{
	char came[32], within[32], ahead[32], took[32], longest[32];
	char before[100] = "";
	double whole = (double)(r->ns > r->burst_ns ? r->ns : r->burst_ns);

	if (r->burst > 0)
		snprintf(before, sizeof(before),
			 "%s tasks became runnable within %s before it, and ",
			 text_count(came, r->burst),
			 text_time_in(within, (double)r->burst_ns, whole));
	snprintf(text, bytes,
		 "overload: %sit waited %s behind %s polls, up to %s, %s%s",
		 before, text_time_in(took, (double)r->ns, whole),
		 text_count(ahead, r->times),
		 text_time_in(longest, (double)r->longest_ns, whole),
		 r->culprit[0] ? "most of " : "of several types", r->culprit);
}

static void say_descheduled(const struct ledger_reason *r, const char *who,
			    char *text, size_t bytes)
{
	char took[32], culprit[LEDGER_WHO];

	text_time(took, (double)r->ns);
	ledger_who(r, culprit);
	if (r->how == LEDGER_STOP)
		snprintf(text, bytes,
			 "%s was stopped for %s, by a signal or a debugger",
			 who, took);
	else if (r->how == LEDGER_ITSELF)
		snprintf(text, bytes,
			 "its own poll blocked %s for %s, in the kernel", who,
			 took);
	else
		snprintf(text, bytes,
			 "a poll of %s blocked %s for %s, in the kernel",
			 culprit[0] ? culprit : "?", who, took);
}

static void say_preempted(const struct ledger_reason *r, const char *who,
			  char *text, size_t bytes)
{
	char took[32], thread[32] = "";

	if (r->thread)
		snprintf(thread, sizeof(thread), " (thread %" PRIu32 ")",
			 r->thread);
	snprintf(text, bytes, "%s was preempted for %s by %s%s", who,
		 text_time(took, (double)r->ns), r->culprit, thread);
}

/* Describe an activity of a holder: "ran for 1.2 ms". @whole: the time of all of them */
static void say_did(unsigned part, uint64_t ns, uint64_t whole, char *text,
		    size_t bytes)
{
	static const char *const did[LEDGER_PARTS] = {
		[LEDGER_WAITED] = "waited itself",
		[LEDGER_QUEUED] = "was queued",
		[LEDGER_RUNNING] = "ran",
		[LEDGER_PREEMPTED] = "was preempted",
		[LEDGER_DESCHEDULED] = "was blocked in the kernel",
	};
	char time[32];

	snprintf(text, bytes, "%s for %s", did[part],
		 text_time_in(time, (double)ns, (double)whole));
}

/* The two most important things that a holder did in a time. */
static void say_holder(const uint64_t *parts, uint64_t ns, char *text,
		       size_t bytes)
{
	uint64_t did[LEDGER_PARTS];
	const char *before = ", which ";

	memcpy(did, parts, sizeof(did));
	/* A holder that waits for a worker is queued, whatever the worker does. */
	did[LEDGER_QUEUED] += did[LEDGER_PARKED] + did[LEDGER_STOLEN];
	did[LEDGER_PARKED] = did[LEDGER_STOLEN] = 0;
	did[LEDGER_UNKNOWN] = 0;
	text[0] = '\0';
	for (unsigned n = 0; n < 2; n++) {
		size_t used = strlen(text);
		unsigned most = 0;

		for (unsigned i = 1; i < LEDGER_PARTS; i++)
			if (did[i] > did[most])
				most = i;
		if (did[most] <= ns / 10)
			return;
		used += (size_t)snprintf(text + used, bytes - used, "%s",
					 before);
		say_did(most, did[most], ns, text + used, bytes - used);
		did[most] = 0;
		before = " and ";
	}
}

/* Write the object of a wait: "mutex accounts", "full channel orders". Return: the words
 * before the name of its holder or server, NULL if it has none. @text: OBJECT_TEXT bytes */
#define OBJECT_TEXT (TRACE_WAIT_TEXT + 16)
static const char *say_object(const struct ledger *l, uint32_t kind,
			      uint64_t object, char *text)
{
	char name[TRACE_WAIT_TEXT];

	/* The object is that of all files of a runtime, so its address tells nothing. */
	if (kind == AREA_WAITS_FILE) {
		snprintf(text, OBJECT_TEXT, "an operation on a file");
		return NULL;
	}
	if (!wait_kind_is_channel(kind)) {
		trace_wait_name(l->trace, kind, object, text);
		return wait_kind_is_lock(kind) ? "held by "
		       : wait_kind_is_io(kind) ? "for its "
					       : "woken by ";
	}
	trace_object_name(l->trace, kind, object, name);
	snprintf(text, OBJECT_TEXT, "%s %s", wait_kind_state(kind), name);
	return wait_kind_is_send(kind) ? "last receiver " : "last sender ";
}

static void say_waited(const struct ledger *l, const struct ledger_reason *r,
		       char *text, size_t bytes)
{
	char took[32], object[OBJECT_TEXT], holder[200] = "";
	char culprit[LEDGER_WHO];
	const char *by = say_object(l, r->lock_kind, r->lock, object);
	const char *nobody = wait_kind_is_channel(r->lock_kind) ? "not known"
			     : wait_kind_is_lock(r->lock_kind)
				     ? "nobody that is known"
				     : "no task";

	text_time(took, (double)r->ns);
	if (!by) {
		snprintf(text, bytes, "waited %s for %s", took, object);
		return;
	}
	if (r->culprit[0])
		say_holder(r->did, r->ns, holder, sizeof(holder));
	snprintf(text, bytes, "waited %s for %s, %s%s%s", took, object, by,
		 r->culprit[0] ? ledger_who(r, culprit) : nobody, holder);
}

void ledger_say_channel(const struct ledger *l,
			const struct ledger_channel *channel, char *text,
			size_t bytes)
{
	const struct ledger_wait *wait = &l->waits[channel->longest - 1];
	double most = (double)channel->longest_ns;
	char object[OBJECT_TEXT], count[32], mean[32], time[32], did[200] = "";
	char server[LEDGER_WHO];
	const char *by = say_object(l, channel->kind, channel->object, object);
	bool known = wait->server.name < l->name_count;

	if (known)
		say_holder(channel->did, channel->longest_ns, did, sizeof(did));
	snprintf(text, bytes,
		 "%s: %s wait%s, %s on average, longest %s of %s, %s%s%s",
		 object, text_count(count, channel->times),
		 channel->times == 1 ? "" : "s",
		 text_time_in(mean,
			      (double)channel->ns / (double)channel->times,
			      most),
		 text_time(time, most),
		 wait->name < l->name_count ? l->names[wait->name] : "a task",
		 by,
		 known ? ledger_task(l, wait->server.name, wait->server.label,
				     server)
		       : "not known",
		 did);
	if (channel->still > 0)
		snprintf(text + strlen(text), bytes - strlen(text),
			 "; %s task%s at the end, up to %s so far",
			 text_count(count, channel->still),
			 channel->still == 1 ? " waits" : "s wait",
			 text_time_in(time, (double)channel->still_ns, most));
}

void ledger_say_io(const struct ledger *l, const struct ledger_io *io,
		   char *text, size_t bytes)
{
	double most = (double)io->longest_ns;
	char count[32], mean[32], longest[32], time[32];

	snprintf(text, bytes,
		 "%s, to %s: %s wait%s, %s on average, longest %s; at most "
		 "%.3g %% of that after the kernel had the event, longest %s, "
		 "and the rest for peers",
		 io->name < l->name_count ? l->names[io->name] : "a task",
		 io->kind == AREA_WAITS_IO_READ ? "read" : "write",
		 text_count(count, io->times), io->times == 1 ? "" : "s",
		 text_time_in(mean,
			      (double)io->ns /
				      (double)(io->times ? io->times : 1),
			      most),
		 text_time_in(longest, most, most),
		 100 * (double)io->unseen_ns / (double)(io->ns ? io->ns : 1),
		 text_time_in(time, (double)io->longest_unseen_ns, most));
	if (io->still > 0)
		snprintf(text + strlen(text), bytes - strlen(text),
			 "; %s task%s at the end, up to %s so far",
			 text_count(count, io->still),
			 io->still == 1 ? " waits" : "s wait",
			 text_time_in(time, (double)io->still_ns, most));
}

static void say(const struct ledger *l, const struct ledger_reason *r,
		char *text, size_t bytes)
{
	char who[TRACE_LABEL], took[32];

	trace_label(l->trace, r->track, who);
	text_time(took, (double)r->ns);
	switch (r->kind) {
	case LEDGER_WAITED:
		say_waited(l, r, text, bytes);
		break;
	case LEDGER_QUEUED:
		say_queued(r, who, text, bytes);
		break;
	case LEDGER_BURST:
		say_burst(r, text, bytes);
		break;
	case LEDGER_BACKLOG:
		say_backlog(r, text, bytes);
		break;
	case LEDGER_PREEMPTED:
		say_preempted(r, who, text, bytes);
		break;
	case LEDGER_DESCHEDULED:
		say_descheduled(r, who, text, bytes);
		break;
	case LEDGER_RUNNING:
		snprintf(text, bytes, "ran for %s itself", took);
		break;
	case LEDGER_PARKED:
		snprintf(text, bytes, "waited %s for %s to wake up", took, who);
		break;
	case LEDGER_STOLEN:
		snprintf(text, bytes, "took %s to be stolen by %s", took, who);
		break;
	default:
		snprintf(text, bytes, "it is not known where %s went", took);
		break;
	}
}

void ledger_say(const struct ledger *l, const struct ledger_reason *reasons,
		unsigned count, char *text, size_t bytes)
{
	size_t used = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < count && used < bytes; i++) {
		if (i > 0)
			snprintf(text + used, bytes - used, "; ");
		used += strlen(text + used);
		say(l, &reasons[i], text + used, bytes - used);
		used += strlen(text + used);
	}
}

/* ---- the verdict --------------------------------------------------------- */

static void say_descheduled_all(const struct ledger_reason *r, bool several,
				char *text, size_t bytes)
{
	char culprit[LEDGER_WHO];

	if (r->how == LEDGER_STOP)
		snprintf(text, bytes,
			 "being stopped, by a signal or a debugger");
	else if (several || !r->culprit[0])
		snprintf(text, bytes, "polls that blocked in the kernel");
	else
		snprintf(text, bytes, "polls of %s that blocked in the kernel",
			 ledger_who(r, culprit));
}

/* Name the part of all holders' time that is the largest, if it is most of it. */
static const char *did_most(const struct ledger_reason *r)
{
	for (unsigned i = 0; i < LEDGER_PARTS; i++)
		if (r->did[i] > r->ns / 2)
			return i == LEDGER_PREEMPTED ? ", which was preempted"
			       : i == LEDGER_DESCHEDULED
				       ? ", which was blocked in the kernel"
			       : i == LEDGER_WAITED ? ", which waited itself"
			       : i == LEDGER_QUEUED ? ", which was queued"
						    : "";
	return "";
}

static void say_waited_all(const struct ledger *l,
			   const struct ledger_reason *r, bool several,
			   char *text, size_t bytes)
{
	char object[OBJECT_TEXT], culprit[LEDGER_WHO];
	const char *by = say_object(l, r->lock_kind, r->lock, object);

	/* The others may also be events, descriptors or times. */
	if (several)
		snprintf(text, bytes, "waiting for locks or other objects");
	else if (r->culprit[0])
		snprintf(text, bytes, "waiting for %s, %s%s%s%s", object, by,
			 ledger_who(r, culprit), r->others ? " and others" : "",
			 did_most(r));
	else
		snprintf(text, bytes, "waiting for %s", object);
}

/* Describe the cause of a part. @several: do not name it as the only one. */
static void say_part(const struct ledger *l, const struct ledger_reason *r,
		     bool several, char *text, size_t bytes)
{
	char number[32], culprit[LEDGER_WHO];

	switch (r->kind) {
	case LEDGER_WAITED:
		say_waited_all(l, r, several, text, bytes);
		break;
	case LEDGER_QUEUED:
		snprintf(text, bytes, "waiting behind %s",
			 several         ? "others"
			 : r->culprit[0] ? ledger_who(r, culprit)
					 : "what workers do between polls");
		break;
	case LEDGER_BURST:
		snprintf(text, bytes,
			 "waiting in queues, when up to %s tasks came at once",
			 text_count(number, r->burst));
		break;
	case LEDGER_BACKLOG:
		snprintf(text, bytes,
			 "waiting in queues of more polls than could be "
			 "made, %s%s",
			 r->culprit[0] ? "most of " : "of several types",
			 r->culprit);
		break;
	case LEDGER_PREEMPTED:
		snprintf(text, bytes, "waiting for a CPU that %s",
			 several ? "others had" : "another had: ");
		if (!several)
			strncat(text, r->culprit, bytes - strlen(text) - 1);
		break;
	case LEDGER_DESCHEDULED:
		say_descheduled_all(r, several, text, bytes);
		break;
	case LEDGER_RUNNING:
		snprintf(text, bytes, "their own polls");
		break;
	case LEDGER_PARKED:
		snprintf(text, bytes, "waking a worker up");
		break;
	case LEDGER_STOLEN:
		snprintf(text, bytes, "being stolen");
		break;
	default:
		snprintf(text, bytes, "what is not known");
		break;
	}
}

static void say_unfinished(const struct ledger *l,
			   const struct ledger_reason *r, char *text,
			   size_t bytes)
{
	char who[TRACE_LABEL], took[32], waiting[32], oldest[32];
	char culprit[LEDGER_WHO];
	double whole = (double)(r->ns > r->burst_ns ? r->ns : r->burst_ns);

	trace_label(l->trace, r->track, who);
	snprintf(text, bytes,
		 "%s is in one poll of %s, that has taken %s%s, and has not "
		 "ended",
		 who, ledger_who(r, culprit),
		 text_time_in(took, (double)r->ns, whole),
		 r->unseen ? " and more, since before the recording" : "");
	if (r->burst > 0)
		snprintf(text + strlen(text), bytes - strlen(text),
			 ": %s task%s behind it, the oldest for %s",
			 text_count(waiting, r->burst),
			 r->burst == 1 ? " waits" : "s wait",
			 text_time_in(oldest, (double)r->burst_ns, whole));
}

static const char *say_before(const struct ledger_verdict *v)
{
	unsigned kind = v->shares[0].reason.kind;

	if (kind == LEDGER_BURST)
		return "burst: ";
	if (kind == LEDGER_BACKLOG)
		return "overload: ";
	for (unsigned i = 0; i < v->share_count; i++)
		if (v->shares[i].reason.culprit[0] ||
		    v->shares[i].reason.how == LEDGER_STOP)
			return "";
	return "nobody is to blame: ";
}

static void say_share(const struct ledger *l, const struct ledger_share *s,
		      const char *of, char *text, size_t bytes)
{
	const struct ledger_reason *r = &s->reason;
	char part[300], culprit[LEDGER_WHO];

	say_part(l, r, s->several, part, sizeof(part));
	snprintf(text, bytes, "%.0f %%%s to %s", 100 * ledger_said(s), of,
		 part);
	if (!s->several)
		return;
	snprintf(text + strlen(text), bytes - strlen(text),
		 "; the most of it, %.0f %%, to ", 100 * s->share);
	if (r->kind == LEDGER_WAITED)
		say_waited_all(l, r, false, text + strlen(text),
			       bytes - strlen(text));
	else
		snprintf(text + strlen(text), bytes - strlen(text), "%s",
			 ledger_who(r, culprit));
}

static void say_delays(const struct ledger_delays *delays, const char *what,
		       char *text, size_t bytes)
{
	size_t used = strlen(text);
	char culprit[LEDGER_WHO];

	if (delays->count > 0)
		snprintf(text + used, bytes - used,
			 "; before tasks were ready, %s late%s%s", what,
			 ledger_who(&delays->list[0].reasons[0], culprit)[0]
				 ? ", behind "
				 : "",
			 culprit);
}

void ledger_say_verdict(const struct ledger *l, const struct ledger_verdict *v,
			char *text, size_t bytes)
{
	char of[80], count[32];
	size_t used;

	text[0] = '\0';
	if (v->share_count == 0 && l->count > 0)
		snprintf(text, bytes, "no task took longer than %s",
			 text_time(count, (double)v->slower_than_ns));
	else if (v->share_count == 0)
		snprintf(text, bytes, "no task was seen to wait and be polled");
	else
		snprintf(text, bytes, "%s", say_before(v));
	snprintf(of, sizeof(of), " of the time of the slowest %s went",
		 text_count(count, v->judged));
	for (unsigned i = 0; i < v->share_count; i++) {
		used = strlen(text);
		snprintf(text + used, bytes - used, "%s", i > 0 ? "; " : "");
		used = strlen(text);
		if (v->shares[i].reason.kind == LEDGER_UNFINISHED) {
			say_unfinished(l, &v->shares[i].reason, text, bytes);
			continue;
		}
		say_share(l, &v->shares[i], of, text + used, bytes - used);
		of[0] = '\0';
	}
	say_delays(&v->pollers, "pollers were called", text, bytes);
	say_delays(&v->events, "events of descriptors were seen", text, bytes);
}
