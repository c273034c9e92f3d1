/* SPDX-License-Identifier: MIT */
/* changes_output.h - what changed, for people and for programs */
#ifndef SKUA_BENCH_REPORT_DIFF_CHANGES_OUTPUT_H
#define SKUA_BENCH_REPORT_DIFF_CHANGES_OUTPUT_H

#include "bench/report/diff/changes.h"

/* changes_remarks - what to know beside the figures: an array of lines, owned by the
 * caller: machines and builds that differ, and what only one file has */
json_t *changes_remarks(const struct changes *changes, json_t *const files[2]);

/* changes_print - a table of what changed, or of @all, on stdout */
void changes_print(const struct changes *changes, json_t *lines, bool all);

/* changes_json - all as an object; NULL: a name is no UTF-8, or no memory */
json_t *changes_json(const struct changes *changes, json_t *lines);

#endif
