/* SPDX-License-Identifier: MIT */
/* mann_whitney.c - see mann_whitney.h */
#include "bench/report/diff/mann_whitney.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

struct value {
	double value;
	bool of_a;
};

/* The pooled ranks, doubled, so that ranks of ties are integers. */
struct ranks {
	size_t n; /* of the first sample */
	size_t all;
	size_t *doubled; /* ascending */
	size_t sum;      /* of the first sample */
	double ties;     /* sum of t^3 - t, over groups of t ties */
};

/* ---- ranks ----------------------------------------------------------------- */

static int compare_values(const void *a, const void *b)
{
	double x = ((const struct value *)a)->value;
	double y = ((const struct value *)b)->value;

	return (x > y) - (x < y);
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Equal values share the mean of their ranks: from first + 1 to end. */
static void rank_group(struct ranks *ranks, const struct value *values,
		       size_t first, size_t end)
{
	double ties = (double)(end - first);

	for (size_t i = first; i < end; i++) {
		ranks->doubled[i] = first + 1 + end;
		ranks->sum += values[i].of_a ? ranks->doubled[i] : 0;
	}
	ranks->ties += ties * ties * ties - ties;
}

static void rank(struct ranks *ranks, struct value *values)
{
	size_t first = 0;

	qsort(values, ranks->all, sizeof(*values), compare_values);
	for (size_t i = 1; i <= ranks->all; i++) {
		if (i < ranks->all && values[i].value == values[first].value)
			continue;
		rank_group(ranks, values, first, i);
		first = i;
	}
}

/* ---- how likely ------------------------------------------------------------ */

/* The mean of the doubled sum, which is n (all + 1), from any choice of n. */
static double distance(const struct ranks *ranks, size_t sum)
{
	return fabs((double)sum - (double)ranks->n * (double)(ranks->all + 1));
}

/*
 * The share of all choices of n ranks whose sum is at least as far from the mean.
 * ways[k * width + s] is the number of choices of k ranks, among those seen so far,
 * with the sum s.
 */
static double exact(const struct ranks *ranks)
{
	size_t width = ranks->all * (ranks->all + 1) + 1;
	double *ways = calloc((ranks->n + 1) * width, sizeof(*ways));
	double far = 0, total = 0;

	if (ways == NULL)
		return -1;
	ways[0] = 1;
	for (size_t i = 0; i < ranks->all; i++)
		for (size_t k = ranks->n; k > 0; k--)
			for (size_t s = width - 1; s >= ranks->doubled[i]; s--)
				ways[k * width + s] +=
					ways[(k - 1) * width + s -
					     ranks->doubled[i]];
	for (size_t s = 0; s < width; s++) {
		double here = ways[ranks->n * width + s];

		total += here;
		if (distance(ranks, s) >= distance(ranks, ranks->sum))
			far += here;
	}
	free(ways);
	return far / total;
}

static double by_normal(const struct ranks *ranks)
{
	double n = (double)ranks->n, all = (double)ranks->all;
	double m = all - n;
	double variance =
		n * m / 12 * (all + 1 - ranks->ties / (all * (all - 1)));
	/* Not doubled; 0.5 is the correction for continuity. */
	double off = distance(ranks, ranks->sum) / 2 - 0.5;

	if (variance <= 0 || off <= 0)
		return 1;
	return erfc(off / sqrt(2 * variance));
}

static double test(struct ranks *ranks, struct value *values)
{
	rank(ranks, values);
	return ranks->all <= MANN_WHITNEY_EXACT ? exact(ranks)
						: by_normal(ranks);
}

double mann_whitney_test(const double *a, size_t n, const double *b, size_t m)
{
	struct ranks ranks = { .n = n, .all = n + m };
	struct value *values = calloc(n + m + 1, sizeof(*values));
	double p = -1;

	ranks.doubled = calloc(n + m + 1, sizeof(*ranks.doubled));
	for (size_t i = 0; values != NULL && i < n + m; i++)
		values[i] = (struct value){ i < n ? a[i] : b[i - n], i < n };
	if (n == 0 || m == 0)
		p = 1;
	else if (values != NULL && ranks.doubled != NULL)
		p = test(&ranks, values);
	free(values);
	free(ranks.doubled);
	return p;
}

/* Two of all choices are farthest from the mean: the first n ranks and the last n. */
double mann_whitney_min_p(size_t n, size_t m)
{
	double least = 2;

	for (size_t i = 1; i <= n; i++)
		least *= (double)i / (double)(m + i);
	return least < 1 ? least : 1;
}

/* ---- many tests ------------------------------------------------------------ */

void mann_whitney_holm(double *p, size_t count)
{
	double most = 0;

	for (size_t i = 0; i < count; i++) {
		double corrected = p[i] * (double)(count - i);

		most = fmax(most, fmin(corrected, 1));
		p[i] = most;
	}
}

double mann_whitney_tarone(double *min_p, size_t count, double significance)
{
	size_t kept = count, tests = 0;

	qsort(min_p, count, sizeof(*min_p), compare_doubles);
	do {
		tests++;
		while (kept > 0 &&
		       min_p[kept - 1] > significance / (double)tests)
			kept--;
	} while (kept > tests);
	return significance / (double)tests;
}

double mann_whitney_median(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), compare_doubles);
	return (values[(n - 1) / 2] + values[n / 2]) / 2;
}
