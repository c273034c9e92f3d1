/* SPDX-License-Identifier: MIT */
/* report_diff_output.h - print the changes, as text and as JSON */
#ifndef SKUA_BENCH_REPORT_DIFF_REPORT_DIFF_OUTPUT_H
#define SKUA_BENCH_REPORT_DIFF_REPORT_DIFF_OUTPUT_H

#include "bench/report/diff/report_diff.h"

/* report_diff_remarks - collect remarks: differences of machine and build, and rows and
 * figures that only one file has. Return: an array of lines, owned by the caller. */
json_t *report_diff_remarks(const struct report_diff *diff,
			    json_t *const files[2]);

/* report_diff_print - print a table of the changes, or, if @all, of all figures, on
 * stdout */
void report_diff_print(const struct report_diff *diff, json_t *lines, bool all);

/* report_diff_json - return the whole comparison as an object; NULL: a name is not valid
 * UTF-8, or there is no memory */
json_t *report_diff_json(const struct report_diff *diff, json_t *lines);

#endif
