/* SPDX-License-Identifier: MIT */
/* compare_output.h - print comparisons as tables and as JSON */
#ifndef SKUA_BENCH_REPORT_COMPARE_OUTPUT_H
#define SKUA_BENCH_REPORT_COMPARE_OUTPUT_H

#include <stdio.h>

#include "bench/report/compare.h"

/**
 * compare_print - print tables of times, latencies and slowdowns, and the missing sides
 *
 * In each table, rows in which skua is slower come first, with the greatest ratio at the
 * top.
 */
void compare_print(FILE *file, const struct comparison *comparison);

/**
 * compare_add_json - add the members "peers", "skua_runs", "comparisons" and
 * "calibration" to a report
 *
 * Return: 0; -ENOMEM.
 */
int compare_add_json(json_t *report, const struct comparison *comparison);

#endif
