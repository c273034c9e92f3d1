/* SPDX-License-Identifier: MIT */
/* report.h - measure a report, and write its files */
#ifndef SKUA_BENCH_REPORT_REPORT_H
#define SKUA_BENCH_REPORT_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "bench/harness/calibrate.h"
#include "bench/report/compare.h"
#include "bench/harness/measure.h"

/**
 * struct report
 * @rounds: rounds of each measurement
 * @only: the workload that is measured; NULL: all
 * @case_options: its options; NULL: those of any report
 * @results: array, owned; @count of @planned
 * @steals: what steals_record() said, a JSON array, owned
 * @failed: number of measurements that failed, or whose result was wrong
 * @comparison: NULL: without peers
 * @err: of the first call that failed
 */
struct report {
	unsigned rounds;
	const struct workload *only;
	const void *case_options;
	struct calibration calibration;
	struct measurement *results;
	size_t count;
	size_t planned;
	json_t *steals;
	unsigned failed;
	struct comparison *comparison;
	int err;
};

/**
 * report_measure - measure all that belongs in a report
 * @report: @rounds, @only, @case_options and @comparison are set, the rest is zero;
 *          report_free() it, also after a failure
 * @peers: folder of the other schedulers' programs; NULL: "peers" beside this
 *         program
 * @quick: fewer alternations
 *
 * Return: 0; -errno, and why is printed.
 */
int report_measure(struct report *report, const char *peers, bool quick);
void report_free(struct report *report);

/* report_print - all tables, as Markdown */
void report_print(FILE *file, const struct report *report);

/* report_write - report.md and report.json in a folder. Return: 0; -EIO, and why is
 * printed */
int report_write(const char *folder, const struct report *report);

/**
 * report_write_page - make report.html of the report.json in a folder
 *
 * A program in Python makes it, and gnuplot draws its pictures. If either is missing,
 * a message says so, and that is no failure. Return: 0; -EIO, and why is printed.
 */
int report_write_page(const char *folder);

#endif
