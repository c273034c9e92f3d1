/* SPDX-License-Identifier: MIT */
/* report_diff_output.h - what changed, for people and for programs */
#ifndef SKUA_BENCH_REPORT_DIFF_REPORT_DIFF_OUTPUT_H
#define SKUA_BENCH_REPORT_DIFF_REPORT_DIFF_OUTPUT_H

#include "bench/report/diff/report_diff.h"

/* report_diff_remarks - what to know beside the figures: an array of lines, owned by the
 * caller: machines and builds that differ, and what only one file has */
json_t *report_diff_remarks(const struct report_diff *diff,
			    json_t *const files[2]);

/* report_diff_print - a table of what changed, or of @all, on stdout */
void report_diff_print(const struct report_diff *diff, json_t *lines, bool all);

/* report_diff_json - all as an object; NULL: a name is no UTF-8, or no memory */
json_t *report_diff_json(const struct report_diff *diff, json_t *lines);

#endif
