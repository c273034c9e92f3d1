/* SPDX-License-Identifier: MIT */
/* published.h - figures of schedulers that no package provides */
#ifndef SKUA_BENCH_REPORT_PUBLISHED_H
#define SKUA_BENCH_REPORT_PUBLISHED_H

#include <stdbool.h>
#include <stdio.h>

/**
 * published_print - print the figures that the report cannot measure
 * @compared: whether the comparison has the workload of that name
 * @of: given to @compared
 *
 * They were measured once, on another machine: for each there is a figure of skua
 * from the same runs. Then it names the schedulers that are not run, and says
 * why.
 */
void published_print(FILE *file,
		     bool (*compared)(const void *of, const char *workload),
		     const void *of);

#endif
