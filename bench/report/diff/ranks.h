/* SPDX-License-Identifier: MIT */
/**
 * ranks.h - may two samples be of the same thing?
 *
 * Tests by ranks, which ask of times only which is longer: one that took ten times
 * as long, since something else ran, weighs no more than any other.
 */
#ifndef SKUA_BENCH_REPORT_DIFF_RANKS_H
#define SKUA_BENCH_REPORT_DIFF_RANKS_H

#include <stddef.h>

/**
 * ranks_test - the test of Mann and Whitney (Wilcoxon), of two sides
 * @a, @b: samples of @n and @m values, none of them NaN
 *
 * Exact, also with ties, up to RANKS_EXACT values in all; of more by the normal
 * distribution.
 *
 * Return: how likely the ranks of two samples of the same thing are to be at least
 * as far apart; 1 if either is empty; negative: no memory.
 */
double ranks_test(const double *a, size_t n, const double *b, size_t m);

#define RANKS_EXACT 60

/* ranks_least - the least that ranks_test() can return for so many values */
double ranks_least(size_t n, size_t m);

/**
 * ranks_correct - the correction of Holm, for many tests
 * @p: what @count tests have returned, ascending; receives the corrected values
 *
 * Who calls those below a limit different is wrong in any of them with that
 * probability at most.
 */
void ranks_correct(double *p, size_t count);

/**
 * ranks_limit - which of many tests can tell anything: the way of Tarone
 * @least: what each of @count can return at least; is sorted
 *
 * Those whose least is above what this returns would not come out below
 * @significance beside the others, whatever the values are; left out, they cost
 * the others nothing. The rest are to be corrected for their own number alone.
 */
double ranks_limit(double *least, size_t count, double significance);

/* ranks_median - of a sample that is not empty, which it sorts */
double ranks_median(double *values, size_t n);

#endif
