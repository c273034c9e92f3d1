/* SPDX-License-Identifier: MIT */
/**
 * mann_whitney.h - may two samples come from the same distribution?
 *
 * The tests use ranks: they ask only which of two times is longer. A time that is
 * ten times as long, because another process ran, weighs no more than any other.
 */
#ifndef SKUA_BENCH_REPORT_DIFF_MANN_WHITNEY_H
#define SKUA_BENCH_REPORT_DIFF_MANN_WHITNEY_H

#include <stddef.h>

/**
 * mann_whitney_test - the two-sided test of Mann and Whitney (Wilcoxon)
 * @a, @b: samples of @n and @m values, none of them NaN
 *
 * Exact, also with ties, up to MANN_WHITNEY_EXACT values in both together; larger
 * samples use the normal approximation.
 *
 * Return: the probability that the ranks of two samples of one distribution are at
 * least as far apart; 1 if either is empty; negative: no memory.
 */
double mann_whitney_test(const double *a, size_t n, const double *b, size_t m);

#define MANN_WHITNEY_EXACT 60

/* mann_whitney_min_p - the smallest result that mann_whitney_test() can have for @n
 * and @m values */
double mann_whitney_min_p(size_t n, size_t m);

/**
 * mann_whitney_holm - Holm's correction for many tests
 * @p: the results of @count tests, ascending; receives the corrected values
 *
 * If every corrected value below a limit counts as a difference, the probability
 * that any of these differences is wrong is at most that limit.
 */
void mann_whitney_holm(double *p, size_t count);

/**
 * mann_whitney_tarone - which of many tests can show a difference? Tarone's method
 * @min_p: the smallest result that each of @count tests can have; is sorted
 *
 * A test whose smallest result is above the returned limit cannot come out below
 * @significance beside the others. Leave it out: the correction of the rest is for
 * their own number alone.
 */
double mann_whitney_tarone(double *min_p, size_t count, double significance);

/* mann_whitney_median - the median of a sample that is not empty; sorts @values */
double mann_whitney_median(double *values, size_t n);

#endif
