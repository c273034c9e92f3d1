/* SPDX-License-Identifier: MIT */
/* report_diff_output.h - print the changes, as text and as JSON */
#ifndef SKUA_BENCH_REPORT_DIFF_REPORT_DIFF_OUTPUT_H
#define SKUA_BENCH_REPORT_DIFF_REPORT_DIFF_OUTPUT_H

#include "bench/report/diff/report_diff.h"

/* report_diff_remarks - notes beside the figures: machines and builds that differ, and
 * rows and figures in only one file. Return: an array of lines, owned by the caller */
json_t *report_diff_remarks(const struct report_diff *diff,
			    json_t *const files[2]);

/* report_diff_print - print a table of the changes, or of @all figures, on stdout */
void report_diff_print(const struct report_diff *diff, json_t *lines, bool all);

/* report_diff_json - all of it as an object; NULL: a name is no UTF-8, or no memory */
json_t *report_diff_json(const struct report_diff *diff, json_t *lines);

#endif
