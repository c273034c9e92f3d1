/* SPDX-License-Identifier: MIT */
/* output.h - measurements as JSON, as text and as a table */
#ifndef SKUA_BENCH_HARNESS_OUTPUT_H
#define SKUA_BENCH_HARNESS_OUTPUT_H

#include <stdio.h>

#include "bench/harness/measure.h"

/* Flags for json_dumpf(): enough digits for figures rounded to two decimals. */
#define OUTPUT_JSON_FLAGS JSON_REAL_PRECISION(12)

/* output_json - return a measurement as an object; NULL: no memory */
json_t *output_json(const struct measurement *m);

/* output_text - print a measurement in a few lines */
void output_text(FILE *file, const struct measurement *m);

/* output_table - print measurements as a table (table.h) */
void output_table(FILE *file, const struct measurement *m, size_t count);

/* output_forkjoin_table - print the cost of forks and the speed-up by workers
 *
 * The table has the measurements that include serial calls (forkjoin.h). Prints
 * nothing if there are none. */
void output_forkjoin_table(FILE *file, const struct measurement *m,
			   size_t count);

/**
 * output_label - write a workload and its options, such as "uts tree=T1 live=256"
 *
 * Return: @text.
 */
const char *output_label(const char *name, json_t *params, char *text,
			 size_t size);

/* output_changed - return those of a workload's options that differ from the defaults,
 * as a new object; NULL: no memory */
json_t *output_changed(const struct workload *workload, json_t *params);

#endif
