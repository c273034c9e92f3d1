/* SPDX-License-Identifier: MIT */
/* output.h - print the figures of a load */
#ifndef SKUA_BENCH_LOAD_OUTPUT_H
#define SKUA_BENCH_LOAD_OUTPUT_H

#include <stdbool.h>

#include "bench/load/drive.h"
#include "bench/load/options.h"

/* output_ok - return whether all replies were right and no connection was lost */
bool output_ok(const struct drive *drive);

/* output_text, output_json - print the figures */
void output_text(const struct drive *drive, const struct options *options);
void output_json(const struct drive *drive, const struct options *options);

#endif
