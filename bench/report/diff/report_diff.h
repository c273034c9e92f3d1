/* SPDX-License-Identifier: MIT */
/**
 * report_diff.h - find the changes from one report to another that are beyond noise
 *
 * A row is a workload with its options, workers, and peer. A run is one process. A figure
 * of a row has one value for each round of its quiet runs, or of all runs if none was
 * quiet. The figures are:
 *
 * - "ns_per_op", the time of an operation. If a file has no times of rounds, the values
 *   are the medians of the runs.
 * - "latency_ns.p50", ".p99" and ".p999", and those of other distributions. A round needs
 *   1, 100 and 1,000 times for these, so that the percentile is not just the longest
 *   time. A median that is also "ns_per_op" is not compared twice. p90 is left out
 *   because it lies between two others, and each further figure makes the others harder
 *   to judge; p9999, because a round has too few times.
 * - "instructions" of an operation. If a file has no numbers for rounds, the values are
 *   those of the runs. Left out for a workload with latencies, where they depend on how
 *   long it waits.
 *
 * A figure has changed if all of these hold:
 *
 * - The medians of the two files differ by at least a limit. The limit doubles if either
 *   file has a single run, because the difference between runs is unknown then. It does
 *   not double for instructions, which are known to differ by at most 3 % (tests/budget).
 * - The values differ more than chance explains (mann_whitney.h, corrected for all
 *   figures of all rows that have enough values to tell).
 * - The medians of the runs differ more than chance explains. If there are too few runs to
 *   tell, the range of one file's medians must not overlap that of the other's.
 * - Each file has a run during which the machine was quiet.
 *
 * A file may have any content, also a hostile one: it is either read or refused.
 */
#ifndef SKUA_BENCH_REPORT_DIFF_REPORT_DIFF_H
#define SKUA_BENCH_REPORT_DIFF_REPORT_DIFF_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* The format of report.json. A later version may write a greater number. */
#define REPORT_DIFF_FORMAT 1

/* The figure that every row has. */
#define REPORT_DIFF_TIME "ns_per_op"

#define REPORT_DIFF_INSTRUCTIONS "instructions"

/* The greatest probability that chance alone makes any figure count as
 * changed. */
#define REPORT_DIFF_SIGNIFICANCE 0.05

/**
 * report_diff_read - read all runs of a file
 * @text: content of the file: a report.json or the output of `run --json`, or several of
 *        these, concatenated
 * @out: receives an object, owned by the caller: {"machine": {member: [all its values]},
 *       "loop_ns": best time of the calibration loop or 0, "rows": {key: {"workload",
 *       "params", "workers", "peer" or null, "runs": [{"figures": {name: [values]},
 *       "noisy", "ok"}], "figures": {names of the figures of all runs}}}}
 * @why: on failure, receives the reason, one line
 *
 * Return: 0; -EINVAL (the content is neither); -ENOMEM.
 */
int report_diff_read(const char *text, size_t length, json_t **out, char *why,
		     size_t size);

enum change_verdict {
	CHANGE_WRONG, /* a result in the second file was wrong */
	CHANGE_SLOWER,
	CHANGE_FASTER,
	CHANGE_SAME,  /* no change beyond noise */
	CHANGE_FEW,   /* too few values to tell */
	CHANGE_NOISY, /* a busy machine may have caused it */
	CHANGE_VERDICTS
};

/**
 * struct change - a figure of a row that both files have
 * @row: the row in the second file, borrowed: "workload", "params" and so on
 * @figure: name of the figure, borrowed; a row with a wrong result has REPORT_DIFF_TIME
 *          alone, without values
 * @median: median of the values in each file
 * @values: number of values in each file
 * @by: the second median divided by the first, minus 1
 * @p: result of mann_whitney_test() for the values
 * @corrected: @p after mann_whitney_holm(); 1 for a figure with too few values
 * @runs: number of runs in each file
 * @runs_p: result of mann_whitney_test() for the medians of the runs
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
 * struct report_diff - the comparison of two files
 * @change: array of all figures of all rows, owned; ordered by verdict, and within a
 *          verdict by size, largest first
 * @rows: number of rows that both files have
 * @only: arrays of the rows that only the first, and only the second file has, owned. A
 *        row of the second file with a wrong result is also in @change
 * @figures: for rows that both files have, objects with the names of the figures that only
 *           the first, and only the second file has, owned
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
 * @out: receives the comparison; the caller releases it with report_diff_free()
 * @files: results of report_diff_read(), borrowed for as long as @out is used
 * @least: smallest difference that is a change: 0.05 means 5 percent
 *
 * Return: 0; -ENOMEM.
 */
int report_diff_find(struct report_diff *out, json_t *const files[2],
		     double least);
void report_diff_free(struct report_diff *diff);

/* report_diff_judged - return the number of figures whose verdict is slower, faster or
 * the same */
size_t report_diff_judged(const struct report_diff *diff);

/* report_diff_word - return the word for a verdict, such as "slower" */
const char *report_diff_word(enum change_verdict verdict);

#endif
