/* SPDX-License-Identifier: MIT */
/**
 * steals.h - count the steals between workers in one round
 *
 * The round runs with the recorder on (skua/record.h), and the steals among its events
 * are counted. Recording takes time; therefore this is an additional round, which is not
 * measured.
 */
#ifndef SKUA_BENCH_REPORT_STEALS_H
#define SKUA_BENCH_REPORT_STEALS_H

#include "bench/harness/workload.h"

/**
 * steals_record - run one round of a workload, recorded, and count its steals
 * @workload: the workload
 * @options: its options struct
 * @workers: number of workers, two or more
 *
 * Return: {"workload","params","workers","events","lost","cut","steals":[[thief, victim,
 * how often, tasks, jobs], ...],"jobs_stolen_outside"}, a new reference. A victim is null
 * if it was an external thread. "cut" is true if there were too many events to record the
 * whole round. If nothing could be recorded: {"workload","params","workers","reason"}.
 * NULL if there is no memory.
 */
json_t *steals_record(const struct workload *workload, const void *options,
		      unsigned workers);

#endif
