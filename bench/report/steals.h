/* SPDX-License-Identifier: MIT */
/**
 * steals.h - the steals between workers in one round
 *
 * The round runs with the recorder on (skua/record.h), and its events are counted.
 * Recording takes time, so this is a further round that is not measured.
 */
#ifndef SKUA_BENCH_REPORT_STEALS_H
#define SKUA_BENCH_REPORT_STEALS_H

#include "bench/harness/workload.h"

/**
 * steals_record - run a workload, recorded
 * @workload, @options: what
 * @workers: two or more
 *
 * Return: {"workload","params","workers","events","lost","cut","steals":[[thief,
 * victim, how often, tasks, jobs], ...],"jobs_stolen_outside"}; a victim is null
 * if it was a thread outside, and "cut" means that so much was noted that not the
 * whole round is there. Or {"workload","params","workers","reason"}: why nothing
 * is known. NULL if there is no memory.
 */
json_t *steals_record(const struct workload *workload, const void *options,
		      unsigned workers);

#endif
