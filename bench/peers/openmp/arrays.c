/* SPDX-License-Identifier: MIT */
/*
 * arrays.c - loops over arrays, each written as an OpenMP parallel loop
 *
 * There is no find_early: only `cancel` can end a loop early, the environment
 * (OMP_CANCELLATION) must allow it, and it does not find the first match in particular.
 */
#include "bench/peers/openmp/arrays.h"

void arrays_for(struct harness *h)
{
	double *restrict a = h->a;
	const double *b = h->b, *c = h->c;
	size_t n = h->n;

#pragma omp parallel for
	for (size_t i = 0; i < n; i++)
		a[i] = for_item(b[i], c[i]);
}

void arrays_reduce(struct harness *h)
{
	size_t n = h->n;
	uint64_t sum = 0;

#pragma omp parallel for reduction(+ : sum)
	for (size_t i = 0; i < n; i++)
		sum += reduce_item(i);
	h->answer = sum;
}

/* gcc's runtime allocates memory for one sum for each item, in each call. */
void arrays_scan(struct harness *h)
{
	const uint64_t *in = h->in;
	uint64_t *restrict out = h->out;
	size_t n = h->n;
	uint64_t sum = 0;

#pragma omp parallel for reduction(inscan, + : sum)
	for (size_t i = 0; i < n; i++) {
		sum += in[i];
#pragma omp scan inclusive(sum)
		out[i] = sum;
	}
}
