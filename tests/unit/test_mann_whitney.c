/* SPDX-License-Identifier: MIT */
/* test_mann_whitney.c - tests by ranks, beside published and counted probabilities */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "bench/report/diff/mann_whitney.h"

static void assert_near(double value, double expected, double by)
{
	if (!(fabs(value - expected) <= by))
		fail_msg("%.9g is not %.9g", value, expected);
}

/* The permeability of membranes, of Hollander and Wolfe's book; p = 0.2544 also by
 * wilcox.test() of R. */
static void ranks_test__published_samples__published_p(void **state)
{
	const double at_term[] = { 0.80, 0.83, 1.89, 1.04, 1.45,
				   1.38, 1.91, 1.64, 0.73, 1.46 };
	const double early[] = { 1.15, 0.88, 0.90, 0.74, 1.21 };

	(void)state;
	assert_near(mann_whitney_test(at_term, 10, early, 5), 0.2544122544,
		    1e-9);
	assert_near(mann_whitney_test(early, 5, at_term, 10), 0.2544122544,
		    1e-9);
}

static void ranks_test__apart__least_p(void **state)
{
	const double a[] = { 5, 2, 4, 1, 3 }, b[] = { 6, 10, 7, 8, 9 };

	(void)state;
	assert_near(mann_whitney_test(a, 5, b, 5), 2.0 / 252, 1e-12);
	assert_near(mann_whitney_min_p(5, 5), 2.0 / 252, 1e-12);
	assert_near(mann_whitney_min_p(9, 9), 2.0 / 48620, 1e-12);
	assert_near(mann_whitney_min_p(1, 1), 1, 0);
	assert_near(mann_whitney_min_p(0, 9), 1, 0);
}

/* 6 of the 20 ways to choose 3 of the ranks 1, 3, 3, 3, 5.5, 5.5 are as far out. */
static void ranks_test__ties__counted_p(void **state)
{
	const double a[] = { 1, 2, 2 }, b[] = { 2, 3, 3 };

	(void)state;
	assert_near(mann_whitney_test(a, 3, b, 3), 0.3, 1e-12);
}

static void ranks_test__all_equal_or_none__1(void **state)
{
	const double same[MANN_WHITNEY_EXACT] = { 0 };

	(void)state;
	assert_near(mann_whitney_test(same, 4, same, 4), 1, 0);
	assert_near(mann_whitney_test(same, MANN_WHITNEY_EXACT, same,
				      MANN_WHITNEY_EXACT),
		    1, 0);
	assert_near(mann_whitney_test(same, 0, same, 4), 1, 0);
	assert_near(mann_whitney_test(same, 4, same, 0), 1, 0);
}

/* The exact p, from all choices of 31 of 61 ranks, was counted by a program of its
 * own. */
static void ranks_test__many_values__p_of_the_normal_distribution(void **state)
{
	double a[MANN_WHITNEY_EXACT / 2 + 1], b[MANN_WHITNEY_EXACT / 2];

	(void)state;
	for (size_t i = 0; i <= MANN_WHITNEY_EXACT / 2; i++)
		a[i] = (double)i;
	for (size_t i = 0; i < MANN_WHITNEY_EXACT / 2; i++)
		b[i] = (double)i + 7.5;
	assert_near(mann_whitney_test(a, MANN_WHITNEY_EXACT / 2 + 1, b,
				      MANN_WHITNEY_EXACT / 2) /
			    0.00593800284,
		    1, 0.15);
}

static void ranks_correct__known_p__holms(void **state)
{
	double p[] = { 0.01, 0.013, 0.014, 0.6, 0.61 };
	const double expected[] = { 0.05, 0.052, 0.052, 1, 1 };

	(void)state;
	mann_whitney_holm(p, 5);
	for (size_t i = 0; i < 5; i++)
		assert_near(p[i], expected[i], 1e-12);
	mann_whitney_holm(p, 0);
}

/* One test of five can tell at 0.05 alone; two at 0.025 each. */
static void ranks_limit__few_can_tell__they_alone_count(void **state)
{
	double none[] = { 0.1, 0.06 }, one[] = { 0.1, 0.04, 0.1, 0.1, 0.1 };
	double four[] = { 0.02, 0.02, 0.02, 0.02 };
	double mixed[] = { 0.02, 1e-5, 0.02, 1e-5, 0.02 };

	(void)state;
	assert_near(mann_whitney_tarone(none, 2, 0.05), 0.05, 1e-12);
	assert_near(mann_whitney_tarone(one, 5, 0.05), 0.05, 1e-12);
	/* With 0.05 / 2 all four could tell, and are more than 2. */
	assert_near(mann_whitney_tarone(four, 4, 0.05), 0.05 / 3, 1e-12);
	assert_near(mann_whitney_tarone(mixed, 5, 0.05), 0.05 / 3, 1e-12);
	assert_near(mann_whitney_tarone(four, 0, 0.05), 0.05, 1e-12);
}

static void ranks_median__odd_and_even__middle(void **state)
{
	double odd[] = { 9, 1, 5 }, even[] = { 4, 1, 2, 100 };

	(void)state;
	assert_near(mann_whitney_median(odd, 3), 5, 0);
	assert_near(mann_whitney_median(even, 4), 3, 0);
	assert_near(mann_whitney_median(odd, 1), 1, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_test__published_samples__published_p),
		cmocka_unit_test(ranks_test__apart__least_p),
		cmocka_unit_test(ranks_test__ties__counted_p),
		cmocka_unit_test(ranks_test__all_equal_or_none__1),
		cmocka_unit_test(
			ranks_test__many_values__p_of_the_normal_distribution),
		cmocka_unit_test(ranks_correct__known_p__holms),
		cmocka_unit_test(ranks_limit__few_can_tell__they_alone_count),
		cmocka_unit_test(ranks_median__odd_and_even__middle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
