/* SPDX-License-Identifier: MIT */
/* counts_json.c - what was counted, as JSON */
#include <jansson.h>
#include <stdlib.h>

#include "bpf/cli/json_count.h"
#include "bpf/trace/counts_view.h"

static void set(json_t *object, const char *name, uint64_t value)
{
	json_object_set_new(object, name, json_count(value));
}

#define SET(object, from, name) set(object, #name, (from)->name)

static void set_worker(json_t *object, const struct count_worker *worker,
		       bool by_probes)
{
	SET(object, worker, steals);
	SET(object, worker, tasks_stolen);
	SET(object, worker, steal_ns);
	SET(object, worker, searches_failed);
	SET(object, worker, looks);
	SET(object, worker, parks);
	SET(object, worker, unparks);
	SET(object, worker, parked_ns);
	SET(object, worker, lifo_hits);
	SET(object, worker, lifo_polls);
	SET(object, worker, overflows);
	if (by_probes)
		SET(object, worker, tasks_overflowed);
}

static void set_switches(json_t *object, const struct count_switches *switches,
			 bool by_kernel)
{
	SET(object, switches, voluntary);
	SET(object, switches, involuntary);
	if (!by_kernel) {
		set(object, "waited_ns", switches->wake_ns);
		return;
	}
	SET(object, switches, unseen);
	SET(object, switches, preempted_ns);
	SET(object, switches, slept_ns);
	SET(object, switches, wakes);
	SET(object, switches, wake_ns);
}

static json_t *worker_json(const struct counts_view *view,
			   const struct counts_line *line)
{
	static const struct count_worker nothing;
	static const struct count_switches never;
	json_t *object = json_object();

	if (view->path)
		set(object, "pid", line->process);
	set(object, "index", line->index);
	set(object, "thread", line->thread);
	json_object_set_new(object, "ended", json_boolean(line->ended));
	set_worker(object, line->worker ? line->worker : &nothing,
		   view->attached->how != ATTACH_NOT);
	if (!view->path)
		set_switches(object, line->switches ? line->switches : &never,
			     view->attached->switches);
	return object;
}

static json_t *matrix_json(const struct counts_view *view)
{
	json_t *array = json_array();
	const struct count_steals *steals;

	for (unsigned i = 0;
	     (steals = counts_row(view->counts, COUNTS_MATRIX, i)); i++) {
		const struct count_pair *pair =
			counts_key(view->counts, COUNTS_MATRIX, i);
		const struct count_worker *thief = counts_find(
			view->counts, COUNTS_WORKERS, &pair->thread);
		json_t *object = json_object();

		set(object, "thread", thief ? thief->thread : 0);
		SET(object, pair, thief);
		SET(object, pair, victim);
		SET(object, steals, steals);
		SET(object, steals, tasks);
		json_array_append_new(array, object);
	}
	return array;
}

/* Of each octave that has any: from which time on, and how many. */
static json_t *histogram_json(const struct counts_view *view,
			      enum counts_histogram which)
{
	uint64_t octaves[COUNT_OCTAVES];
	json_t *array = json_array();

	counts_octaves(view, which, octaves);
	for (unsigned i = 0; i < COUNT_OCTAVES; i++) {
		json_t *object;

		if (octaves[i] == 0)
			continue;
		object = json_object();
		set(object, "from_ns", i ? UINT64_C(1) << i : 0);
		set(object, "count", octaves[i]);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *attached_json(const struct attachment *attached)
{
	static const char *const how[] = { [ATTACH_NOT] = "none",
					   [ATTACH_MULTI] = "uprobe_multi",
					   [ATTACH_EACH] = "perf_event",
					   [ATTACH_PINNED] = "pinned" };
	json_t *object = json_object();

	json_object_set_new(object, "probes", json_string(how[attached->how]));
	if (attached->how != ATTACH_PINNED)
		set(object, "places", attached->places);
	json_object_set_new(object, "switches",
			    json_boolean(attached->switches));
	return object;
}

static json_t *missing_json(const struct attachment *attached)
{
	json_t *object = json_object();

	if (attached->how == ATTACH_NOT)
		json_object_set_new(object, "probes",
				    json_string(attached->probes_missing));
	if (!attached->switches)
		json_object_set_new(object, "switches",
				    json_string(attached->switches_missing));
	return object;
}

static json_t *totals_json(const struct counts_view *view)
{
	json_t *object = json_object();
	struct count_switches switches;
	struct count_worker worker;

	counts_sum(view, false, &worker, &switches);
	set_worker(object, &worker, view->attached->how != ATTACH_NOT);
	if (!view->path)
		set_switches(object, &switches, view->attached->switches);
	return object;
}

static json_t *view_json(const struct counts_view *view)
{
	json_t *object = json_object(), *workers = json_array();
	json_t *histograms = json_object(), *ended = json_object();
	json_t *rest = json_object();

	if (view->target)
		set(object, "pid", (uint64_t)target_pid(view->target));
	else
		json_object_set_new(object, "path", json_string(view->path));
	json_object_set_new(object, "seconds",
			    json_real((double)view->counts->at_ns / 1e9));
	json_object_set_new(object, "whole", json_boolean(view->whole));
	json_object_set_new(object, "attached", attached_json(view->attached));
	json_object_set_new(object, "missing", missing_json(view->attached));
	set(object, "lost", view->counts->lost);
	for (unsigned i = 0; i < view->line_count; i++)
		json_array_append_new(workers,
				      worker_json(view, &view->lines[i]));
	json_object_set_new(object, "workers", workers);
	set(ended, "threads", view->ended.ended);
	set_worker(ended, &view->ended, view->attached->how != ATTACH_NOT);
	if (view->target)
		set_switches(ended, &view->ended_switches,
			     view->attached->switches);
	json_object_set_new(object, "ended", ended);
	json_object_set_new(object, "totals", totals_json(view));
	if (view->target) {
		set(rest, "threads", view->rest_count);
		set_switches(rest, &view->rest, view->attached->switches);
		json_object_set_new(object, "others", rest);
	} else {
		json_decref(rest);
	}
	json_object_set_new(object, "steals", matrix_json(view));
	for (unsigned i = 0; i < COUNTS_HISTOGRAMS; i++)
		json_object_set_new(histograms, counts_histogram_names[i],
				    histogram_json(view, i));
	json_object_set_new(object, "histograms", histograms);
	return object;
}

bool counts_json(FILE *file, const struct counts_view *view)
{
	json_t *object = view_json(view);
	char *text = json_dumps(object, JSON_COMPACT);
	bool printed = text != NULL;

	if (printed)
		fprintf(file, "%s\n", text);
	free(text);
	json_decref(object);
	return printed;
}
