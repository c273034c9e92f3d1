/* SPDX-License-Identifier: MIT */
/* ledger_forks.c - finds the calls of skua_run() in the events (ledger_forks.h) */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "bpf/cli/grow.h"
#include "bpf/why/ledger_parts.h"

#define MAX_CALLERS 1024u

static uint32_t runtime_of(const struct ledger *l, unsigned track)
{
	return trace_source(l->trace, track)->stream.runtime;
}

static bool is_worker(const struct ledger *l, unsigned track)
{
	return trace_source(l->trace, track)->stream.index != TRACE_OUTSIDE;
}

/* The bit of a place; 0: it is that of a worker. */
static uint64_t place_bit(const struct ledger *l, uint32_t runtime,
			  uint32_t place)
{
	uint32_t first = l->forks.workers[runtime];

	return place < first || place - first > 63
		       ? 0
		       : UINT64_C(1) << (place - first);
}

void ledger_fork_add(struct ledger_fork_times *times, uint64_t ns)
{
	times->count++;
	times->ns += ns;
	if (times->longest_ns < ns)
		times->longest_ns = ns;
}

/* ---- the time of a caller ------------------------------------------------- */

static bool waits(const struct ledger_fork_caller *caller)
{
	return caller->waits > caller->helps;
}

static void add_span(struct ledger *l, struct ledger_fork_caller *caller,
		     uint64_t until_ns)
{
	struct ledger_forks *f = &l->forks;
	uint32_t index = (uint32_t)(caller - f->callers);
	const struct ledger_fork_span span = {
		.from_ns = caller->since_ns,
		.until_ns = until_ns,
		.caller = index,
		.part = waits(caller)      ? LEDGER_FORK_JOIN
			: caller->busy > 0 ? LEDGER_FORK_TOGETHER
					   : LEDGER_FORK_ALONE
	};

	if (until_ns <= caller->since_ns)
		return;
	caller->since_ns = until_ns;
	if (!grow(&f->spans, sizeof(*f->spans), f->span_count, &f->span_room))
		l->failed = -ENOMEM;
	else
		f->spans[f->span_count++] = span;
}

static void end_join(struct ledger *l, struct ledger_fork_caller *caller,
		     uint64_t ns)
{
	if (ns <= caller->join_ns)
		return;
	ledger_fork_add(&l->forks.joins, ns - caller->join_ns);
	ledger_fork_add(&caller->joins, ns - caller->join_ns);
}

static void end_call(struct ledger *l, struct ledger_fork_caller *caller,
		     uint64_t ns)
{
	uint64_t took_ns = ns > caller->began_ns ? ns - caller->began_ns : 0;

	add_span(l, caller, ns);
	if (waits(caller))
		end_join(l, caller, ns);
	caller->depth = caller->waits = caller->helps = 0;
	caller->here = caller->seen_ns = 0;
	ledger_fork_add(&l->forks.calls, took_ns);
	ledger_fork_add(&caller->calls, took_ns);
}

/* ---- callers ---------------------------------------------------------------- */

/* Find a thread; or, if that is not known of the caller in a place, that caller. @thread: 0: it is
 * not known either. */
static struct ledger_fork_caller *find(struct ledger *l, uint32_t runtime,
				       uint32_t thread, uint32_t place)
{
	for (size_t i = 0; i < l->forks.caller_count; i++) {
		struct ledger_fork_caller *caller = &l->forks.callers[i];

		if (caller->runtime != runtime)
			continue;
		if (thread != 0 && caller->thread == thread)
			return caller;
		if (caller->thread == 0 && caller->depth > 0 &&
		    caller->place == place) {
			caller->thread = thread;
			return caller;
		}
	}
	return NULL;
}

static struct ledger_fork_caller *add(struct ledger *l, uint32_t runtime,
				      uint32_t thread)
{
	struct ledger_forks *f = &l->forks;

	if (f->caller_count >= MAX_CALLERS)
		return NULL;
	if (!grow(&f->callers, sizeof(*f->callers), f->caller_count,
		  &f->caller_room)) {
		l->failed = -ENOMEM;
		return NULL;
	}
	f->callers[f->caller_count] = (struct ledger_fork_caller){
		.runtime = runtime, .thread = thread, .root = LEDGER_NOBODY
	};
	return &f->callers[f->caller_count++];
}

static void enter(const struct ledger *l, struct ledger_fork_caller *caller,
		  uint32_t place)
{
	uint64_t bit = place_bit(l, caller->runtime, place);

	caller->places |= bit;
	caller->here |= bit;
}

static void begin_call(struct ledger *l, struct ledger_fork_caller *caller,
		       uint32_t place, uint64_t ns)
{
	caller->depth = 1;
	caller->waits = caller->helps = 0;
	caller->since_ns = caller->began_ns = ns;
	caller->place = place;
	enter(l, caller, place);
}

/* A thread is in a call of which the beginning was not recorded. */
static struct ledger_fork_caller *infer_call(struct ledger *l, uint32_t runtime,
					     uint32_t thread, uint32_t place)
{
	uint64_t start = trace_about(l->trace)->meta.start.monotonic_ns;
	uint64_t known = l->forks.known_ns;
	struct ledger_fork_caller *caller = find(l, runtime, thread, place);

	if (!caller)
		caller = add(l, runtime, thread);
	if (!caller)
		return NULL;
	begin_call(l, caller, place, known > start ? known : start);
	l->forks.unseen++;
	return caller;
}

/* Has any thread been in that place since events are whole? */
static bool was_used(const struct ledger *l, uint32_t runtime, uint64_t bit)
{
	for (size_t i = 0; i < l->forks.caller_count; i++)
		if (l->forks.callers[i].runtime == runtime &&
		    (l->forks.callers[i].places & bit))
			return true;
	return false;
}

/* ---- events ------------------------------------------------------------------- */

/* @function: its address */
static void set_root(struct ledger *l, struct ledger_fork_caller *caller,
		     uint64_t function)
{
	const char *name = trace_name(l->trace, TRACE_NAME_FUNCTION, function);
	char text[32];

	snprintf(text, sizeof(text), "0x%" PRIx64, function);
	caller->root = ledger_name(l, name ? name : text);
}

static void on_run_begin(struct ledger *l, const struct trace_mark *mark,
			 struct ledger_fork_caller *caller)
{
	if (!caller)
		caller = add(l, runtime_of(l, mark->track), mark->thread);
	if (!caller)
		return;
	if (caller->depth > 0) {
		caller->depth++;
		enter(l, caller, mark->place);
		return;
	}
	begin_call(l, caller, mark->place, mark->ns);
	set_root(l, caller, mark->function);
	l->forks.apart += mark->place == EVENT_NO_PLACE;
}

static void on_run_end(struct ledger *l, const struct trace_mark *mark,
		       struct ledger_fork_caller *caller)
{
	if (caller->root == LEDGER_NOBODY)
		set_root(l, caller, mark->function);
	if (caller->depth == 1) {
		end_call(l, caller, mark->ns);
		return;
	}
	caller->depth--;
	caller->here &= ~place_bit(l, caller->runtime, mark->place);
}

/* The begin or end of a join or of help. */
static void on_wait(struct ledger *l, const struct trace_mark *mark,
		    struct ledger_fork_caller *caller)
{
	bool waited = waits(caller);

	add_span(l, caller, mark->ns);
	if (mark->number == EVENT_JOIN_BEGIN)
		caller->waits++;
	else if (mark->number == EVENT_HELP_BEGIN)
		caller->helps++;
	else if (mark->number == EVENT_JOIN_END && caller->waits > 0)
		caller->waits--;
	else if (mark->number == EVENT_HELP_END && caller->helps > 0)
		caller->helps--;
	if (waited && !waits(caller))
		end_join(l, caller, mark->ns);
	else if (!waited)
		caller->join_ns = mark->ns;
}

/* A thread begins or ends a job of another one, while it waits in a join. @caller: NULL: the
 * thread is a worker */
static void on_help(struct ledger *l, const struct trace_mark *mark,
		    const struct ledger_fork_caller *caller)
{
	uint32_t runtime = runtime_of(l, mark->track);
	uint32_t own =
		is_worker(l, mark->track)
			? trace_source(l->trace, mark->track)->stream.index
		: caller ? caller->place
			 : (uint32_t)EVENT_NO_PLACE;
	struct ledger_fork_seat *seat = ledger_fork_seat(l, runtime, own);

	if (mark->number == EVENT_HELP_BEGIN)
		(void)ledger_fork_push(
			seat, ledger_fork_owner(l, runtime, mark->place));
	else if (mark->number == EVENT_HELP_END)
		(void)ledger_fork_pop(seat);
}

void ledger_on_fork(struct ledger *l, const struct trace_mark *mark)
{
	uint32_t runtime = runtime_of(l, mark->track);
	bool helps = mark->number == EVENT_HELP_BEGIN ||
		     mark->number == EVENT_HELP_END;
	/* Of help it is the place of the victim. */
	uint32_t place = helps ? (uint32_t)EVENT_NO_PLACE : mark->place;
	struct ledger_fork_caller *caller;

	if (runtime >= LEDGER_FORK_RUNTIMES)
		return;
	caller = find(l, runtime, mark->thread, place);
	if (mark->number == EVENT_RUN_BEGIN) {
		on_run_begin(l, mark, caller);
		return;
	}
	/* The joins of workers belong to their jobs and polls. */
	if (!caller || caller->depth == 0) {
		if (is_worker(l, mark->track) &&
		    mark->number != EVENT_RUN_END) {
			on_help(l, mark, NULL);
			return;
		}
		caller = infer_call(l, runtime, mark->thread, place);
	}
	if (!caller)
		return;
	/* From now on its events tell when it ends. */
	if (mark->ns > caller->seen_ns)
		caller->seen_ns = 0;
	if (mark->number == EVENT_RUN_END)
		on_run_end(l, mark, caller);
	else
		on_wait(l, mark, caller);
	on_help(l, mark, caller);
}

/* A worker begins a job of a call, or ends one. */
static void count_job(struct ledger *l, uint32_t owner,
		      const struct trace_mark *mark, bool begins)
{
	struct ledger_fork_caller *caller;

	if (owner == 0)
		return;
	caller = &l->forks.callers[owner - 1];
	if (caller->depth > 0)
		add_span(l, caller, begins ? mark->ns : mark->end_ns);
	if (begins) {
		caller->busy++;
		return;
	}
	caller->busy--;
	ledger_fork_add(&caller->jobs, mark->end_ns - mark->ns);
}

void ledger_fork_job(struct ledger *l, const struct trace_mark *mark,
		     bool begins)
{
	uint32_t runtime = runtime_of(l, mark->track);
	/* If its beginning was not recorded, nothing is known of its victim. */
	uint32_t place = mark->partial ? (uint32_t)EVENT_NO_PLACE
				       : (uint32_t)mark->number;
	struct ledger_fork_seat *seat;
	uint32_t owner;
	uint64_t bit;

	if (runtime >= LEDGER_FORK_RUNTIMES)
		return;
	seat = ledger_fork_seat(
		l, runtime, trace_source(l->trace, mark->track)->stream.index);
	if (!begins) {
		ledger_fork_add(&l->forks.jobs, mark->end_ns - mark->ns);
		count_job(l, ledger_fork_pop(seat), mark, false);
		return;
	}
	bit = place_bit(l, runtime, place);
	if (bit && !was_used(l, runtime, bit))
		infer_call(l, runtime, 0, place);
	owner = ledger_fork_push(seat, ledger_fork_owner(l, runtime, place));
	count_job(l, owner, mark, true);
}

/* ---- the begin, gaps and the end ------------------------------------------------- */

/* Note the calls that were seen from outside at @ns and later, and that began before. */
static void take_seen(struct ledger *l, uint64_t ns)
{
	size_t count;
	const struct trace_call *calls = trace_calls(l->trace, &count);

	for (size_t i = 0; i < count; i++) {
		const struct trace_call *call = &calls[i];
		uint32_t runtime = runtime_of(l, call->stream);
		struct ledger_fork_caller *caller;

		if (call->from_ns > ns || call->until_ns <= ns ||
		    runtime >= LEDGER_FORK_RUNTIMES)
			continue;
		caller = find(l, runtime, call->tid, call->place);
		if (!caller || caller->depth == 0) {
			caller = infer_call(l, runtime, call->tid, call->place);
		} else if (!(caller->here &
			     place_bit(l, runtime, call->place))) {
			caller->depth++; /* a call within a call */
			enter(l, caller, call->place);
		}
		if (!caller)
			continue;
		set_root(l, caller, call->root);
		if (caller->seen_ns < call->until_ns)
			caller->seen_ns = call->until_ns;
	}
}

void ledger_fork_start(struct ledger *l)
{
	take_seen(l, trace_about(l->trace)->meta.start.monotonic_ns);
}

void ledger_fork_gap(struct ledger *l, uint64_t ns)
{
	l->forks.lost = true;
	l->forks.known_ns = ns;
	for (size_t i = 0; i < l->forks.caller_count; i++) {
		struct ledger_fork_caller *caller = &l->forks.callers[i];

		if (caller->depth > 0 && caller->seen_ns <= ns)
			end_call(l, caller, ns);
		caller->places = caller->here;
	}
	take_seen(l, ns);
}

/* A call that was seen last at @ns has no event of its end: leave out what was counted after
 * that. */
static void cut(struct ledger *l, struct ledger_fork_caller *caller,
		uint64_t ns)
{
	uint32_t index = (uint32_t)(caller - l->forks.callers);

	for (size_t i = 0; i < l->forks.span_count; i++) {
		struct ledger_fork_span *span = &l->forks.spans[i];

		if (span->caller == index && span->until_ns > ns)
			span->until_ns =
				ns > span->from_ns ? ns : span->from_ns;
	}
	end_call(l, caller, ns);
}

void ledger_fork_stop(struct ledger *l, uint64_t ns)
{
	for (size_t i = 0; i < l->forks.caller_count; i++) {
		struct ledger_fork_caller *caller = &l->forks.callers[i];

		if (caller->depth == 0)
			continue;
		if (caller->seen_ns > 0 && caller->seen_ns < ns)
			cut(l, caller, caller->seen_ns);
		else
			end_call(l, caller, ns);
	}
}
