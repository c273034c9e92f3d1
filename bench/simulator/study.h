/* SPDX-License-Identifier: MIT */
/* study.h - compare all policies, and count the reads of searches and wake-ups */
#ifndef SKUA_BENCH_SIMULATOR_STUDY_H
#define SKUA_BENCH_SIMULATOR_STUDY_H

#include <stdio.h>

#include "bench/simulator/case.h"

enum {
	STUDY_LOADS = 5,
	STUDY_POLICIES = 6,
	STUDY_CASES = STUDY_LOADS * STUDY_POLICIES,
	STUDY_SHAPES = 6
};

struct study {
	unsigned seeds;
	struct layout layout;               /* the machine of all cases */
	struct sim_case cases[STUDY_CASES]; /* by load, then by policy */
	struct layout layouts[STUDY_SHAPES];
	struct sim_case costs[STUDY_SHAPES];  /* `runtime` on each of */
	struct sim_case sweeps[STUDY_SHAPES]; /* @layouts, and `tier` */
};

/**
 * study_run - simulate all cases, and print a line on stderr for each load
 * @study: zero, except @seeds; the caller releases it with study_free()
 *
 * Return: 0; -ENOMEM.
 */
int study_run(struct study *study);

void study_free(struct study *study);

/* study_load_name - return the name of a load, such as "even 70 %" */
const char *study_load_name(unsigned load);

/* study_print - print a study as Markdown */
void study_print(FILE *file, const struct study *study);

/* study_json - return the outcome of each case's first seed, and the costs, as an object;
 * NULL: no memory */
json_t *study_json(const struct study *study);

/* study_draw - draw latencies, and the shares of tasks off their nodes, as SVG */
void study_draw(FILE *file, const struct study *study);

#endif
