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

/* The ranks of the values of both samples together. They are doubled, so
 * that the mean rank of tied values is an integer. */
struct ranks {
	size_t n;        /* number of values of the first sample */
	size_t all;      /* of both samples */
	size_t *doubled; /* all doubled ranks, ascending */
	size_t sum;      /* of the first sample's doubled ranks */
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

/* Give equal values, at indices @first to @end - 1, the mean of their ranks. */
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

/* ---- probabilities --------------------------------------------------------- */

/* Return the distance of a doubled sum of n ranks from its mean over all
 * choices of n ranks, which is n (all + 1). */
static double distance(const struct ranks *ranks, size_t sum)
{
	return fabs((double)sum - (double)ranks->n * (double)(ranks->all + 1));
}

/*
 * Return the share of all choices of n ranks whose sum is at least as far from the mean as
 * the first sample's. ways[k * width + s] is the number of choices of k ranks with the
 * sum s, among the ranks that the loop has handled so far.
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
	/* Halve the doubled distance; 0.5 is the correction for continuity. */
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

/* Of all choices of n ranks, two are farthest from the mean: the first n and
 * the last n. */
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
