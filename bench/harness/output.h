/* SPDX-License-Identifier: MIT */
/* output.h - measurements as JSON, as text and as a table */
#ifndef SKUA_BENCH_HARNESS_OUTPUT_H
#define SKUA_BENCH_HARNESS_OUTPUT_H

#include <stdio.h>

#include "bench/harness/measure.h"

/* Flags for json_dumpf(): enough digits for figures rounded to two decimals. */
#define OUTPUT_JSON_FLAGS JSON_REAL_PRECISION(12)

/* output_json - a measurement as an object; NULL: no memory */
json_t *output_json(const struct measurement *m);

/* output_text - a measurement in a few lines */
void output_text(FILE *file, const struct measurement *m);

/* output_table - measurements in a table (table.h) */
void output_table(FILE *file, const struct measurement *m, size_t count);

/* output_forkjoin_table - the cost of a fork and the gain from workers, of the
 * measurements that have serial calls (forkjoin.h), if there are any */
void output_forkjoin_table(FILE *file, const struct measurement *m,
			   size_t count);

/**
 * output_label - "uts tree=T1 live=256": the workload and its options
 *
 * Return: @text.
 */
const char *output_label(const char *name, json_t *params, char *text,
			 size_t size);

/* output_changed - a workload's options that differ from the defaults, as a new
 * object; NULL: no memory */
json_t *output_changed(const struct workload *workload, json_t *params);

#endif
