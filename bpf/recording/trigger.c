/* SPDX-License-Identifier: MIT */
/* trigger.c - see trigger.h */
#include "bpf/cli/grow.h"
#include "bpf/recording/trigger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/cli/args.h"
#include "bpf/stats/figures.h"
#include "bpf/cli/table.h"

#define MAX_LIMIT_NS UINT64_C(60000000000)

struct trigger_runtime {
	uint64_t address, started_ns;
	uint64_t stalls;
	struct probes_histogram polls, waits;
};

/* ---- the condition --------------------------------------------------------- */

static error_t refuse(const char *text)
{
	return args_refuse("--on is '%s'; allowed: stall, or a limit such as "
			   "p99>2ms, polls:p99.9>500us, waits:p50>1ms",
			   text);
}

error_t trigger_parse(struct trigger *trigger, const char *text)
{
	const char *rest = text;
	double percent;
	int length = 0;

	*trigger = (struct trigger){ .polls = true, .waits = true };
	if (strcmp(text, "stall") == 0) {
		*trigger = (struct trigger){ .stall = true };
		return 0;
	}
	if (strncmp(rest, "polls:", 6) == 0)
		trigger->waits = false;
	else if (strncmp(rest, "waits:", 6) == 0)
		trigger->polls = false;
	if (!trigger->polls || !trigger->waits)
		rest += 6;
	if (sscanf(rest, "p%lf>%n", &percent, &length) != 1 || length == 0 ||
	    !(percent > 0 && percent <= 100))
		return refuse(text);
	trigger->part = percent / 100;
	return args_time("--on: the limit", rest + length, MAX_LIMIT_NS,
			 &trigger->limit_ns);
}

bool trigger_can_come(const struct trigger *trigger,
		      const struct target *target)
{
	unsigned count = target_runtimes(target), limited = 0;

	for (unsigned i = 0; i < count; i++)
		limited += target_runtime(target, i)->area.stall_limit_ns != 0;
	return !trigger->stall || count == 0 || limited > 0;
}

/* ---- checks ---------------------------------------------------------------- */

static struct trigger_runtime *find(struct trigger *t,
				    const struct target_runtime *at)
{
	for (unsigned i = 0; i < t->count; i++)
		if (t->runtimes[i].address == at->address &&
		    t->runtimes[i].started_ns == at->area.started_ns)
			return &t->runtimes[i];
	return NULL;
}

static struct trigger_runtime *add(struct trigger *t,
				   const struct target_runtime *at)
{
	struct trigger_runtime *more;

	if (!grow(&t->runtimes, sizeof(*more), t->count, &t->room))
		return NULL;
	more = &t->runtimes[t->count++];
	*more = (struct trigger_runtime){ .address = at->address,
					  .started_ns = at->area.started_ns };
	return more;
}

/* Whether the quantile of the values since the last check is above the limit. */
static bool is_over(struct trigger *t, const char *what,
		    const struct probes_histogram *now,
		    const struct probes_histogram *before)
{
	struct probes_histogram since = *now;
	char is[32], limit[32];
	uint64_t ns;

	figure_since(&since, before);
	ns = figure_quantile(&since, t->part);
	if (ns <= t->limit_ns)
		return false;
	snprintf(t->why, sizeof(t->why),
		 "p%g of %s in the last second was %s, over %s", 100 * t->part,
		 what, text_time(is, (double)ns),
		 text_time(limit, (double)t->limit_ns));
	return true;
}

static bool has_stalled(struct trigger *t, uint64_t now, uint64_t before)
{
	uint64_t stalls = figure_difference(now, before);

	if (stalls == 0)
		return false;
	snprintf(t->why, sizeof(t->why), "%ju stall%s in the last second",
		 (uintmax_t)stalls, stalls == 1 ? "" : "s");
	return true;
}

/* Compare a runtime with its last counters; if it is new, only store them. */
static bool compare(struct trigger *t, const struct target_snapshot *snapshot,
		    struct trigger_runtime *seen, bool is_new)
{
	struct trigger_runtime now = *seen;
	bool fired = false;

	now.stalls = snapshot->total.stalls;
	figure_sum(snapshot, FIGURE_POLL, &now.polls);
	figure_sum(snapshot, FIGURE_WAIT, &now.waits);
	if (!is_new)
		fired = (t->stall &&
			 has_stalled(t, now.stalls, seen->stalls)) ||
			(t->polls &&
			 is_over(t, "polls", &now.polls, &seen->polls)) ||
			(t->waits &&
			 is_over(t, "waits", &now.waits, &seen->waits));
	*seen = now;
	return fired;
}

int trigger_look(struct trigger *t, struct target *target)
{
	struct target_snapshot snapshot = { 0 };
	int code = 0;

	for (unsigned i = 0; code == 0 && i < target_runtimes(target); i++) {
		const struct target_runtime *at = target_runtime(target, i);
		struct trigger_runtime *seen = find(t, at);
		bool is_new = !seen;

		code = target_take_snapshot(target, at, &snapshot);
		if (code == 0 && is_new) {
			seen = add(t, at);
			code = seen ? 0 : -ENOMEM;
		}
		if (code == 0)
			code = compare(t, &snapshot, seen, is_new);
	}
	target_free_snapshot(&snapshot);
	return code == -EAGAIN ? 0 : code; /* runtimes started or ended */
}

void trigger_free(struct trigger *t)
{
	free(t->runtimes);
	t->runtimes = NULL;
	t->count = 0;
	t->room = 0;
}
