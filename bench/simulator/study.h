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
	struct layout layout;               /* of the cases */
	struct sim_case cases[STUDY_CASES]; /* by load, then by policy */
	struct layout layouts[STUDY_SHAPES];
	struct sim_case costs[STUDY_SHAPES];  /* of the runtime's, */
	struct sim_case sweeps[STUDY_SHAPES]; /* and of `tier` */
};

/**
 * study_run - simulate all of it, with a line on stderr for each load
 * @study: its seeds are set; to be given to study_free()
 *
 * Return: 0; -ENOMEM.
 */
int study_run(struct study *study);

void study_free(struct study *study);

/* study_load_name - "even 70 %" */
const char *study_load_name(unsigned load);

/* study_print - as Markdown */
void study_print(FILE *file, const struct study *study);

/* study_json - all outcomes of first seeds, and the costs; NULL: no memory */
json_t *study_json(const struct study *study);

/* study_draw - as SVG: latencies, and shares of tasks off their nodes */
void study_draw(FILE *file, const struct study *study);

#endif
