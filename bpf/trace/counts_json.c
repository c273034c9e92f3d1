/* SPDX-License-Identifier: MIT */
/* counts_json.c - print counts as JSON */
#include <jansson.h>
#include <stdlib.h>

#include "bpf/cli/json.h"
#include "bpf/trace/counts_view.h"

#define WORKER(member) JSON_FIELD(struct count_worker, member)
static const struct json_field fields_of_worker[] = { WORKER(steals),
						      WORKER(tasks_stolen),
						      WORKER(steal_ns),
						      WORKER(searches_failed),
						      WORKER(parks),
						      WORKER(unparks),
						      WORKER(parked_ns),
						      WORKER(lifo_hits),
						      WORKER(lifo_polls),
						      WORKER(overflows),
						      { 0 } };

/* Values that the debug area does not have. */
static const struct json_field fields_by_probes[] = { WORKER(looks),
						      WORKER(tasks_overflowed),
						      { 0 } };

#define KERNEL(member) JSON_FIELD(struct count_switches, member)
static const struct json_field fields_of_kernel[] = {
	KERNEL(unseen), KERNEL(preempted_ns), KERNEL(slept_ns),
	KERNEL(wakes),  KERNEL(wake_ns),      { 0 }
};

static void set_worker(json_t *object, const struct count_worker *worker,
		       bool by_probes)
{
	json_set_fields(object, fields_of_worker, worker);
	if (by_probes)
		json_set_fields(object, fields_by_probes, worker);
}

static void set_switches(json_t *object, const struct count_switches *switches,
			 bool by_kernel)
{
	json_set_count(object, "voluntary", switches->voluntary);
	json_set_count(object, "involuntary", switches->involuntary);
	if (by_kernel)
		json_set_fields(object, fields_of_kernel, switches);
	else
		json_set_count(object, "waited_ns", switches->wake_ns);
}

static json_t *worker_json(const struct counts_view *view,
			   const struct counts_line *line)
{
	static const struct count_worker nothing;
	static const struct count_switches never;
	json_t *object = json_object();

	if (view->path)
		json_set_count(object, "pid", line->process);
	json_set_count(object, "index", line->index);
	json_set_count(object, "thread", line->thread);
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

		json_set_count(object, "thread", thief ? thief->thread : 0);
		json_set_count(object, "thief", pair->thief);
		json_set_count(object, "victim", pair->victim);
		json_set_count(object, "steals", steals->steals);
		json_set_count(object, "tasks", steals->tasks);
		json_array_append_new(array, object);
	}
	return array;
}

/* An entry for each octave that is not empty: its lower bound, and the
 * count. */
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
		json_set_count(object, "from_ns", i ? UINT64_C(1) << i : 0);
		json_set_count(object, "count", octaves[i]);
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
		json_set_count(object, "places", attached->places);
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
		json_set_count(object, "pid",
			       (uint64_t)target_pid(view->target));
	else
		json_object_set_new(object, "path", json_string(view->path));
	json_object_set_new(object, "seconds",
			    json_real((double)view->counts->at_ns / 1e9));
	json_object_set_new(object, "whole", json_boolean(view->whole));
	json_object_set_new(object, "attached", attached_json(view->attached));
	json_object_set_new(object, "missing", missing_json(view->attached));
	json_set_count(object, "lost", view->counts->lost);
	for (unsigned i = 0; i < view->line_count; i++)
		json_array_append_new(workers,
				      worker_json(view, &view->lines[i]));
	json_object_set_new(object, "workers", workers);
	json_set_count(ended, "threads", view->ended.ended);
	set_worker(ended, &view->ended, view->attached->how != ATTACH_NOT);
	if (view->target)
		set_switches(ended, &view->ended_switches,
			     view->attached->switches);
	json_object_set_new(object, "ended", ended);
	json_object_set_new(object, "totals", totals_json(view));
	if (view->target) {
		json_set_count(rest, "threads", view->rest_count);
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
	return json_print(file, view_json(view), 0);
}
