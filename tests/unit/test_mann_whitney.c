/* SPDX-License-Identifier: MIT */
/* test_mann_whitney.c - tests by ranks, beside published and counted probabilities */
#include <stddef.h>
#include <stdint.h>

#include <math.h>

#include "bench/report/diff/mann_whitney.h"
#include "tests/unit/unit.h"

static void assert_near(double value, double expected, double by)
{
	if (!(fabs(value - expected) <= by))
		fail_msg("%.9g is not %.9g", value, expected);
}

/* The permeability of membranes, of Hollander and Wolfe's book; p = 0.2544 also by
 * wilcox.test() of R. */
TEST(ranks_test__published_samples__published_p)
{
	const double at_term[] = { 0.80, 0.83, 1.89, 1.04, 1.45,
				   1.38, 1.91, 1.64, 0.73, 1.46 };
	const double early[] = { 1.15, 0.88, 0.90, 0.74, 1.21 };

	assert_near(mann_whitney_test(at_term, 10, early, 5), 0.2544122544,
		    1e-9);
	assert_near(mann_whitney_test(early, 5, at_term, 10), 0.2544122544,
		    1e-9);
}

TEST(ranks_test__apart__least_p)
{
	const double a[] = { 5, 2, 4, 1, 3 }, b[] = { 6, 10, 7, 8, 9 };

	assert_near(mann_whitney_test(a, 5, b, 5), 2.0 / 252, 1e-12);
	assert_near(mann_whitney_min_p(5, 5), 2.0 / 252, 1e-12);
	assert_near(mann_whitney_min_p(9, 9), 2.0 / 48620, 1e-12);
	assert_near(mann_whitney_min_p(1, 1), 1, 0);
	assert_near(mann_whitney_min_p(0, 9), 1, 0);
}

/* 6 of the 20 ways to choose 3 of the ranks 1, 3, 3, 3, 5.5, 5.5 are as far out. */
TEST(ranks_test__ties__counted_p)
{
	const double a[] = { 1, 2, 2 }, b[] = { 2, 3, 3 };

	assert_near(mann_whitney_test(a, 3, b, 3), 0.3, 1e-12);
}

TEST(ranks_test__all_equal_or_none__1)
{
	const double same[MANN_WHITNEY_EXACT] = { 0 };

	assert_near(mann_whitney_test(same, 4, same, 4), 1, 0);
	assert_near(mann_whitney_test(same, MANN_WHITNEY_EXACT, same,
				      MANN_WHITNEY_EXACT),
		    1, 0);
	assert_near(mann_whitney_test(same, 0, same, 4), 1, 0);
	assert_near(mann_whitney_test(same, 4, same, 0), 1, 0);
}

/* The exact p, from all choices of 31 of 61 ranks, was counted by a program of its
 * own. */
TEST(ranks_test__many_values__p_of_the_normal_distribution)
{
	double a[MANN_WHITNEY_EXACT / 2 + 1], b[MANN_WHITNEY_EXACT / 2];

	for (size_t i = 0; i <= MANN_WHITNEY_EXACT / 2; i++)
		a[i] = (double)i;
	for (size_t i = 0; i < MANN_WHITNEY_EXACT / 2; i++)
		b[i] = (double)i + 7.5;
	assert_near(mann_whitney_test(a, MANN_WHITNEY_EXACT / 2 + 1, b,
				      MANN_WHITNEY_EXACT / 2) /
			    0.00593800284,
		    1, 0.15);
}

TEST(ranks_correct__known_p__holms)
{
	double p[] = { 0.01, 0.013, 0.014, 0.6, 0.61 };
	const double expected[] = { 0.05, 0.052, 0.052, 1, 1 };

	mann_whitney_holm(p, 5);
	for (size_t i = 0; i < 5; i++)
		assert_near(p[i], expected[i], 1e-12);
	mann_whitney_holm(p, 0);
}

/* One test of five can tell at 0.05 alone; two at 0.025 each. */
TEST(ranks_limit__few_can_tell__they_alone_count)
{
	double none[] = { 0.1, 0.06 }, one[] = { 0.1, 0.04, 0.1, 0.1, 0.1 };
	double four[] = { 0.02, 0.02, 0.02, 0.02 };
	double mixed[] = { 0.02, 1e-5, 0.02, 1e-5, 0.02 };

	assert_near(mann_whitney_tarone(none, 2, 0.05), 0.05, 1e-12);
	assert_near(mann_whitney_tarone(one, 5, 0.05), 0.05, 1e-12);
	/* With 0.05 / 2 all four could tell, and are more than 2. */
	assert_near(mann_whitney_tarone(four, 4, 0.05), 0.05 / 3, 1e-12);
	assert_near(mann_whitney_tarone(mixed, 5, 0.05), 0.05 / 3, 1e-12);
	assert_near(mann_whitney_tarone(four, 0, 0.05), 0.05, 1e-12);
}

TEST(ranks_median__odd_and_even__middle)
{
	double odd[] = { 9, 1, 5 }, even[] = { 4, 1, 2, 100 };

	assert_near(mann_whitney_median(odd, 3), 5, 0);
	assert_near(mann_whitney_median(even, 4), 3, 0);
	assert_near(mann_whitney_median(odd, 1), 1, 0);
}
