/* SPDX-License-Identifier: MIT */
/* compare_output.h - comparisons as tables and as JSON */
#ifndef SKUA_BENCH_REPORT_COMPARE_OUTPUT_H
#define SKUA_BENCH_REPORT_COMPARE_OUTPUT_H

#include <stdio.h>

#include "bench/report/compare.h"

/**
 * compare_print - a table of times, one of latencies, and the missing sides
 *
 * Rows in which skua is slower come first, the slowest of them at the top.
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
