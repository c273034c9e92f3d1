/* SPDX-License-Identifier: MIT */
/**
 * changes.h - what changed from one report to another, beyond noise
 *
 * A row is a workload with its options, workers, and peer. Its values are the
 * rounds of all its runs, processes, beside which the machine was not busy, if
 * there are such; of who does not say them, the medians. A row has changed if
 *
 * - its medians differ by at least so much, twice that if either file has a
 *   single run of it: how much runs differ is unknown then;
 * - the values differ more than chance explains (ranks.h, corrected for all rows
 *   that have enough values to tell);
 * - no run of the one file has a median within the range of the other's; and
 * - the machine was not busy beside all runs of a file.
 *
 * Files are hostile: whatever is in them, they are read or refused.
 */
#ifndef SKUA_BENCH_CHANGES_H
#define SKUA_BENCH_CHANGES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Of report.json. A greater one is of a later skua-bench. */
#define CHANGES_FORMAT 1

/* How likely one row or more may be called changed by chance. */
#define CHANGES_SIGNIFICANCE 0.05

/**
 * changes_read - the runs of a file
 * @text: of the file: a report.json, or what run --json prints, one or more
 * @out: receives {"machine": {...} or null, "loop_ns": of the calibration or 0,
 *       "rows": {key: {"workload","params","workers","peer" or null,
 *       "runs": [{"median","values","noisy","ok"}]}}}, owned
 * @why: receives a line on failure
 *
 * Return: 0; -EINVAL (it is no such file); -ENOMEM.
 */
int changes_read(const char *text, size_t length, json_t **out, char *why,
		 size_t size);

enum change_verdict {
	CHANGE_SLOWER,
	CHANGE_FASTER,
	CHANGE_SAME,  /* no change beyond noise */
	CHANGE_FEW,   /* too few values to tell */
	CHANGE_NOISY, /* it may be the machine */
	CHANGE_WRONG, /* a result of the second was wrong */
	CHANGE_VERDICTS
};

/**
 * struct change - a row that both have
 * @row: of the second, borrowed: "workload", "params" and so on
 * @ns: medians of the values of both
 * @values: how many there are
 * @by: the second by the first, less 1
 * @p, @corrected: as of ranks.h; the latter 1 for those with too few values
 * @single: either file has one run of it
 */
struct change {
	json_t *row;
	double ns[2];
	size_t values[2];
	double by;
	double p;
	double corrected;
	bool single;
	enum change_verdict verdict;
};

/**
 * struct changes - all rows
 * @change: array, owned: the slower ones first, then the faster, each with the
 *          largest change first; then those of other verdicts in their order
 * @only: how many rows only the first has, and only the second
 */
struct changes {
	struct change *change;
	size_t count;
	size_t counts[CHANGE_VERDICTS];
	size_t only[2];
};

/**
 * changes_find - compare two files
 * @files: of changes_read(), borrowed for as long as @out is used
 * @least: what a change is at least: 0.05 is 5 percent
 *
 * Return: 0; -ENOMEM. changes_free() it.
 */
int changes_find(struct changes *out, json_t *const files[2], double least);
void changes_free(struct changes *changes);

/* changes_word - "slower" and so on */
const char *changes_word(enum change_verdict verdict);

#endif
