/* SPDX-License-Identifier: MIT */
/**
 * mann_whitney.h - test whether two samples may come from the same distribution
 *
 * The test uses ranks: it depends only on which of two times is longer. A time that is ten
 * times as long as the others, because another process ran, weighs no more than any other.
 */
#ifndef SKUA_BENCH_REPORT_DIFF_MANN_WHITNEY_H
#define SKUA_BENCH_REPORT_DIFF_MANN_WHITNEY_H

#include <stddef.h>

/**
 * mann_whitney_test - apply the two-sided test of Mann and Whitney (Wilcoxon)
 * @a, @b: samples of @n and @m values, none of them NaN
 *
 * The result is exact, also with ties, for up to MANN_WHITNEY_EXACT values in both samples
 * together. For more values it is the normal approximation.
 *
 * Return: the probability that the ranks of two samples from the same distribution are at
 * least as far apart as these; 1 if either sample is empty; negative: no memory.
 */
double mann_whitney_test(const double *a, size_t n, const double *b, size_t m);

#define MANN_WHITNEY_EXACT 60

/* mann_whitney_min_p - return the smallest possible result of mann_whitney_test() for @n
 * and @m values */
double mann_whitney_min_p(size_t n, size_t m);

/**
 * mann_whitney_holm - apply Holm's correction for many tests
 * @p: the results of @count tests, in ascending order; receives the corrected values
 *
 * If each corrected value below a limit counts as a difference, the probability that any
 * of these differences is due to chance is at most that limit.
 */
void mann_whitney_holm(double *p, size_t count);

/**
 * mann_whitney_tarone - find out which of many tests can show a difference at all
 * @min_p: the smallest possible result of each of @count tests; the call sorts it
 * @significance: the limit below which a corrected result is a difference
 *
 * This is Tarone's method. A test whose smallest possible result is above the returned
 * limit can never show a difference beside the other tests. Leave it out: the correction
 * is then for the number of the remaining tests only. Return: the limit.
 */
double mann_whitney_tarone(double *min_p, size_t count, double significance);

/* mann_whitney_median - return the median of a non-empty sample; sorts @values */
double mann_whitney_median(double *values, size_t n);

#endif
