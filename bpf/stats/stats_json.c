/* SPDX-License-Identifier: MIT */
/* stats_json.c - print a runtime as JSON */
#include <jansson.h>
#include <stdlib.h>

#include "bpf/cli/json.h"
#include "bpf/stats/figures.h"
#include "bpf/stats/stats.h"

/* Names in JSON are the names of the struct members. */
#define TIMES(member) JSON_FIELD(struct area_times, member)
static const struct json_field fields_of_times[] = {
	TIMES(run_ns), TIMES(search_ns), TIMES(park_ns), { 0 }
};

#define TOTALS(member) JSON_FIELD(struct target_snapshot, member)
static const struct json_field fields_of_totals[] = {
	TOTALS(tasks_spawned),
	TOTALS(queue_depth),
	TOTALS(injection_depth),
	TOTALS(urgent_depth),
	TOTALS(jobs_stolen_outside),
	TOTALS(accepts_delayed),
	{ 0 }
};

#define TYPE(member) JSON_FIELD(struct area_type, member)
static const struct json_field fields_of_type[] = {
	TYPE(polls), TYPE(run_ns),  TYPE(longest_ns),
	TYPE(waits), TYPE(wait_ns), TYPE(longest_wait_ns),
	{ 0 }
};

static json_t *counters_json(const struct area_counters *counters)
{
	json_t *object = json_object();

	for (unsigned i = 0; i < figure_counter_count; i++)
		json_set_count(object, figure_counters[i].name,
			       figure_value(counters, &figure_counters[i]));
	return object;
}

static json_t *worker_json(const struct target_worker *worker, unsigned index,
			   uint64_t at_ns)
{
	const struct area_worker *area = &worker->area;
	struct area_times times = figure_times(&area->times, at_ns);
	json_t *object = json_object();

	json_set_count(object, "index", index);
	json_object_update_new(object, counters_json(&area->counters));
	json_set_count(object, "queue_depth", worker->queue_depth);
	json_set_count(object, "tid", area->tid);
	json_object_set_new(object, "cpu", json_integer(area->cpu));
	json_object_set_new(object, "node", json_integer(area->node));
	json_object_set_new(object, "state",
			    json_string(figure_state(area->times.state)));
	json_set_fields(object, fields_of_times, &times);
	return object;
}

static json_t *totals_json(const struct target_snapshot *snapshot)
{
	json_t *object = counters_json(&snapshot->total);

	json_set_fields(object, fields_of_totals, snapshot);
	return object;
}

static json_t *histogram_json(const struct target_snapshot *snapshot,
			      enum figure_histogram which)
{
	struct probes_histogram sum;
	json_t *object = json_object();

	figure_sum(snapshot, which, &sum);
	json_set_count(object, "count", figure_total(&sum));
	json_set_count(object, "sum_ns", sum.sum_ns);
	json_set_count(object, "longest_ns", sum.longest_ns);
	json_set_count(object, "p50_ns", figure_quantile(&sum, 0.5));
	json_set_count(object, "p90_ns", figure_quantile(&sum, 0.9));
	json_set_count(object, "p99_ns", figure_quantile(&sum, 0.99));
	json_set_count(object, "p999_ns", figure_quantile(&sum, 0.999));
	return object;
}

static json_t *types_json(struct target *target,
			  const struct target_snapshot *snapshot)
{
	struct stats_rows rows = stats_collect(snapshot);
	json_t *array = json_array();

	for (unsigned i = 0; i < rows.count; i++) {
		const struct area_type *row = &rows.rows[i];
		json_t *object = json_object();
		char name[TARGET_NAME];

		stats_name(target, row, name);
		json_object_set_new(object, "name", json_string(name));
		json_set_fields(object, fields_of_type, row);
		json_array_append_new(array, object);
	}
	free(rows.rows);
	return array;
}

static json_t *runtime_json(struct target *target,
			    const struct target_runtime *runtime,
			    const struct target_snapshot *snapshot)
{
	json_t *object = json_object(), *workers = json_array();
	json_t *histograms = json_object();
	char comm[TARGET_NAME];

	target_comm(target, comm);
	json_set_count(object, "pid", (uint64_t)target_pid(target));
	json_object_set_new(object, "comm", json_string(comm));
	json_set_count(object, "abi", runtime->area.abi);
	json_object_set_new(object, "version", json_string(runtime->version));
	json_set_count(object, "started_ns", runtime->area.started_ns);
	json_set_count(object, "at_ns", snapshot->at_ns);
	json_set_count(object, "sample", runtime->area.sample);
	json_set_count(object, "stall_limit_ns", runtime->area.stall_limit_ns);
	json_set_count(object, "polls_over_limit",
		       figure_over_limit(snapshot, &runtime->area));
	for (unsigned i = 0; i < snapshot->worker_count; i++)
		json_array_append_new(
			workers,
			worker_json(&snapshot->workers[i], i, snapshot->at_ns));
	json_object_set_new(object, "workers", workers);
	json_object_set_new(object, "totals", totals_json(snapshot));
	for (unsigned i = 0; i < FIGURE_HISTOGRAMS; i++)
		json_object_set_new(histograms, figure_histogram_names[i],
				    histogram_json(snapshot, i));
	json_object_set_new(object, "histograms", histograms);
	json_object_set_new(object, "types", types_json(target, snapshot));
	return object;
}

bool stats_json(FILE *file, struct target *target,
		const struct target_runtime *runtime,
		const struct target_snapshot *snapshot)
{
	return json_print(file, runtime_json(target, runtime, snapshot), 0);
}
