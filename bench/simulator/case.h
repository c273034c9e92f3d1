/* SPDX-License-Identifier: MIT */
/* case.h - run a case of the report with several seeds */
#ifndef SKUA_BENCH_SIMULATOR_CASE_H
#define SKUA_BENCH_SIMULATOR_CASE_H

#include <jansson.h>

#include "bench/simulator/policy.h"
#include "bench/simulator/simulation.h"

enum { CASE_SEEDS = 5 };

/* A figure of a case, over its seeds. */
struct figure {
	double median, min, max;
};

struct sim_case {
	struct plan plan; /* its seed is the first of @seeds */
	unsigned seeds;
	unsigned workers, groups;
	struct figure p99_us; /* for a tree: time divided by the ideal */
	struct figure away;   /* share of tasks that ran off their node */
	struct figure longer; /* time of tasks divided by that at home */
	struct outcome first; /* outcome of the first seed */
};

/* case_workload_name - return the name of a kind, such as "even" */
const char *case_workload_name(enum workload_kind kind);

/* case_workload_find - return the kind with this name; WORKLOAD_KINDS: there is none */
enum workload_kind case_workload_find(const char *name);

/* case_defaults - return the report's plan for a workload; the caller sets @layout and
 * @policy */
struct plan case_defaults(enum workload_kind kind, unsigned percent);

/* case_time_by_ideal - return the time of a tree divided by the least possible time */
double case_time_by_ideal(const struct plan *plan, const struct outcome *o);

/* case_away - return the share of tasks that ran off their home node */
double case_away(const struct outcome *o);

/* case_run - simulate @c->plan with @c->seeds seeds. Return: 0; -ENOMEM. */
int case_run(struct sim_case *c);

/* case_json - return an outcome as an object; NULL: no memory */
json_t *case_json(const struct plan *plan, const struct outcome *o);

#endif
