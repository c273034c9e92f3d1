/* SPDX-License-Identifier: MIT */
/* study.c - see study.h */
#include "bench/simulator/study.h"

/* The loads of the report. README.md describes the workloads. */
static const struct background_load {
	enum workload_kind workload;
	unsigned percent;
	const char *name;
} loads[STUDY_LOADS] = {
	{ WORKLOAD_EVEN, 70, "even 70 %" },
	{ WORKLOAD_EVEN, 90, "even 90 %" },
	{ WORKLOAD_SKEW, 60, "skew 60 %" },
	{ WORKLOAD_BURST, 70, "burst 70 %" },
	{ WORKLOAD_TREE, 100, "tree" },
};

static const struct shape whole = { 2, 4, 8, 8, 2 };

/* Shapes with the same number of workers in few and in many groups, and with
 * different numbers of workers in the same number of groups. */
static const struct shape shapes[STUDY_SHAPES] = {
	{ 1, 1, 4, 8, 2 }, { 1, 4, 4, 2, 2 },  { 1, 2, 2, 32, 2 },
	{ 1, 4, 4, 8, 2 }, { 2, 2, 4, 32, 2 }, { 2, 4, 8, 8, 2 },
};

const char *study_load_name(unsigned load)
{
	return loads[load].name;
}

static int run_load(struct study *study, unsigned load)
{
	int code = 0;

	for (unsigned p = 0; !code && p < STUDY_POLICIES; p++) {
		struct sim_case *c = &study->cases[load * STUDY_POLICIES + p];

		c->plan = case_defaults(loads[load].workload,
					loads[load].percent);
		c->plan.layout = &study->layout;
		c->plan.policy = policies[p];
		c->seeds = study->seeds;
		code = case_run(c);
	}
	fprintf(stderr, "[%u/%u] %s, %u workers, %u policies\n", load + 1,
		STUDY_LOADS + 1, loads[load].name,
		study->layout.groups.worker_count, STUDY_POLICIES);
	return code;
}

static int run_cost(const struct layout *layout, struct sim_case *c,
		    const struct policy *policy)
{
	c->plan = case_defaults(WORKLOAD_SKEW, 50);
	c->plan.layout = layout;
	c->plan.policy = policy;
	c->plan.duration_ns /= 4;
	c->seeds = 1;
	return case_run(c);
}

static int run_costs(struct study *study)
{
	int code = 0;

	for (unsigned i = 0; !code && i < STUDY_SHAPES; i++) {
		code = layout_make(&study->layouts[i], &shapes[i]);
		if (!code)
			code = run_cost(&study->layouts[i], &study->costs[i],
					&policy_runtime);
		if (!code)
			code = run_cost(&study->layouts[i], &study->sweeps[i],
					&policy_tier);
	}
	fprintf(stderr, "[%u/%u] what is read, %u machines\n", STUDY_LOADS + 1,
		STUDY_LOADS + 1, STUDY_SHAPES);
	return code;
}

int study_run(struct study *study)
{
	int code = layout_make(&study->layout, &whole);

	for (unsigned load = 0; !code && load < STUDY_LOADS; load++)
		code = run_load(study, load);
	return code ? code : run_costs(study);
}

void study_free(struct study *study)
{
	layout_free(&study->layout);
	for (unsigned i = 0; i < STUDY_SHAPES; i++)
		layout_free(&study->layouts[i]);
}

json_t *study_json(const struct study *study)
{
	json_t *cases = json_array(), *costs = json_array();

	for (unsigned i = 0; i < STUDY_CASES; i++)
		json_array_append_new(cases, case_json(&study->cases[i].plan,
						       &study->cases[i].first));
	for (unsigned i = 0; i < STUDY_SHAPES; i++)
		json_array_append_new(costs, case_json(&study->costs[i].plan,
						       &study->costs[i].first));
	return json_pack("{s:o, s:o}", "cases", cases, "costs", costs);
}
