/* SPDX-License-Identifier: MIT */
/* stats_json.c - a runtime as JSON */
#include <jansson.h>
#include <stdlib.h>

#include "bpf/cli/json_count.h"
#include "bpf/stats/figures.h"
#include "bpf/stats/stats.h"

static void set(json_t *object, const char *name, uint64_t value)
{
	json_object_set_new(object, name, json_count(value));
}

static json_t *counters_json(const struct area_counters *counters)
{
	json_t *object = json_object();

	for (unsigned i = 0; i < figure_counter_count; i++)
		set(object, figure_counters[i].name,
		    figure_value(counters, &figure_counters[i]));
	return object;
}

static json_t *worker_json(const struct target_worker *worker, unsigned index,
			   uint64_t at_ns)
{
	const struct area_worker *area = &worker->area;
	struct area_times times = figure_times(&area->times, at_ns);
	json_t *object = json_object();

	set(object, "index", index);
	json_object_update_new(object, counters_json(&area->counters));
	set(object, "queue_depth", worker->queue_depth);
	set(object, "tid", area->tid);
	json_object_set_new(object, "cpu", json_integer(area->cpu));
	json_object_set_new(object, "node", json_integer(area->node));
	json_object_set_new(object, "state",
			    json_string(figure_state(area->times.state)));
	set(object, "run_ns", times.run_ns);
	set(object, "search_ns", times.search_ns);
	set(object, "park_ns", times.park_ns);
	return object;
}

static json_t *totals_json(const struct target_snapshot *snapshot)
{
	json_t *object = counters_json(&snapshot->total);

	set(object, "tasks_spawned", snapshot->tasks_spawned);
	set(object, "queue_depth", snapshot->queue_depth);
	set(object, "injection_depth", snapshot->injection_depth);
	set(object, "urgent_depth", snapshot->urgent_depth);
	set(object, "jobs_stolen_outside", snapshot->jobs_stolen_outside);
	return object;
}

static json_t *histogram_json(const struct target_snapshot *snapshot,
			      enum figure_histogram which)
{
	struct probes_histogram sum;
	json_t *object = json_object();

	figure_sum(snapshot, which, &sum);
	set(object, "count", figure_total(&sum));
	set(object, "sum_ns", sum.sum_ns);
	set(object, "longest_ns", sum.longest_ns);
	set(object, "p50_ns", figure_quantile(&sum, 0.5));
	set(object, "p90_ns", figure_quantile(&sum, 0.9));
	set(object, "p99_ns", figure_quantile(&sum, 0.99));
	set(object, "p999_ns", figure_quantile(&sum, 0.999));
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
		set(object, "polls", row->polls);
		set(object, "run_ns", row->run_ns);
		set(object, "longest_ns", row->longest_ns);
		set(object, "waits", row->waits);
		set(object, "wait_ns", row->wait_ns);
		set(object, "longest_wait_ns", row->longest_wait_ns);
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
	set(object, "pid", (uint64_t)target_pid(target));
	json_object_set_new(object, "comm", json_string(comm));
	set(object, "abi", runtime->area.abi);
	json_object_set_new(object, "version", json_string(runtime->version));
	set(object, "started_ns", runtime->area.started_ns);
	set(object, "at_ns", snapshot->at_ns);
	set(object, "sample", runtime->area.sample);
	set(object, "stall_limit_ns", runtime->area.stall_limit_ns);
	set(object, "polls_over_limit",
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
	json_t *object = runtime_json(target, runtime, snapshot);
	char *text = json_dumps(object, JSON_COMPACT);
	bool printed = text != NULL;

	if (printed)
		fprintf(file, "%s\n", text);
	free(text);
	json_decref(object);
	return printed;
}
