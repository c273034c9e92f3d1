/* SPDX-License-Identifier: MIT */
/* ledger_forks_judge.c - finds out what callers of skua_run() and workers did (ledger_forks.h) */
#include <stdlib.h>

#include "bpf/cli/sorted.h"
#include "bpf/recording/offcpu.h"
#include "bpf/why/ledger_parts.h"

const char *ledger_fork_part_name(unsigned part)
{
	static const char *const names[] = { "alone",    "with workers",
					     "at joins", "preempted",
					     "blocked",  "unknown" };

	return names[part];
}

const char *ledger_fork_worker_name(unsigned part)
{
	static const char *const names[] = { "in jobs",   "in polls",
					     "asleep",    "waking up",
					     "searching", "preempted",
					     "blocked",   "unknown" };

	return names[part];
}

/* ---- callers ----------------------------------------------------------------- */

static unsigned part_of_caller(uint32_t part, enum offcpu_kind off)
{
	switch (off) {
	case OFFCPU_NOT:
		return part;
	case OFFCPU_WAITS:
		return LEDGER_FORK_PREEMPTED;
	case OFFCPU_ASLEEP:
	case OFFCPU_WAKING:
		return part == LEDGER_FORK_JOIN ? part : LEDGER_FORK_BLOCKED;
	case OFFCPU_STOPPED:
		return LEDGER_FORK_BLOCKED;
	default:
		return LEDGER_FORK_UNKNOWN;
	}
}

static void split_caller(struct ledger *l, const struct ledger_fork_span *span)
{
	struct ledger_fork_caller *caller = &l->forks.callers[span->caller];
	struct offcpu_look look = offcpu_look(trace_offcpu(l->trace),
					      caller->thread, span->from_ns);
	unsigned part;
	uint64_t end;

	for (uint64_t ns = span->from_ns; ns < span->until_ns; ns = end) {
		const struct offcpu_span *off = NULL;
		enum offcpu_kind kind = offcpu_at(&look, ns, &end, &off);

		if (end > span->until_ns)
			end = span->until_ns;
		part = part_of_caller(span->part, kind);
		l->forks.parts[part] += end - ns;
		caller->parts[part] += end - ns;
	}
}

/* ---- workers ----------------------------------------------------------------- */

static enum ledger_fork_worker part_running(enum ledger_doing doing)
{
	switch (doing) {
	case LEDGER_JOB:
		return LEDGER_FORK_JOB;
	case LEDGER_POLL:
		return LEDGER_FORK_POLL;
	case LEDGER_PARK:
		return LEDGER_FORK_ASLEEP;
	case LEDGER_LOST:
		return LEDGER_FORK_UNSEEN;
	default:
		return LEDGER_FORK_SEARCH;
	}
}

static enum ledger_fork_worker part_of_worker(enum ledger_doing doing,
					      enum offcpu_kind off)
{
	bool sleeps = doing == LEDGER_PARK;
	bool works = doing == LEDGER_JOB || doing == LEDGER_POLL;

	switch (off) {
	case OFFCPU_NOT:
		return part_running(doing);
	case OFFCPU_WAITS:
		return sleeps ? LEDGER_FORK_WAKING : LEDGER_FORK_LACKS;
	case OFFCPU_WAKING:
		return works ? LEDGER_FORK_SLEPT : LEDGER_FORK_WAKING;
	case OFFCPU_ASLEEP:
		return works ? LEDGER_FORK_SLEPT : LEDGER_FORK_ASLEEP;
	case OFFCPU_STOPPED:
		return LEDGER_FORK_SLEPT;
	default:
		return sleeps ? LEDGER_FORK_ASLEEP : LEDGER_FORK_UNSEEN;
	}
}

/* Return the activity of a worker before its first event. A worker that is in no poll, and
 * does not sleep, soon notes that it is recorded, and writes events. */
static enum ledger_doing doing_first(const struct ledger *l, unsigned track)
{
	return trace_source(l->trace, track)->before.until_ns > 0 ? LEDGER_POLL
								  : LEDGER_PARK;
}

static void split_worker(const struct ledger *l, unsigned track,
			 uint64_t from_ns, uint64_t until_ns, uint64_t *parts)
{
	const struct ledger_steps *s = &l->tracks[track];
	struct offcpu_look look =
		offcpu_look(trace_offcpu(l->trace), s->tid, from_ns);
	size_t next = SORTED_UP_TO(s->steps, s->count, from_ns, from_ns);
	uint64_t end;

	for (uint64_t ns = from_ns; ns < until_ns; ns = end) {
		const struct offcpu_span *off = NULL;
		enum offcpu_kind kind = offcpu_at(&look, ns, &end, &off);
		enum ledger_doing doing;

		while (next < s->count && s->steps[next].from_ns <= ns)
			next++;
		doing = next > 0 ? (enum ledger_doing)s->steps[next - 1].doing
				 : doing_first(l, track);
		if (next < s->count && s->steps[next].from_ns < end)
			end = s->steps[next].from_ns;
		if (end > until_ns)
			end = until_ns;
		parts[part_of_worker(doing, kind)] += end - ns;
	}
}

static bool is_worker_of(const struct ledger *l, unsigned track,
			 uint32_t runtime)
{
	const struct trace_stream *stream =
		&trace_source(l->trace, track)->stream;

	return stream->index != TRACE_OUTSIDE && stream->runtime == runtime;
}

static void split_workers(struct ledger *l, const struct ledger_fork_span *span)
{
	struct ledger_forks *f = &l->forks;
	uint32_t runtime = f->callers[span->caller].runtime;

	for (unsigned i = 0; i < trace_sources(l->trace); i++)
		if (is_worker_of(l, i, runtime))
			split_worker(l, i, span->from_ns, span->until_ns,
				     span->part == LEDGER_FORK_ALONE ? f->alone
								     : f->rest);
}

/* ---- wake-ups ------------------------------------------------------------------ */

/* When the thread was woken that slept from one time to another, as far as is known. */
static uint64_t woken_ns(const struct ledger *l, uint32_t tid, uint64_t from_ns,
			 uint64_t until_ns)
{
	struct offcpu_look look =
		offcpu_look(trace_offcpu(l->trace), tid, from_ns);
	uint64_t woken = until_ns, end;
	bool slept = false;

	for (uint64_t ns = from_ns; ns < until_ns; ns = end) {
		const struct offcpu_span *off = NULL;
		enum offcpu_kind kind = offcpu_at(&look, ns, &end, &off);

		if (kind == OFFCPU_ASLEEP) {
			slept = true;
			woken = until_ns;
		} else if (slept && woken == until_ns) {
			woken = ns;
		}
	}
	return woken;
}

/* Does a caller of that runtime have a call at this time? */
static bool in_call(const struct ledger *l, uint32_t runtime, uint64_t ns)
{
	const struct ledger_forks *f = &l->forks;
	size_t n = SORTED_UP_TO(f->spans, f->span_count, from_ns, ns);

	/* Spans of a few callers overlap: look a little further back. */
	for (size_t i = n; i > 0 && n - i < 64; i--)
		if (f->spans[i - 1].until_ns > ns &&
		    f->callers[f->spans[i - 1].caller].runtime == runtime)
			return true;
	return false;
}

/* The worker of a track was woken at step @i: find out what it did then. */
static void judge_wake(struct ledger *l, const struct ledger_steps *s, size_t i)
{
	uint64_t woken = woken_ns(l, s->tid, s->steps[i - 1].from_ns,
				  s->steps[i].from_ns);

	for (size_t k = i + 1; k < s->count; k++) {
		switch (s->steps[k].doing) {
		case LEDGER_JOB:
			ledger_fork_add(&l->forks.took,
					s->steps[k].from_ns - woken);
			return;
		case LEDGER_PARK:
			l->forks.in_vain++;
			return;
		case LEDGER_POLL:
		case LEDGER_LOST:
			return;
		default:
			break;
		}
	}
}

static void judge_wakes(struct ledger *l, unsigned track)
{
	const struct ledger_steps *s = &l->tracks[track];
	const struct trace_stream *stream =
		&trace_source(l->trace, track)->stream;

	if (stream->index == TRACE_OUTSIDE)
		return;
	for (size_t i = 1; i < s->count; i++)
		if (s->steps[i].doing == LEDGER_ON_WAY &&
		    s->steps[i - 1].doing == LEDGER_PARK &&
		    in_call(l, stream->runtime, s->steps[i].from_ns))
			judge_wake(l, s, i);
}

/* ---- all ------------------------------------------------------------------------ */

static int compare_spans(const void *a, const void *b)
{
	const struct ledger_fork_span *x = a, *y = b;

	return compare_numbers(x->from_ns, y->from_ns);
}

void ledger_judge_forks(struct ledger *l)
{
	struct ledger_forks *f = &l->forks;

	for (size_t i = 0; i < f->span_count; i++) {
		split_caller(l, &f->spans[i]);
		split_workers(l, &f->spans[i]);
	}
	if (f->span_count == 0)
		return;
	qsort(f->spans, f->span_count, sizeof(*f->spans), compare_spans);
	for (unsigned i = 0; i < trace_sources(l->trace); i++)
		judge_wakes(l, i);
}
