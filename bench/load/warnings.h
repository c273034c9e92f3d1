/* SPDX-License-Identifier: MIT */
/* warnings.h - reasons why figures may describe the generator, or mislead */
#ifndef SKUA_BENCH_LOAD_WARNINGS_H
#define SKUA_BENCH_LOAD_WARNINGS_H

#include "bench/load/drive.h"

#define WARNINGS_MAX 7

struct warnings {
	unsigned count;
	char text[WARNINGS_MAX][200];
};

/* warnings_find - list the warnings about a run */
void warnings_find(const struct drive *drive, struct warnings *out);

#endif
