/* SPDX-License-Identifier: MIT */
/* case.c - see case.h */
#include "bench/simulator/case.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[WORKLOAD_KINDS] = {
	[WORKLOAD_EVEN] = "even",       [WORKLOAD_SKEW] = "skew",
	[WORKLOAD_SINGLE] = "single",   [WORKLOAD_BURST] = "burst",
	[WORKLOAD_OUTSIDE] = "outside", [WORKLOAD_TREE] = "tree",
	[WORKLOAD_ONCE] = "once",
};

const char *case_workload_name(enum workload_kind kind)
{
	return names[kind];
}

enum workload_kind case_workload_find(const char *name)
{
	unsigned kind = 0;

	while (kind < WORKLOAD_KINDS && strcmp(names[kind], name) != 0)
		kind++;
	return (enum workload_kind)kind;
}

struct plan case_defaults(enum workload_kind kind, unsigned percent)
{
	struct plan plan = {
		.tuning = TUNING_DEFAULT,
		.wake_by_group = true,
		.workload = kind,
		.percent = percent,
		.children = 2,
		.service_ns = 5000,
		.duration_ns = 2000000,
		.seed = 1,
	};

	if (kind == WORKLOAD_TREE) {
		plan.depth = 17;
		plan.service_ns = 2000;
	} else if (kind == WORKLOAD_ONCE) {
		plan.depth = 1;
		plan.children = 1000;
		plan.service_ns = 20000;
	}
	return plan;
}

/* ---- figures ------------------------------------------------------------------------ */

double case_time_by_ideal(const struct plan *plan, const struct outcome *o)
{
	return (double)o->end_ns * plan->layout->groups.worker_count /
	       (double)o->home_ns;
}

double case_away(const struct outcome *o)
{
	return o->done == 0 ? 0 : (double)o->done_away / (double)o->done;
}

static double longer(const struct outcome *o)
{
	return o->home_ns == 0 ? 1 : (double)o->work_ns / (double)o->home_ns;
}

static double late(const struct plan *plan, const struct outcome *o)
{
	if (plan->workload == WORKLOAD_TREE)
		return case_time_by_ideal(plan, o);
	return (double)histogram_percentile(&o->latencies, 99) / 1000;
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static struct figure figure_of(double *values, unsigned count)
{
	qsort(values, count, sizeof(*values), compare);
	return (struct figure){ values[count / 2], values[0],
				values[count - 1] };
}

int case_run(struct sim_case *c)
{
	double p99_us[CASE_SEEDS], away[CASE_SEEDS], times[CASE_SEEDS];
	static struct outcome next;
	int code = 0;

	c->workers = c->plan.layout->groups.worker_count;
	c->groups = c->plan.layout->groups.count;
	for (unsigned i = 0; !code && i < c->seeds; i++) {
		struct outcome *o = i == 0 ? &c->first : &next;
		struct plan plan = c->plan;

		plan.seed += i;
		code = simulation_run(&plan, o);
		p99_us[i] = late(&plan, o);
		away[i] = case_away(o);
		times[i] = longer(o);
	}
	if (code)
		return code;
	c->p99_us = figure_of(p99_us, c->seeds);
	c->away = figure_of(away, c->seeds);
	c->longer = figure_of(times, c->seeds);
	return 0;
}

/* ---- JSON ---------------------------------------------------------------------------- */

static double mean(uint64_t sum, uint64_t times)
{
	return times == 0 ? 0 : (double)sum / (double)times;
}

static json_t *reads_json(const struct reads *r)
{
	return json_pack(
		"{s:I, s:f, s:f, s:i, s:i}", "times", (json_int_t)r->times,
		"lines", mean(r->lines, r->times), "queues",
		mean(r->queues, r->times), "most_lines", (int)r->most_lines,
		"most_queues", (int)r->most_queues);
}

static json_t *counts_json(const uint64_t *counts)
{
	json_t *array = json_array();

	for (unsigned tier = 0; tier < TIERS; tier++)
		json_array_append_new(array,
				      json_integer((json_int_t)counts[tier]));
	return array;
}

/* By step of the wake chain: the groups that it reached, and when it reached the
 * last of them. */
static json_t *chain_json(const struct outcome *o)
{
	json_t *array = json_array();

	for (unsigned step = 0; step < SIM_STEPS; step++) {
		const struct sim_step *at = &o->chain[step];

		if (at->groups > 0)
			json_array_append_new(
				array,
				json_pack("{s:i, s:i, s:I}", "step", (int)step,
					  "groups", (int)at->groups, "last_ns",
					  (json_int_t)at->last_ns));
	}
	return array;
}

static json_t *params_json(const struct plan *plan)
{
	return json_pack(
		"{s:s, s:s, s:i, s:i, s:i, s:I, s:i, s:I, s:I}", "policy",
		plan->policy->name, "workload",
		case_workload_name(plan->workload), "workers",
		(int)plan->layout->groups.worker_count, "groups",
		(int)plan->layout->groups.count, "load_percent",
		(int)plan->percent, "service_ns", (json_int_t)plan->service_ns,
		"depth", (int)plan->depth, "duration_ns",
		(json_int_t)plan->duration_ns, "seed", (json_int_t)plan->seed);
}

json_t *case_json(const struct plan *plan, const struct outcome *o)
{
	json_t *object = json_pack(
		"{s:o, s:I, s:I, s:I, s:I, s:f, s:f, s:o, s:o, s:I, s:I}",
		"params", params_json(plan), "arrived", (json_int_t)o->arrived,
		"done", (json_int_t)o->done, "left", (json_int_t)o->left,
		"end_ns", (json_int_t)o->end_ns, "away", case_away(o), "longer",
		longer(o), "steals", counts_json(o->steals), "moved",
		counts_json(o->moved), "parks", (json_int_t)o->parks, "wakes",
		(json_int_t)o->wakes);

	if (object == NULL)
		return NULL;
	if (plan->workload == WORKLOAD_TREE)
		json_object_set_new(object, "time_by_ideal",
				    json_real(case_time_by_ideal(plan, o)));
	else
		json_object_set_new(object, "latency_ns",
				    histogram_json(&o->latencies));
	json_object_set_new(object, "failed_rounds", reads_json(&o->failed));
	json_object_set_new(object, "told_rounds", reads_json(&o->told));
	json_object_set_new(object, "before_sleep", reads_json(&o->sleeping));
	json_object_set_new(object, "handed_over", reads_json(&o->handed));
	json_object_set_new(object, "wake_looks", reads_json(&o->checked));
	json_object_set_new(object, "wakes_read", reads_json(&o->woken));
	if (plan->workload == WORKLOAD_ONCE)
		json_object_set_new(object, "chain", chain_json(o));
	if (o->injected > 0)
		json_object_set_new(
			object, "lines_elsewhere",
			json_real(mean(o->lines_elsewhere, o->injected)));
	return object;
}
