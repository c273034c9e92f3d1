/* SPDX-License-Identifier: MIT */
/* ledger.c - collects items, and the steps of workers; see ledger.h and
 * ledger_parts.h */
#include "bpf/why/ledger.h"

#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/cli/grow.h"
#include "bpf/why/ledger_parts.h"

/* ---- names --------------------------------------------------------------- */

/* Names beyond this limit share one. */
#define MAX_NAMES 4096u
#define OTHERS    "(others)"

struct named {
	uint32_t index;
	char text[TRACE_TEXT];
};

static int compare_named(const void *left, const void *right)
{
	return strcmp(((const struct named *)left)->text,
		      ((const struct named *)right)->text);
}

static uint32_t add_name(struct ledger *l, const struct named *key)
{
	struct named *named = malloc(sizeof(*named));

	if (named) {
		*named = *key;
		named->index = (uint32_t)l->name_count;
	}
	if (!named ||
	    !grow(&l->names, sizeof(*l->names), l->name_count, &l->name_room) ||
	    !tsearch(named, &l->by_name, compare_named)) {
		free(named);
		l->failed = -ENOMEM;
		return LEDGER_NOBODY;
	}
	memcpy(l->names[l->name_count++], named->text, sizeof(named->text));
	return named->index;
}

uint32_t ledger_name(struct ledger *l, const char *text)
{
	struct named key;
	void *found;

	snprintf(key.text, sizeof(key.text), "%s", text);
	found = tfind(&key, &l->by_name, compare_named);
	if (!found && l->name_count >= MAX_NAMES) {
		strcpy(key.text, OTHERS);
		found = tfind(&key, &l->by_name, compare_named);
	}
	return found ? (*(struct named **)found)->index : add_name(l, &key);
}

/* ---- steps --------------------------------------------------------------- */

/* Time never goes back: a step that was drawn late begins where the previous
 * one did. */
static void add_step(struct ledger *l, struct ledger_steps *s,
		     struct ledger_step step)
{
	if (s->count > 0 && step.from_ns < s->steps[s->count - 1].from_ns)
		step.from_ns = s->steps[s->count - 1].from_ns;
	if (!grow(&s->steps, sizeof(*s->steps), s->count, &s->room)) {
		l->failed = -ENOMEM;
		return;
	}
	s->steps[s->count++] = step;
}

static enum ledger_doing doing_of(enum trace_mark_kind kind)
{
	switch (kind) {
	case TRACE_POLL:
		return LEDGER_POLL;
	case TRACE_JOB:
		return LEDGER_JOB;
	case TRACE_PARK:
		return LEDGER_PARK;
	case TRACE_SEARCH:
		return LEDGER_SEARCH;
	default:
		return LEDGER_BETWEEN;
	}
}

static void on_begin(struct trace_sink *sink, const struct trace_mark *mark)
{
	struct ledger *l = (struct ledger *)sink;
	struct ledger_steps *s = &l->tracks[mark->track];
	struct ledger_open open = {
		.step = { .from_ns = mark->ns,
			  .doing = (uint8_t)doing_of(mark->kind),
			  .unseen = mark->partial,
			  .name = LEDGER_NOBODY,
			  .label = LEDGER_NOBODY },
		.first = s->count,
		.labels = { LEDGER_NOBODY, LEDGER_NOBODY, 0, 0 },
	};

	if (mark->kind == TRACE_POLL || mark->kind == TRACE_JOB)
		open.step.name = ledger_name(l, mark->name);
	if (mark->kind == TRACE_POLL) {
		ledger_begin_poll(l, &open, mark);
		ledger_io_polled(l, open.task);
	}
	if (!grow(&s->open, sizeof(*s->open), s->depth, &s->open_room)) {
		l->failed = -ENOMEM;
		return;
	}
	s->open[s->depth++] = open;
	if (mark->kind == TRACE_SEARCH)
		s->search = s->count;
	if (mark->kind == TRACE_JOB)
		ledger_fork_job(l, mark, true);
	s->late = 0;
	s->reap.ns = 0;
	add_step(l, s, open.step);
}

/* When a slice ends, go on with the slice around it, or between slices. */
static void resume(struct ledger *l, struct ledger_steps *s, uint64_t ns,
		   enum trace_mark_kind over)
{
	struct ledger_step step = { .doing = over == TRACE_PARK
						     ? LEDGER_ON_WAY
						     : LEDGER_BETWEEN,
				    .name = LEDGER_NOBODY,
				    .label = LEDGER_NOBODY };

	if (s->depth > 0)
		step = s->open[s->depth - 1].step;
	step.from_ns = ns;
	add_step(l, s, step);
}

static bool add_to(struct ledger *l, struct ledger_item **items, size_t *count,
		   size_t *room, const struct ledger_item *item)
{
	if (!grow(items, sizeof(**items), *count, room)) {
		l->failed = -ENOMEM;
		return false;
	}
	(*items)[(*count)++] = *item;
	return true;
}

static void add_item(struct ledger *l, const struct trace_mark *mark,
		     const struct ledger_open *open)
{
	bool whole = !mark->partial && mark->waited;
	uint64_t ready = mark->ns - (mark->waited ? mark->waited_ns : 0);
	struct ledger_item item = { .from_ns = ready,
				    .ready_ns = ready,
				    .begin_ns = mark->ns,
				    .end_ns = mark->end_ns,
				    .task = mark->args[0].number,
				    .track = mark->track,
				    .home = mark->waited ? mark->waited_on
							 : mark->track,
				    .name = open->step.name,
				    .label = open->step.label };

	if (!whole && !open->goes_on)
		l->incomplete++;
	if (!whole || open->goes_on) {
		add_to(l, &l->others, &l->other_count, &l->other_room, &item);
		return;
	}
	if (open->wait > 0)
		ledger_waited(l, &item, open);
	add_to(l, &l->items, &l->count, &l->room, &item);
}

/* Give the label of a poll that has ended to its steps. */
static void label_steps(struct ledger_steps *s, struct ledger_open *open,
			uint64_t ns)
{
	open->step.label = ledger_label(open, ns);
	if (open->step.label == LEDGER_NOBODY)
		return;
	for (size_t i = open->first; i < s->count; i++)
		if (s->steps[i].doing == LEDGER_POLL &&
		    s->steps[i].name == open->step.name)
			s->steps[i].label = open->step.label;
}

static void on_end(struct trace_sink *sink, const struct trace_mark *mark)
{
	struct ledger *l = (struct ledger *)sink;
	struct ledger_steps *s = &l->tracks[mark->track];

	if (s->depth == 0) /* there was no memory for its beginning */
		return;
	s->depth--;
	s->reap.ns = 0;
	if (mark->kind == TRACE_JOB)
		ledger_fork_job(l, mark, false);
	if (mark->kind == TRACE_POLL) {
		label_steps(s, &s->open[s->depth], mark->end_ns);
		add_item(l, mark, &s->open[s->depth]);
	}
	resume(l, s, mark->end_ns, mark->kind);
}

/* ---- instants ------------------------------------------------------------ */

/* Count a task made runnable by the late call of pollers in progress. */
static void on_woken(struct ledger *l, unsigned track, uint64_t ns)
{
	size_t late = l->tracks[track].late;

	if (late == 0)
		return;
	l->lates[late - 1].woken++;
	l->lates[late - 1].last_ns = ns;
}

size_t ledger_add_late(struct ledger *l, const struct ledger_late *late)
{
	if (!grow(&l->lates, sizeof(*l->lates), l->late_count, &l->late_room)) {
		l->failed = -ENOMEM;
		return 0;
	}
	l->lates[l->late_count++] = *late;
	return l->late_count;
}

static void on_late(struct ledger *l, const struct trace_mark *mark)
{
	const struct ledger_late late = { .track = mark->track,
					  .from_ns = mark->ns - mark->number,
					  .until_ns = mark->ns };

	l->tracks[mark->track].late = ledger_add_late(l, &late);
}

static void add_ready(struct ledger *l, uint64_t ns)
{
	if (!grow(&l->ready, sizeof(*l->ready), l->ready_count,
		  &l->ready_room)) {
		l->failed = -ENOMEM;
		return;
	}
	l->ready[l->ready_count++] = ns;
}

static void on_ready(struct ledger *l, const struct trace_mark *mark)
{
	add_ready(l, mark->ns);
	on_woken(l, mark->track, mark->ns);
	ledger_on_woken(l, mark);
	ledger_on_io_woken(l, mark);
}

static void on_stolen(struct ledger *l, const struct trace_mark *mark)
{
	l->taken = mark->flow_out;
	l->victim = mark->track;
}

/* Note the victim in the search that ended just before this steal. */
static void on_steal(struct ledger *l, const struct trace_mark *mark)
{
	struct ledger_steps *s = &l->tracks[mark->track];

	if (mark->flow_in == 0 || mark->flow_in != l->taken ||
	    s->search >= s->count)
		return;
	s->steps[s->search].name = l->victim;
}

static void on_queue(struct ledger *l, const struct trace_mark *mark)
{
	struct ledger_steps *s = &l->tracks[mark->track];
	struct ledger_step step = { .doing = LEDGER_BETWEEN,
				    .name = LEDGER_NOBODY,
				    .label = LEDGER_NOBODY };

	if (strcmp(mark->name, "inject") != 0)
		return;
	if (s->count > 0)
		step = s->steps[s->count - 1];
	step.from_ns = mark->ns;
	step.injected = true;
	add_step(l, s, step);
}

/* Events are missing before this one. */
static void on_gap(struct ledger *l, const struct trace_mark *mark)
{
	add_step(l, &l->tracks[mark->track],
		 (struct ledger_step){ .from_ns = mark->ns,
				       .doing = LEDGER_LOST });
	addresses_clear(&l->suspended);
	addresses_clear(&l->io_open);
	ledger_fork_gap(l, mark->ns);
}

static void on_wait(struct ledger *l, const struct trace_mark *mark)
{
	ledger_on_wait(l, mark);
	ledger_on_io_wait(l, mark);
}

static void on_instant(struct trace_sink *sink, const struct trace_mark *mark)
{
	static void (*const on[])(struct ledger *,
				  const struct trace_mark *) = {
		[TRACE_READY] = on_ready,
		[TRACE_LATE] = on_late,
		[TRACE_STOLEN] = on_stolen,
		[TRACE_STEAL] = on_steal,
		[TRACE_QUEUE] = on_queue,
		[TRACE_GAP] = on_gap,
		[TRACE_REAP] = ledger_on_reap,
		[TRACE_WAIT] = on_wait,
		[TRACE_HELD] = ledger_on_held,
		[TRACE_GIVE_UP] = ledger_on_give_up,
		[TRACE_NEW_LABEL] = ledger_on_label,
		[TRACE_FORK] = ledger_on_fork,
	};

	if (mark->kind < sizeof(on) / sizeof(on[0]) && on[mark->kind])
		on[mark->kind]((struct ledger *)sink, mark);
}

static void on_count(struct trace_sink *sink, uint64_t ns, uint64_t waiting)
{
	(void)ns;
	((struct ledger *)sink)->waiting = waiting;
}

/* ---- the end --------------------------------------------------------------- */

/* Collect the outermost poll of each worker. */
static void on_stop(struct trace_sink *sink, uint64_t ns)
{
	struct ledger *l = (struct ledger *)sink;
	l->stop_ns = ns;
	for (unsigned i = 0; i < trace_sources(l->trace); i++) {
		const struct ledger_steps *s = &l->tracks[i];
		size_t k = 0;

		while (k < s->depth && s->open[k].step.doing != LEDGER_POLL)
			k++;
		if (k < s->depth)
			l->unfinished[l->unfinished_count++] =
				(struct ledger_unfinished){
					.track = i,
					.name = s->open[k].step.name,
					.label = ledger_label(&s->open[k], ns),
					.ns = ns - s->open[k].step.from_ns,
					.unseen = s->open[k].step.unseen
				};
	}
	ledger_count_stuck(l);
	ledger_io_stop(l);
	ledger_fork_stop(l, ns);
}

static void on_left(struct trace_sink *sink, uint64_t since_ns, unsigned track)
{
	struct ledger *l = (struct ledger *)sink;
	uint64_t ns = l->stop_ns - since_ns;

	if (l->oldest_ns < ns)
		l->oldest_ns = ns;
	for (unsigned i = 0; i < l->unfinished_count; i++) {
		struct ledger_unfinished *poll = &l->unfinished[i];

		if (poll->track != track)
			continue;
		poll->behind++;
		if (poll->oldest_ns < ns)
			poll->oldest_ns = ns;
	}
}

/* ---- opening ------------------------------------------------------------- */

int ledger_open(struct ledger *l, struct trace *trace)
{
	int code;

	*l = (struct ledger){ .sink = { on_begin, on_end, on_instant, on_count,
					on_stop, on_left },
			      .trace = trace };
	l->tracks = calloc(trace_sources(trace) + 1, sizeof(*l->tracks));
	l->unfinished =
		calloc(trace_sources(trace) + 1, sizeof(*l->unfinished));
	if (!l->tracks || !l->unfinished)
		return -ENOMEM;
	for (unsigned i = 0; i < trace_sources(trace); i++) {
		const struct trace_stream *stream =
			&trace_source(trace, i)->stream;

		l->tracks[i].search = SIZE_MAX;
		l->workers += stream->index != TRACE_OUTSIDE;
		if (stream->index == TRACE_OUTSIDE)
			continue;
		l->tracks[i].tid = stream->tid;
		if (stream->runtime < LEDGER_FORK_RUNTIMES)
			l->forks.workers[stream->runtime]++;
	}
	code = ledger_fork_seats_open(l);
	if (code == 0) {
		ledger_fork_start(l);
		code = trace_play(trace, &l->sink);
	}
	if (code == 0)
		code = l->failed;
	if (code)
		return code;
	ledger_settle_steps(l);
	ledger_judge_forks(l);
	return ledger_settle_waits(l);
}

/* ---- closing ------------------------------------------------------------- */

void ledger_close(struct ledger *l)
{
	for (unsigned i = 0; l->tracks && i < trace_sources(l->trace); i++) {
		free(l->tracks[i].steps);
		free(l->tracks[i].open);
	}
	tdestroy(l->by_name, free);
	free(l->tracks);
	free(l->unfinished);
	free(l->items);
	free(l->lates);
	free(l->others);
	free(l->waits);
	free(l->holds);
	free(l->held);
	free(l->channels);
	free(l->io);
	free(l->forks.callers);
	free(l->forks.spans);
	ledger_fork_seats_close(l);
	addresses_free(&l->io_open);
	addresses_free(&l->suspended);
	addresses_free(&l->servers);
	free(l->names);
	free(l->ready);
	memset(l, 0, sizeof(*l));
}
