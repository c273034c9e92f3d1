/* SPDX-License-Identifier: MIT */
/* report.h - make the measurements of a report, and write its files */
#ifndef SKUA_BENCH_REPORT_REPORT_H
#define SKUA_BENCH_REPORT_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "bench/harness/calibrate.h"
#include "bench/report/compare.h"
#include "bench/harness/measure.h"

/**
 * struct report - a report and its results
 * @rounds: rounds of each measurement
 * @only: the workload to measure; NULL: all
 * @case_options: options struct of @only; NULL: the workload's usual ones
 * @results: array with room for @planned measurements, of which @count are done; owned
 * @steals: results of steals_record(), a JSON array, owned
 * @failed: number of measurements that failed, or whose result was wrong
 * @comparison: comparison with the peers; NULL: none
 * @err: negative errno of the first call that failed
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
 * report_measure - make all measurements of a report
 * @report: @rounds, @only, @case_options and @comparison are set, the rest is zero. The
 *          caller releases it with report_free(), also after a failure
 * @peers: folder of the other schedulers' programs; NULL: "peers" beside this
 *         program
 * @quick: fewer alternations
 *
 * Return: 0; -errno, with the reason printed.
 */
int report_measure(struct report *report, const char *peers, bool quick);
void report_free(struct report *report);

/* report_print - print all tables, as Markdown */
void report_print(FILE *file, const struct report *report);

/* report_write - write report.md and report.json into a folder. Return: 0; -EIO, with the
 * reason printed. */
int report_write(const char *folder, const struct report *report);

/**
 * report_write_page - make report.html of the report.json in a folder
 *
 * A program in Python makes it, and gnuplot draws its pictures. If either is missing, a
 * message says so, and the result is still 0. Return: 0; -EIO, with the reason printed.
 */
int report_write_page(const char *folder);

#endif
