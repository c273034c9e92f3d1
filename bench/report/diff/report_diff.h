/* SPDX-License-Identifier: MIT */
/**
 * report_diff.h - the changes from one report to another, beyond noise
 *
 * A row is a workload with its options, workers, and peer. A run is one process. Each
 * figure of a row has a value for every round of all quiet runs, or of all runs if
 * none was quiet:
 *
 * - "ns_per_op", the time of an operation; the medians of the runs if a file has no
 *   times of rounds;
 * - "latency_ns.p50", ".p99" and ".p999", and those of other distributions: the
 *   percentiles of a round that has 1, 100 and 1,000 times or more, so that they
 *   are not just the longest. A median that is the time of an operation is not
 *   there twice. p90 lies between two of these, and each further figure makes
 *   the others harder to judge; a round has too few times for p9999;
 * - "instructions" of an operation; those of the runs if a file has none of rounds.
 *   Not of a workload with latencies: there they depend on how long it waits.
 *
 * A figure has changed if
 *
 * - its medians differ by at least a limit, which doubles if either file has a
 *   single run of it: the difference between runs is unknown then. For instructions
 *   it is known, 3 % at most (tests/budget);
 * - the values differ more than chance explains (mann_whitney.h, corrected for all figures
 *   of all rows that have enough values to tell);
 * - the medians of the runs differ in the same way; where there are too few runs to
 *   tell, no run of the one file has a median within the range of the other's; and
 * - each file has a run during which the machine was quiet.
 *
 * Files are hostile: any content is read or refused.
 */
#ifndef SKUA_BENCH_REPORT_DIFF_REPORT_DIFF_H
#define SKUA_BENCH_REPORT_DIFF_REPORT_DIFF_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* The format of report.json. A later skua-bench may write a greater number. */
#define REPORT_DIFF_FORMAT 1

/* The figure that every row has. */
#define REPORT_DIFF_TIME "ns_per_op"

#define REPORT_DIFF_INSTRUCTIONS "instructions"

/* The probability that chance changes any figure. */
#define REPORT_DIFF_SIGNIFICANCE 0.05

/**
 * report_diff_read - the runs of a file
 * @text: the file: a report.json or the output of run --json, or several of them
 * @out: receives {"machine": {member: [all its values]}, "loop_ns": of the
 *       calibration or 0, "rows": {key: {"workload","params","workers","peer" or
 *       null, "runs": [{"figures": {name: [values]},"noisy","ok"}], "figures": {those
 *       of any run}}}}, owned
 * @why: receives a line on failure
 *
 * Return: 0; -EINVAL (it is no such file); -ENOMEM.
 */
int report_diff_read(const char *text, size_t length, json_t **out, char *why,
		     size_t size);

enum change_verdict {
	CHANGE_WRONG, /* a result of the second was wrong */
	CHANGE_SLOWER,
	CHANGE_FASTER,
	CHANGE_SAME,  /* no change beyond noise */
	CHANGE_FEW,   /* too few values to tell */
	CHANGE_NOISY, /* it may be the machine */
	CHANGE_VERDICTS
};

/**
 * struct change - a figure of a row that both files have
 * @row: the row of the second file, borrowed: "workload", "params" and so on
 * @figure: its name, borrowed; a wrong row has REPORT_DIFF_TIME alone, without values
 * @median: medians of both files
 * @values: numbers of values in both files
 * @by: the second median divided by the first, minus 1
 * @p, @corrected: as in mann_whitney.h; the latter 1 for those with too few values
 * @runs: numbers of runs in both files
 * @runs_p: as @p, for the medians of the runs
 * @single: either file has a single run of the row
 */
struct change {
	json_t *row;
	const char *figure;
	double median[2];
	size_t values[2];
	double by;
	double p;
	double corrected;
	size_t runs[2];
	double runs_p;
	bool single;
	enum change_verdict verdict;
};

/**
 * struct report_diff - all figures of all rows
 * @change: array, owned, ordered by verdict, and within a verdict by size, largest
 *          first
 * @rows: number of rows in both files
 * @only: arrays of the rows in the first file only, and in the second only, owned; a
 *        wrong row in the second only is a change as well
 * @figures: of rows in both files: objects with the names of figures in the first
 *           file only, and in the second only, owned
 */
struct report_diff {
	struct change *change;
	size_t count;
	size_t counts[CHANGE_VERDICTS];
	size_t rows;
	json_t *only[2];
	json_t *figures[2];
};

/**
 * report_diff_find - compare two files
 * @files: of report_diff_read(), borrowed for as long as @out is used
 * @least: the smallest change: 0.05 is 5 percent
 *
 * Return: 0; -ENOMEM. report_diff_free() it.
 */
int report_diff_find(struct report_diff *out, json_t *const files[2],
		     double least);
void report_diff_free(struct report_diff *diff);

/* report_diff_judged - number of figures with a verdict of slower, faster or the same */
size_t report_diff_judged(const struct report_diff *diff);

/* report_diff_word - "slower" and so on */
const char *report_diff_word(enum change_verdict verdict);

#endif
