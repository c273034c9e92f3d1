/* SPDX-License-Identifier: MIT */
/* top_json.c - print an interval as JSON */
#include <jansson.h>
#include <stdlib.h>

#include "bpf/cli/json.h"
#include "bpf/stats/top.h"
#include "bpf/target/target_text.h"

static json_t *real_or_null(double value)
{
	return value < 0 ? json_null() : json_real(value);
}

static json_t *rates_json(const struct top_rates *rates)
{
	return json_pack("{s:f, s:o, s:f, s:f, s:f, s:f, s:o}", "busy",
			 rates->busy, "on_cpu", real_or_null(rates->on_cpu),
			 "polls_per_s", rates->polls, "spawns_per_s",
			 rates->spawns, "steals_per_s", rates->steals,
			 "parks_per_s", rates->parks, "lifo_hit",
			 real_or_null(rates->lifo));
}

/* The poll that a worker is in; null if it is in none, or in one too short to
 * read. */
static json_t *doing_json(struct target *target, const struct top_poll *poll)
{
	char name[TARGET_NAME], label[TARGET_NAME];

	if (!poll->task || !poll->known)
		return json_null();
	target_name(target, poll->type, poll->poll, name);
	target_text(target, poll->label, label);
	return json_pack("{s:s, s:s?, s:o, s:b, s:o}", "name", name, "label",
			 label[0] ? label : NULL, "ns",
			 json_count(poll->last_ns - poll->first_ns), "longer",
			 poll->begun, "poll", json_count(poll->number));
}

static json_t *workers_json(struct target *target,
			    const struct top_runtime *runtime)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < runtime->worker_count; i++) {
		const struct target_worker *worker = &runtime->after.workers[i];
		struct top_rates rates = top_rates(runtime, i);
		const char *state = figure_state(worker->area.times.state);
		json_t *object = json_pack(
			"{s:i, s:i, s:i, s:s, s:s, s:o, s:o, s:o}", "index",
			(int)i, "cpu", (int)worker->area.cpu, "node",
			(int)worker->area.node, "state", state, "shown_state",
			thread_state(&runtime->threads[i], state),
			"queue_depth", json_count(worker->queue_depth),
			"stalls", json_count(worker->area.counters.stalls),
			"doing", doing_json(target, &runtime->polls[i]));

		json_object_update_new(object, rates_json(&rates));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *totals_json(const struct target_runtime *at,
			   const struct top_runtime *runtime)
{
	struct top_rates rates = top_rates_all(runtime);
	json_t *object = rates_json(&rates);

	json_object_set_new(object, "queue_depth",
			    json_count(runtime->after.queue_depth));
	json_object_set_new(object, "injection_depth",
			    json_count(runtime->after.injection_depth));
	json_object_set_new(object, "urgent_depth",
			    json_count(runtime->after.urgent_depth));
	json_object_set_new(object, "stalls",
			    json_count(runtime->after.total.stalls));
	json_object_set_new(object, "stall_limit_ns",
			    json_count(at->area.stall_limit_ns));
	json_object_set_new(object, "over_limit",
			    json_count(top_over(at, runtime)));
	return object;
}

static json_t *kind_json(struct target *target,
			 const struct top_runtime *runtime,
			 const struct top_kind *kind)
{
	uint64_t longest = kind->rows.longest_ns;
	const struct area_type *rows = &kind->rows;
	char name[TARGET_NAME];
	double part;
	unsigned worker = top_busiest(runtime, kind, &part);

	top_kind_name(target, kind, name);
	if (kind->longest_ns > longest)
		longest = kind->longest_ns;
	return json_pack(
		"{s:s, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:f, s:o}",
		"name", name, "share", top_share(runtime, kind), "polls_per_s",
		real_or_null(top_kind_polls(runtime, kind)), "polls",
		json_count(rows->polls), "mean_ns",
		json_count(rows->polls ? rows->run_ns / rows->polls : 0),
		"longest_ns", json_count(longest), "waits",
		json_count(rows->waits), "mean_wait_ns",
		json_count(rows->waits ? rows->wait_ns / rows->waits : 0),
		"longest_wait_ns", json_count(rows->longest_wait_ns), "worker",
		(int)(kind->in_ns ? kind->in_worker : worker), "worker_share",
		part, "one_poll_ns", json_count(kind->in_ns));
}

static json_t *kinds_json(struct target *target,
			  const struct top_runtime *runtime)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < runtime->kind_count; i++)
		if (runtime->kinds[i].looks > 0 ||
		    runtime->kinds[i].rows.polls > 0)
			json_array_append_new(
				array,
				kind_json(target, runtime, &runtime->kinds[i]));
	return array;
}

static json_t *histogram_json(const struct top_runtime *runtime,
			      enum figure_histogram which)
{
	struct probes_histogram sum, before;

	figure_sum(&runtime->after, which, &sum);
	figure_sum(&runtime->before, which, &before);
	figure_since(&sum, &before);
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "count",
			 json_count(figure_total(&sum)), "p50_ns",
			 json_count(figure_quantile(&sum, 0.5)), "p90_ns",
			 json_count(figure_quantile(&sum, 0.9)), "p99_ns",
			 json_count(figure_quantile(&sum, 0.99)), "p999_ns",
			 json_count(figure_quantile(&sum, 0.999)));
}

static json_t *runtime_json(struct target *target,
			    const struct target_runtime *at,
			    const struct top_runtime *runtime)
{
	json_t *histograms = json_object();
	uint32_t rank = target_rank(target);
	char comm[TARGET_NAME];

	for (unsigned i = 0; i < FIGURE_HISTOGRAMS; i++)
		json_object_set_new(histograms, figure_histogram_names[i],
				    histogram_json(runtime, i));
	target_comm(target, comm);
	return json_pack(
		"{s:o, s:s, s:o, s:s, s:o, s:o, s:f, s:o, s:o, s:o, "
		"s:o, s:o, s:o, s:o}",
		"pid", json_count((uint64_t)target_pid(target)), "comm", comm,
		"abi", json_count(at->area.abi), "version", at->version,
		"started_ns", json_count(at->area.started_ns), "at_ns",
		json_count(runtime->after.at_ns), "interval_s",
		top_rates_all(runtime).seconds, "looks",
		json_count(runtime->looks), "workers",
		workers_json(target, runtime), "totals",
		totals_json(at, runtime), "types", kinds_json(target, runtime),
		"histograms", histograms, "rank",
		rank == TARGET_NO_RANK ? json_null() : json_count(rank),
		"runtime", json_count(at->address));
}

bool top_json(FILE *file, struct target *target,
	      const struct target_runtime *at,
	      const struct top_runtime *runtime)
{
	return json_print(file, runtime_json(target, at, runtime), 6);
}
