/* SPDX-License-Identifier: MIT */
/* arrays.c - the cases of loops over arrays and of sorts (bench/kernels/arrays.h) */
#include <stdio.h>

#include "bench/peers/harness/case.h"

#define N_MAX 1000000000u

static uint64_t items(const struct harness *h)
{
	return h->n;
}

/* ---- for ------------------------------------------------------------------ */

static void prepare_for(struct harness *h)
{
	if (h->a == NULL) {
		double *b = harness_memory(h->n * sizeof(double));
		double *c = harness_memory(h->n * sizeof(double));

		for_fill(b, c, h->n);
		h->b = b;
		h->c = c;
		h->a = harness_memory(h->n * sizeof(double));
	}
	for (size_t i = 0; i < h->n; i++)
		h->a[i] = -1;
}

static bool check_for(const struct harness *h)
{
	return for_check(h->a, h->n);
}

/* ---- reduce --------------------------------------------------------------- */

static void clear_answer(struct harness *h)
{
	h->answer = 0;
}

static bool check_reduce(const struct harness *h)
{
	return reduce_check(h->answer, h->n);
}

/* ---- scan ----------------------------------------------------------------- */

static void prepare_scan(struct harness *h)
{
	if (h->out == NULL) {
		uint64_t *in = harness_memory(h->n * sizeof(uint64_t));

		scan_fill(in, h->n);
		h->in = in;
		h->out = harness_memory(h->n * sizeof(uint64_t));
	}
	for (size_t i = 0; i < h->n; i++)
		h->out[i] = 0;
}

static bool check_scan(const struct harness *h)
{
	return scan_check(h->out, h->n);
}

/* ---- sorts ---------------------------------------------------------------- */

static void prepare_sort(struct harness *h)
{
	if (h->items == NULL)
		h->items = harness_memory(h->n * sizeof(*h->items));
	sort_fill(h->items, h->n, h->input);
}

static bool check_unstable(const struct harness *h)
{
	return sort_check(h->items, h->n, h->input, false);
}

static bool check_stable(const struct harness *h)
{
	return sort_check(h->items, h->n, h->input, true);
}

static void sort_params(const struct harness *h, FILE *file)
{
	fprintf(file, "{\"n\":%u,\"input\":\"%s\"}", h->n, h->input);
}

/* ---- all ------------------------------------------------------------------ */

const struct harness_case harness_arrays[] = {
	HARNESS_CASE("for", "A loop over arrays, limited by memory bandwidth",
		     .n = FOR_N, .n_min = 1, .n_max = N_MAX, .count = items,
		     .prepare = prepare_for, .check = check_for),
	HARNESS_CASE("reduce", "The sum of computed numbers", .n = REDUCE_N,
		     .n_min = 1, .n_max = N_MAX, .count = items,
		     .prepare = clear_answer, .check = check_reduce),
	HARNESS_CASE("scan", "A running sum of an array", .n = SCAN_N,
		     .n_min = 1, .n_max = N_MAX, .count = items,
		     .prepare = prepare_scan, .check = check_scan),
	HARNESS_CASE("sort_unstable", "Sort an array in place", .n = SORT_N,
		     .n_min = 1, .n_max = N_MAX, .takes_input = true,
		     .count = items, .params = sort_params,
		     .prepare = prepare_sort, .check = check_unstable),
	HARNESS_CASE("sort_stable",
		     "Sort an array and keep the order of equal items",
		     .n = SORT_N, .n_min = 1, .n_max = N_MAX,
		     .takes_input = true, .count = items, .params = sort_params,
		     .prepare = prepare_sort, .check = check_stable),
	{ .name = NULL },
};
