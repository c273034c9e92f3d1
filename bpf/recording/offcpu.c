/* SPDX-License-Identifier: MIT */
/* offcpu.c - see offcpu.h */
#include "bpf/cli/sorted.h"
#include "bpf/recording/offcpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/cli/grow.h"

struct offcpu_thread {
	uint32_t tid;
	size_t first, count; /* its spans in offs */
};

/* Epochs are in the order of time and do not overlap. */
struct offcpu_epoch {
	uint64_t from_ns, until_ns;
};

/* The state of a thread while its switches are gone through. */
struct walk {
	struct offcpu *offs;
	size_t epoch; /* epoch_count: none yet */
	enum offcpu_kind kind;
	struct offcpu_span off; /* the current one: start, thread on the CPU */
	size_t first;           /* its first span since it left the CPU */
};

/* ---- reading --------------------------------------------------------------- */

static int add_epoch(struct offcpu *o, uint64_t from_ns, uint64_t until_ns)
{
	if (!grow(&o->epochs, sizeof(*o->epochs), o->epoch_count,
		  &o->epoch_room))
		return -ENOMEM;
	o->epochs[o->epoch_count++] =
		(struct offcpu_epoch){ from_ns, until_ns };
	return 0;
}

int offcpu_span(struct offcpu *o, const struct trace_switches *head)
{
	struct offcpu_epoch *last =
		o->epoch_count > 0 ? &o->epochs[o->epoch_count - 1] : NULL;

	if (head->until_ns < head->from_ns ||
	    (last && head->from_ns < last->until_ns))
		return -EINVAL;
	if (!last || head->from_ns > last->until_ns)
		return add_epoch(o, head->from_ns, head->until_ns);
	last->until_ns = head->until_ns;
	return 0;
}

/* Lost switches are missing between the previous switch and this one: end the
 * epoch at the previous one, and begin a new epoch at this one. */
static int cut_epoch(struct offcpu *o, uint64_t ns)
{
	struct offcpu_epoch *last = &o->epochs[o->epoch_count - 1];
	uint64_t end = last->until_ns, cut = last->from_ns;

	if (o->count > 0 && o->switches[o->count - 1].ns > cut)
		cut = o->switches[o->count - 1].ns;
	if (ns <= cut || ns >= end)
		return 0;
	last->until_ns = cut;
	return add_epoch(o, ns, end);
}

int offcpu_add(struct offcpu *o, const struct trace_switch *what)
{
	struct trace_switch *to;

	if (what->lost > 0 && cut_epoch(o, what->ns))
		return -ENOMEM;
	if (!grow(&o->switches, sizeof(*o->switches), o->count, &o->room))
		return -ENOMEM;
	o->lost += what->lost;
	to = &o->switches[o->count];
	*to = *what;
	to->lost = (uint32_t)o->count++; /* its rank in the file */
	to->comm[sizeof(to->comm) - 1] = '\0';
	for (char *c = to->comm; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return 0;
}

/* ---- states of threads ----------------------------------------------------- */

static int compare_switches(const void *left, const void *right)
{
	const struct trace_switch *a = left, *b = right;

	if (a->tid != b->tid)
		return compare_numbers(a->tid, b->tid);
	if (a->ns != b->ns)
		return compare_numbers(a->ns, b->ns);
	return compare_numbers(a->lost, b->lost);
}

static void set_state(struct walk *w, enum offcpu_kind kind, uint64_t ns)
{
	w->kind = kind;
	w->off = (struct offcpu_span){ .from_ns = ns, .left_ns = ns };
	w->first = w->offs->off_count;
}

static void set_other(struct walk *w, const struct trace_switch *from)
{
	w->off.other = from->other;
	memcpy(w->off.comm, from->comm, sizeof(w->off.comm));
}

/* Add the span of the state that ends, unless the thread ran. */
static int end_state(struct walk *w, enum offcpu_kind kind, uint64_t ns)
{
	struct offcpu *o = w->offs;

	if (kind == OFFCPU_NOT || ns <= w->off.from_ns)
		return 0;
	if (!grow(&o->offs, sizeof(*o->offs), o->off_count, &o->off_room))
		return -ENOMEM;
	w->off.kind = kind;
	w->off.until_ns = ns;
	o->offs[o->off_count++] = w->off;
	o->threads[o->thread_count - 1].count++;
	return 0;
}

/* The state before the first switch of an epoch, which follows from its kind. */
static enum offcpu_kind before(const struct trace_switch *s)
{
	switch (s->kind) {
	case TRACE_SWITCH_IN:
		return OFFCPU_UNKNOWN;
	case TRACE_SWITCH_WOKEN:
		return OFFCPU_ASLEEP;
	case TRACE_SWITCH_INSTEAD:
		return OFFCPU_WAITS;
	default:
		return OFFCPU_NOT;
	}
}

static int come_in(struct walk *w, const struct trace_switch *s)
{
	enum offcpu_kind kind = w->kind;
	int code;

	if (kind == OFFCPU_WAKING && s->comm[0]) {
		kind = OFFCPU_WAITS;
		set_other(w, s);
	}
	code = end_state(w, kind, s->ns);
	set_state(w, OFFCPU_NOT, s->ns);
	return code;
}

static enum offcpu_kind kind_of(enum trace_switch_kind left)
{
	switch (left) {
	case TRACE_SWITCH_PREEMPTED:
		return OFFCPU_WAITS;
	case TRACE_SWITCH_STOPPED:
		return OFFCPU_STOPPED;
	default:
		return OFFCPU_ASLEEP;
	}
}

/* A thread that leaves a CPU had one just before. Not every kernel runs a
 * program at each switch: if a thread leaves twice, the return in between is
 * missing. */
static int leave(struct walk *w, const struct trace_switch *s)
{
	int code = end_state(w, w->kind, s->ns);

	if (w->kind != OFFCPU_NOT)
		w->offs->unseen++;
	for (size_t i = w->first; i < w->offs->off_count; i++)
		w->offs->offs[i].again_ns = s->ns;
	set_state(w, kind_of((enum trace_switch_kind)s->kind), s->ns);
	if (s->kind == TRACE_SWITCH_PREEMPTED)
		set_other(w, s);
	return code;
}

static int take(struct walk *w, const struct trace_switch *s)
{
	int code = 0;

	switch (s->kind) {
	case TRACE_SWITCH_IN:
		return come_in(w, s);
	case TRACE_SWITCH_PREEMPTED:
	case TRACE_SWITCH_ASLEEP:
	case TRACE_SWITCH_STOPPED:
		return leave(w, s);
	case TRACE_SWITCH_INSTEAD:
		/* The next thread on the CPU may be this one. */
		if (w->kind != OFFCPU_WAITS || !s->comm[0] ||
		    s->other == s->tid)
			break;
		code = end_state(w, w->kind, s->ns);
		w->off.from_ns = s->ns;
		set_other(w, s);
		break;
	case TRACE_SWITCH_WOKEN:
		if (w->kind != OFFCPU_ASLEEP && w->kind != OFFCPU_STOPPED)
			break;
		code = end_state(w, w->kind, s->ns);
		set_state(w, OFFCPU_WAKING, s->ns);
		break;
	default:
		break;
	}
	return code;
}

/* The first epoch that ends at @ns or later; epochs are sorted. */
static size_t find_epoch(const struct offcpu *o, uint64_t ns)
{
	size_t low = 0, high = o->epoch_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (o->epochs[middle].until_ns < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Go on to the epoch that contains the time of a switch. @in: receives false if
 * there is none. */
static int enter_epoch(struct walk *w, const struct trace_switch *s, bool *in)
{
	const struct offcpu *o = w->offs;
	size_t now = find_epoch(o, s->ns);
	int code = 0;

	*in = now < o->epoch_count && o->epochs[now].from_ns <= s->ns;
	if (!*in || now == w->epoch)
		return 0;
	if (w->epoch < o->epoch_count)
		code = end_state(w, w->kind, o->epochs[w->epoch].until_ns);
	w->epoch = now;
	set_state(w, before(s), o->epochs[now].from_ns);
	return code;
}

static int take_thread(struct offcpu *o, size_t first, size_t behind)
{
	struct walk w = { .offs = o, .epoch = o->epoch_count };
	bool in;
	int code = 0;

	if (!grow(&o->threads, sizeof(*o->threads), o->thread_count,
		  &o->thread_room))
		return -ENOMEM;
	o->threads[o->thread_count++] =
		(struct offcpu_thread){ .tid = o->switches[first].tid,
					.first = o->off_count };
	for (size_t i = first; code == 0 && i < behind; i++) {
		code = enter_epoch(&w, &o->switches[i], &in);
		if (code == 0 && in)
			code = take(&w, &o->switches[i]);
	}
	if (code == 0 && w.epoch < o->epoch_count)
		code = end_state(&w, w.kind, o->epochs[w.epoch].until_ns);
	return code;
}

int offcpu_settle(struct offcpu *o)
{
	size_t behind;
	int code = 0;

	if (o->count > 0)
		qsort(o->switches, o->count, sizeof(*o->switches),
		      compare_switches);
	for (size_t i = 0; code == 0 && i < o->count; i = behind) {
		behind = i + 1;
		while (behind < o->count &&
		       o->switches[behind].tid == o->switches[i].tid)
			behind++;
		code = take_thread(o, i, behind);
	}
	/* The spans now contain all that the switches say. */
	free(o->switches);
	o->switches = NULL;
	o->count = o->room = 0;
	return code;
}

void offcpu_free(struct offcpu *o)
{
	free(o->switches);
	free(o->epochs);
	free(o->offs);
	free(o->threads);
	memset(o, 0, sizeof(*o));
}

/* ---- cursors --------------------------------------------------------------- */

static const struct offcpu_thread *find_thread(const struct offcpu *o,
					       uint32_t tid)
{
	size_t low = 0, high = o->thread_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (o->threads[middle].tid < tid)
			low = middle + 1;
		else
			high = middle;
	}
	return low < o->thread_count && o->threads[low].tid == tid
		       ? &o->threads[low]
		       : NULL;
}

/* The first span that ends after @ns. */
static const struct offcpu_span *find_off(const struct offcpu_span *offs,
					  size_t count, uint64_t ns)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (offs[middle].until_ns <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return &offs[low];
}

struct offcpu_look offcpu_look(const struct offcpu *o, uint32_t tid,
			       uint64_t from_ns)
{
	const struct offcpu_thread *thread = find_thread(o, tid);
	struct offcpu_look look = { .offs = o };

	if (thread && thread->count > 0) {
		look.end = &o->offs[thread->first] + thread->count;
		look.next = find_off(&o->offs[thread->first], thread->count,
				     from_ns);
	}
	look.epoch = from_ns < UINT64_MAX ? find_epoch(o, from_ns + 1)
					  : o->epoch_count;
	return look;
}

enum offcpu_kind offcpu_at(struct offcpu_look *look, uint64_t ns,
			   uint64_t *until_ns, const struct offcpu_span **off)
{
	const struct offcpu *o = look->offs;

	*until_ns = UINT64_MAX;
	if (o->epoch_count == 0)
		return OFFCPU_NOT;
	while (look->epoch < o->epoch_count &&
	       o->epochs[look->epoch].until_ns <= ns)
		look->epoch++;
	if (look->epoch == o->epoch_count)
		return OFFCPU_UNKNOWN;
	if (ns < o->epochs[look->epoch].from_ns) {
		*until_ns = o->epochs[look->epoch].from_ns;
		return OFFCPU_UNKNOWN;
	}
	*until_ns = o->epochs[look->epoch].until_ns;
	while (look->next != look->end && look->next->until_ns <= ns)
		look->next++;
	if (look->next == look->end)
		return OFFCPU_NOT;
	if (look->next->from_ns > ns) {
		if (look->next->from_ns < *until_ns)
			*until_ns = look->next->from_ns;
		return OFFCPU_NOT;
	}
	if (look->next->until_ns < *until_ns)
		*until_ns = look->next->until_ns;
	*off = look->next;
	return (enum offcpu_kind)look->next->kind;
}
