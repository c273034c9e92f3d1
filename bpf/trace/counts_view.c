/* SPDX-License-Identifier: MIT */
/* counts_view.c - see counts_view.h */
#include "bpf/cli/sorted.h"
#include "bpf/trace/counts_view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *const counts_histogram_names[COUNTS_HISTOGRAMS] = {
	"steal", "parked", "preempted", "wake"
};

/* ---- sums ------------------------------------------------------------------ */

/* Add words, from byte @first on. */
static void add_words(void *to, const void *from, size_t first, size_t bytes)
{
	for (size_t at = first; from && at < bytes; at += sizeof(uint64_t)) {
		uint64_t sum, more;

		memcpy(&sum, (char *)to + at, sizeof(sum));
		memcpy(&more, (const char *)from + at, sizeof(more));
		sum += more;
		memcpy((char *)to + at, &sum, sizeof(sum));
	}
}

static void add_worker(struct count_worker *to, const struct count_worker *from)
{
	add_words(to, from, offsetof(struct count_worker, steals), sizeof(*to));
}

static void add_switches(struct count_switches *to,
			 const struct count_switches *from)
{
	add_words(to, from, offsetof(struct count_switches, voluntary),
		  offsetof(struct count_switches, left_ns));
}

/* ---- runtimes -------------------------------------------------------------- */

static int know_runtime(struct counts_view *view,
			const struct target_runtime *runtime)
{
	struct target_snapshot snapshot = { .at_ns = 0 };
	int err = target_take_snapshot(view->target, runtime, &snapshot);
	struct counts_known *more =
		err ? NULL
		    : reallocarray(view->known,
				   view->known_count + snapshot.worker_count,
				   sizeof(*more));

	if (!err && !more)
		err = -ENOMEM;
	view->known = more ? more : view->known;
	for (unsigned i = 0; !err && i < snapshot.worker_count; i++) {
		uint64_t tid = snapshot.workers[i].area.tid;
		pid_t thread =
			tid ? target_thread(view->target, (uint32_t)tid) : 0;

		if (thread > 0)
			view->known[view->known_count++] =
				(struct counts_known){ (uint32_t)thread, i };
	}
	target_free_snapshot(&snapshot);
	return err;
}

int counts_know(struct counts_view *view)
{
	int err = 0;

	for (unsigned i = 0; !err && i < target_runtimes(view->target); i++) {
		err = know_runtime(view, target_runtime(view->target, i));
		if (err == -EAGAIN) /* the runtime is gone */
			err = 0;
	}
	return err;
}

/* ---- lines ----------------------------------------------------------------- */

static void add_line(struct counts_view *view, struct counts_line line)
{
	line.times = counts_find(view->counts, COUNTS_TIMES, &line.key);
	line.switches = counts_find(view->counts, COUNTS_SWITCHES, &line.key);
	line.delays = counts_find(view->counts, COUNTS_DELAYS, &line.key);
	line.ended = (line.worker && line.worker->ended) ||
		     (line.switches && line.switches->ended);
	view->lines[view->line_count++] = line;
}

static bool has_line(const struct counts_view *view, uint32_t thread)
{
	for (unsigned i = 0; i < view->line_count; i++)
		if (view->lines[i].thread == thread)
			return true;
	return false;
}

static const struct counts_known *find_known(const struct counts_view *view,
					     uint32_t thread)
{
	for (unsigned i = 0; i < view->known_count; i++)
		if (view->known[i].thread == thread)
			return &view->known[i];
	return NULL;
}

static void add_counted(struct counts_view *view)
{
	const struct count_worker *worker;

	for (unsigned i = 0;
	     (worker = counts_row(view->counts, COUNTS_WORKERS, i)); i++) {
		const uint32_t *key =
			counts_key(view->counts, COUNTS_WORKERS, i);

		if (*key == 0) {
			view->ended = *worker;
			continue;
		}
		add_line(view, (struct counts_line){ .process = worker->process,
						     .thread = worker->thread,
						     .index = worker->worker,
						     .key = *key,
						     .worker = worker });
	}
}

/* Add lines for workers that have no counts by probes: those with context
 * switches only, and those known without any counts. Sum up all other
 * threads. */
static void add_silent(struct counts_view *view)
{
	const struct count_switches *switches;

	for (unsigned i = 0;
	     (switches = counts_row(view->counts, COUNTS_SWITCHES, i)); i++) {
		const uint32_t *key =
			counts_key(view->counts, COUNTS_SWITCHES, i);
		const struct counts_known *known =
			find_known(view, switches->thread);

		if (*key == 0)
			view->ended_switches = *switches;
		if (*key == 0 || has_line(view, switches->thread))
			continue;
		if (known) {
			add_line(view, (struct counts_line){
					       .process = switches->process,
					       .thread = known->thread,
					       .index = known->index,
					       .key = *key });
			continue;
		}
		view->rest_count += *key == COUNT_OTHERS ? switches->ended : 1;
		add_switches(&view->rest, switches);
	}
	for (unsigned i = 0; i < view->known_count; i++)
		if (!has_line(view, view->known[i].thread))
			add_line(view, (struct counts_line){
					       .thread = view->known[i].thread,
					       .index = view->known[i].index });
}

static int by_index(const void *a, const void *b)
{
	const struct counts_line *x = a, *y = b;

	if (x->process != y->process)
		return compare_numbers(x->process, y->process);
	if (x->index != y->index)
		return compare_numbers(x->index, y->index);
	return compare_numbers(x->thread, y->thread);
}

int counts_arrange(struct counts_view *view, const struct counts *counts)
{
	size_t most = counts->tables[COUNTS_WORKERS].count +
		      counts->tables[COUNTS_SWITCHES].count + view->known_count;

	free(view->lines);
	view->counts = counts;
	view->line_count = view->rest_count = 0;
	view->ended = (struct count_worker){ .process = 0 };
	view->ended_switches = (struct count_switches){ .process = 0 };
	view->rest = (struct count_switches){ .process = 0 };
	view->lines = calloc(most + 1, sizeof(*view->lines));
	if (!view->lines)
		return -ENOMEM;
	add_counted(view);
	add_silent(view);
	qsort(view->lines, view->line_count, sizeof(*view->lines), by_index);
	return 0;
}

void counts_view_free(struct counts_view *view)
{
	free(view->known);
	free(view->lines);
}

/* ---- of all lines ---------------------------------------------------------- */

unsigned counts_sum(const struct counts_view *view, bool ended,
		    struct count_worker *worker,
		    struct count_switches *switches)
{
	unsigned count = view->ended.ended;

	*worker = (struct count_worker){ .process = 0 };
	*switches = (struct count_switches){ .process = 0 };
	add_worker(worker, &view->ended);
	add_switches(switches, &view->ended_switches);
	for (unsigned i = 0; i < view->line_count; i++) {
		if (ended && !view->lines[i].ended)
			continue;
		add_worker(worker, view->lines[i].worker);
		add_switches(switches, view->lines[i].switches);
		count++;
	}
	return count;
}

static const __u64 *octaves_of(const struct counts_line *line,
			       enum counts_histogram which)
{
	switch (which) {
	case COUNTS_STEAL:
		return line->times ? line->times->steal : NULL;
	case COUNTS_PARKED:
		return line->times ? line->times->parked : NULL;
	case COUNTS_PREEMPTED:
		return line->delays ? line->delays->preempted : NULL;
	default:
		return line->delays ? line->delays->wake : NULL;
	}
}

uint64_t counts_octaves(const struct counts_view *view,
			enum counts_histogram which, uint64_t *octaves)
{
	const uint32_t all_ended = 0;
	struct counts_line ended = {
		.times = counts_find(view->counts, COUNTS_TIMES, &all_ended),
		.delays = counts_find(view->counts, COUNTS_DELAYS, &all_ended)
	};
	uint64_t total = 0;

	memset(octaves, 0, COUNT_OCTAVES * sizeof(*octaves));
	add_words(octaves, octaves_of(&ended, which), 0,
		  COUNT_OCTAVES * sizeof(*octaves));
	for (unsigned i = 0; i < view->line_count; i++)
		add_words(octaves, octaves_of(&view->lines[i], which), 0,
			  COUNT_OCTAVES * sizeof(*octaves));
	for (unsigned i = 0; i < COUNT_OCTAVES; i++)
		total += octaves[i];
	return total;
}
