/* SPDX-License-Identifier: MIT */
/* case.h - the cases of the report, each with several seeds */
#ifndef SKUA_BENCH_SIMULATOR_CASE_H
#define SKUA_BENCH_SIMULATOR_CASE_H

#include <jansson.h>

#include "bench/simulator/policy.h"
#include "bench/simulator/simulation.h"

enum { CASE_SEEDS = 5 };

/* A figure over the seeds. */
struct figure {
	double median, min, max;
};

struct sim_case {
	struct plan plan; /* its seed is the first */
	unsigned seeds;
	unsigned workers, groups;
	struct figure p99_us; /* of a tree: its time divided by the ideal */
	struct figure away;   /* share of the tasks that ran off their node */
	struct figure longer; /* time of tasks divided by their time at home */
	struct outcome first; /* of the first seed */
};

/* case_workload_name - "even" */
const char *case_workload_name(enum workload_kind kind);

/* case_workload_find - the kind of that name; WORKLOAD_KINDS: there is none */
enum workload_kind case_workload_find(const char *name);

/* case_defaults - a plan of a workload, as the report has it, without @layout and
 * @policy */
struct plan case_defaults(enum workload_kind kind, unsigned percent);

/* case_time_by_ideal - the time of a tree divided by the least possible */
double case_time_by_ideal(const struct plan *plan, const struct outcome *o);

/* case_away - the share of tasks that ran off their node */
double case_away(const struct outcome *o);

/* case_run - simulate @c->plan with @c->seeds seeds. Return: 0; -ENOMEM. */
int case_run(struct sim_case *c);

/* case_json - an outcome as an object; NULL: no memory */
json_t *case_json(const struct plan *plan, const struct outcome *o);

#endif
