/* SPDX-License-Identifier: MIT */
/* ledger_split.c - splits an item into its parts */
#include <string.h>

#include "bpf/cli/sorted.h"
#include "bpf/why/ledger.h"
#include "bpf/why/ledger_parts.h"
#include "bpf/recording/offcpu.h"

enum phase {
	WAIT,
	MOVE, /* a thief is taking the task */
	OWN,  /* the task's own poll */
};

/* A span of an item, on one track. */
struct span {
	const struct ledger *ledger;
	struct ledger_split *split;
	uint32_t track;
	enum phase phase;
	uint64_t not_before_ns, not_after_ns; /* leave out the rest */
};

/* ---- culprits ------------------------------------------------------------ */

static bool is_same(const struct ledger_cause *a, const struct ledger_cause *b)
{
	return a->part == b->part && a->track == b->track &&
	       a->name == b->name && a->label == b->label && a->how == b->how &&
	       a->lock == b->lock &&
	       memcmp(a->comm, b->comm, sizeof(a->comm)) == 0;
}

/* Return the place for @ns of a cause: its own, a free one, or that of the smallest cause, which
 * is forgotten; NULL: all are larger. */
static struct ledger_cause *place_for(struct ledger_split *split,
				      const struct ledger_cause *what,
				      uint64_t ns)
{
	struct ledger_cause *smallest = split->causes;

	for (unsigned i = 0; i < split->cause_count; i++) {
		struct ledger_cause *cause = &split->causes[i];

		if (is_same(cause, what))
			return cause;
		if (cause->ns < smallest->ns)
			smallest = cause;
	}
	if (split->cause_count < LEDGER_CAUSES)
		smallest = &split->causes[split->cause_count++];
	else if (smallest->ns >= ns)
		return NULL;
	*smallest = *what;
	memset(smallest->did, 0, sizeof(smallest->did));
	return smallest;
}

void ledger_add_cause(struct ledger_split *split,
		      const struct ledger_cause *what, uint64_t ns)
{
	struct ledger_cause *cause = place_for(split, what, ns);

	if (!cause)
		return;
	for (unsigned i = 0; i < LEDGER_PARTS; i++)
		cause->did[i] += what->did[i];
	cause->ns += ns;
	cause->times++;
	if (cause->longest_ns < ns) {
		cause->longest_ns = ns;
		cause->thread = what->thread;
		cause->holder = what->holder;
	}
}

static struct ledger_cause cause_of(const struct span *span,
				    enum ledger_part part)
{
	return (struct ledger_cause){ .part = part,
				      .track = span->track,
				      .name = LEDGER_NOBODY,
				      .label = LEDGER_NOBODY };
}

/* ---- which part ---------------------------------------------------------- */

static bool is_work(const struct ledger_step *step)
{
	return step->doing == LEDGER_POLL || step->doing == LEDGER_JOB;
}

/* The part of a time in which the worker has a CPU, as far as is known. */
static enum ledger_part part_running(const struct span *span,
				     const struct ledger_step *step)
{
	if (step->doing == LEDGER_LOST)
		return LEDGER_UNKNOWN;
	if (span->phase == MOVE)
		return LEDGER_STOLEN;
	if (span->phase == OWN)
		return step->doing == LEDGER_PARK ? LEDGER_DESCHEDULED
						  : LEDGER_RUNNING;
	return step->doing == LEDGER_PARK || step->doing == LEDGER_ON_WAY
		       ? LEDGER_PARKED
		       : LEDGER_QUEUED;
}

/* Outside of polls and jobs a worker sleeps only when it parks. */
static enum ledger_part part_asleep(const struct span *span,
				    const struct ledger_step *step)
{
	return span->phase == OWN || is_work(step) ? LEDGER_DESCHEDULED
						   : LEDGER_PARKED;
}

static enum ledger_part part_of(const struct span *span,
				const struct ledger_step *step,
				enum offcpu_kind off)
{
	switch (off) {
	case OFFCPU_WAITS:
		return LEDGER_PREEMPTED;
	case OFFCPU_STOPPED:
		return LEDGER_DESCHEDULED;
	case OFFCPU_ASLEEP:
	case OFFCPU_WAKING:
		return part_asleep(span, step);
	case OFFCPU_UNKNOWN:
		return step->doing == LEDGER_PARK && span->phase == WAIT
			       ? LEDGER_PARKED
			       : LEDGER_UNKNOWN;
	default:
		return part_running(span, step);
	}
}

/* A thread whose return to a CPU was not seen runs from its next step on. If it
 * left its CPU again before that step, the time of its return is unknown. */
static enum offcpu_kind ensure(const struct offcpu_span *off,
			       enum offcpu_kind kind,
			       const struct ledger_step *step,
			       uint64_t behind_ns)
{
	if (!off || off->again_ns == 0)
		return kind;
	if (step->from_ns > off->left_ns)
		return OFFCPU_NOT;
	return behind_ns < off->again_ns ? kind : OFFCPU_UNKNOWN;
}

/* ---- times --------------------------------------------------------------- */

/* Add how long other work delayed the item. Each poll counts as one piece, even
 * if it was interrupted. */
static void add_work(const struct span *span, const struct ledger_step *step,
		     uint64_t ns)
{
	struct ledger_cause cause = cause_of(span, LEDGER_QUEUED);

	if (ns == 0)
		return;
	if (is_work(step)) {
		cause.name = step->name;
		cause.label = step->label;
		span->split->ahead++;
		if (span->split->longest_ns < ns)
			span->split->longest_ns = ns;
	}
	ledger_add_cause(span->split, &cause, ns);
}

static void add_off(const struct span *span, const struct ledger_step *step,
		    enum ledger_part part, const struct offcpu_span *off,
		    uint64_t ns)
{
	struct ledger_cause cause = cause_of(span, part);

	if (part == LEDGER_PREEMPTED) {
		cause.thread = off->other;
		memcpy(cause.comm, off->comm, sizeof(cause.comm));
	} else if (part == LEDGER_DESCHEDULED) {
		if (is_work(step)) {
			cause.name = step->name;
			cause.label = step->label;
		}
		if (off && off->kind == OFFCPU_STOPPED)
			cause.how = LEDGER_STOP;
		else if (span->phase == OWN)
			cause.how = LEDGER_ITSELF;
	}
	ledger_add_cause(span->split, &cause, ns);
}

/* Split the part of a worker's step that is in the span. @behind_ns: the
 * beginning of the next step. */
static void split_step(const struct span *span, struct offcpu_look *look,
		       const struct ledger_step *step, uint64_t behind_ns,
		       uint64_t from_ns, uint64_t until_ns)
{
	uint64_t queued = 0, end;

	for (uint64_t ns = from_ns; ns < until_ns; ns = end) {
		const struct offcpu_span *off = NULL;
		enum offcpu_kind kind = offcpu_at(look, ns, &end, &off);
		enum ledger_part part;

		kind = ensure(off, kind, step, behind_ns);
		part = part_of(span, step, kind);
		if (end > until_ns)
			end = until_ns;
		span->split->parts[part] += end - ns;
		if (part == LEDGER_QUEUED)
			queued += end - ns;
		else if (part == LEDGER_PARKED || part == LEDGER_PREEMPTED ||
			 part == LEDGER_DESCHEDULED)
			add_off(span, step, part, off, end - ns);
	}
	add_work(span, step, queued);
}

/* The last step that began at @ns or before; s->count if there is none. */
static size_t find_step(const struct ledger_steps *s, uint64_t ns)
{
	size_t n = SORTED_UP_TO(s->steps, s->count, from_ns, ns);

	return n > 0 ? n - 1 : s->count;
}

static void split_span(const struct span *span, uint64_t from_ns,
		       uint64_t until_ns)
{
	static const struct ledger_step unseen = { .doing = LEDGER_LOST };
	const struct ledger_steps *s = &span->ledger->tracks[span->track];
	struct offcpu_look look;
	size_t i, next;

	if (from_ns < span->not_before_ns)
		from_ns = span->not_before_ns;
	if (until_ns > span->not_after_ns)
		until_ns = span->not_after_ns;
	if (from_ns >= until_ns)
		return;
	look = offcpu_look(trace_offcpu(span->ledger->trace), s->tid, from_ns);
	i = find_step(s, from_ns);
	next = i < s->count ? i + 1 : 0;
	while (from_ns < until_ns) {
		uint64_t behind =
			next < s->count ? s->steps[next].from_ns : UINT64_MAX;
		uint64_t end = behind < until_ns ? behind : until_ns;

		if (from_ns < end)
			split_step(span, &look,
				   next > 0 ? &s->steps[next - 1] : &unseen,
				   behind, from_ns, end);
		from_ns = end;
		next++;
	}
}

/* ---- items --------------------------------------------------------------- */

/* Does a step tell where a task that is polled after it came from? */
static bool decides(const struct ledger_step *step)
{
	return step->injected || step[-1].doing == LEDGER_SEARCH;
}

static void settle_steps(struct ledger_step *steps, size_t count)
{
	for (size_t i = 1; i < count; i++)
		steps[i].decides =
			decides(&steps[i]) ? i : steps[i - 1].decides;
	for (size_t i = count; i-- > 0;)
		steps[i].work = i + 1 == count || is_work(&steps[i])
					? i
					: steps[i + 1].work;
}

void ledger_settle_steps(struct ledger *l)
{
	for (unsigned i = 0; i < trace_sources(l->trace); i++)
		settle_steps(l->tracks[i].steps, l->tracks[i].count);
}

/* Find the search by which the poller got the task: that of the last steal
 * between ready and the poll. */
static bool find_search(const struct ledger *l, const struct ledger_item *item,
			size_t *at)
{
	const struct ledger_steps *s = &l->tracks[item->track];
	size_t i = find_step(s, item->begin_ns);

	if (item->home == item->track || i == s->count)
		return false;
	i = s->steps[i].decides;
	if (i == 0 || s->steps[i].from_ns <= item->ready_ns ||
	    s->steps[i].injected)
		return false;
	/* A search ends where the next step begins. */
	*at = i - 1;
	return s->steps[*at].name != LEDGER_NOBODY;
}

/* The end of the move: when the thief first did other work, or polled the task. */
static uint64_t moved_ns(const struct ledger *l, const struct ledger_item *item,
			 size_t search)
{
	const struct ledger_step *steps = l->tracks[item->track].steps;
	uint64_t work_ns = steps[steps[search].work].from_ns;

	return work_ns < item->begin_ns ? work_ns : item->begin_ns;
}

/* Split the time up to the end of the move: the victim has the task until the
 * thief begins to search. Return: where the rest begins. */
static uint64_t split_stolen(const struct span *here,
			     const struct ledger_item *item, size_t search)
{
	const struct ledger *l = here->ledger;
	const struct ledger_step *step = &l->tracks[item->track].steps[search];
	struct span there = *here, move = *here;
	uint64_t from = item->ready_ns, until = moved_ns(l, item, search);

	there.track = step->name;
	move.phase = MOVE;
	here->split->stolen = true;
	here->split->victim = step->name;
	if (step->from_ns > from) {
		split_span(&there, from, step->from_ns);
		from = step->from_ns;
	}
	if (until < from)
		return from;
	split_span(&move, from, until);
	return until;
}

/* Split the time from ready on, as far as @here does not leave it out. */
static void split_ready(struct span *here, const struct ledger_item *item)
{
	uint64_t from = item->ready_ns;
	size_t search;

	if (find_search(here->ledger, item, &search))
		from = split_stolen(here, item, search);
	split_span(here, from, item->begin_ns);
	here->phase = OWN;
	split_span(here, item->begin_ns, item->end_ns);
}

void ledger_split(const struct ledger *l, const struct ledger_item *item,
		  struct ledger_split *split)
{
	struct span here = { l, split, item->track, WAIT, 0, UINT64_MAX };

	memset(split, 0, sizeof(*split));
	if (item->wait > 0)
		ledger_split_wait(l, item, split);
	split_ready(&here, item);
}

void ledger_split_between(const struct ledger *l,
			  const struct ledger_item *item, uint64_t from_ns,
			  uint64_t until_ns, uint64_t *parts)
{
	struct ledger_split split = { .ahead = 0 };
	struct span here = { l, &split, item->track, WAIT, from_ns, until_ns };

	split_ready(&here, item);
	for (unsigned i = 0; i < LEDGER_PARTS; i++)
		parts[i] += split.parts[i];
}
