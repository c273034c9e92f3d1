/* SPDX-License-Identifier: MIT */
/* forks.c - the cases that fork and join: fib, integrate, nqueens, skynet, matmul,
 * cilksort */
#include <stdio.h>
#include <string.h>

#include "bench/peers/harness/case.h"

#define MATRIX ((size_t)MATMUL_N * MATMUL_N)

static void clear_answer(struct harness *h)
{
	h->answer = UINT64_MAX;
}

/* ---- fib ------------------------------------------------------------------ */

uint64_t harness_fib(unsigned n)
{
	uint64_t a = 0, b = 1;

	for (; n > 0; n--) {
		uint64_t next = a + b;

		a = b;
		b = next;
	}
	return a;
}

static uint64_t fib_forks(const struct harness *h)
{
	return harness_fib(h->n + 1) - 1;
}

static bool check_fib(const struct harness *h)
{
	return harness_is_right("fib", h->answer, harness_fib(h->n));
}

/* ---- integrate ------------------------------------------------------------ */

static void clear_area(struct harness *h)
{
	h->area = -1;
}

/* Check that the area is close to the exact integral. */
static bool check_integrate(const struct harness *h)
{
	double square = (double)INTEGRATE_N * INTEGRATE_N;
	double area = square * square / 4 + square / 2;

	if (h->area > area * (1 - 1e-6) && h->area < area * (1 + 1e-6))
		return true;
	fprintf(stderr, "integrate: %.17g, not %.17g\n", h->area, area);
	return false;
}

/* ---- nqueens, skynet ------------------------------------------------------ */

static bool check_nqueens(const struct harness *h)
{
	return harness_is_right("nqueens", h->answer, NQUEENS_WAYS);
}

static bool check_skynet(const struct harness *h)
{
	return harness_is_right("skynet", h->answer,
				(uint64_t)SKYNET_LEAVES * (SKYNET_LEAVES - 1) /
					2);
}

/* ---- matmul --------------------------------------------------------------- */

static void prepare_matmul(struct harness *h)
{
	if (h->product.c == NULL) {
		double *a = harness_memory(MATRIX * sizeof(double));
		double *b = harness_memory(MATRIX * sizeof(double));

		matmul_fill(a, b, MATMUL_N);
		h->product.a = a;
		h->product.b = b;
		h->product.c = harness_memory(MATRIX * sizeof(double));
		h->product.size = MATMUL_N;
		h->product.stride = MATMUL_N;
	}
	memset(h->product.c, 0, MATRIX * sizeof(double));
}

static bool check_matmul(const struct harness *h)
{
	return matmul_check(h->product.c, h->product.a, h->product.b, MATMUL_N);
}

/* ---- cilksort ------------------------------------------------------------- */

static void prepare_cilksort(struct harness *h)
{
	if (h->numbers == NULL) {
		size_t bytes = (size_t)CILKSORT_N * sizeof(uint32_t);

		h->numbers = harness_memory(bytes);
		h->spare = harness_memory(bytes);
		memset(h->spare, 0, bytes);
	}
	cilksort_fill(h->numbers, CILKSORT_N);
}

static bool check_cilksort(const struct harness *h)
{
	return cilksort_check(h->numbers, CILKSORT_N);
}

/* ---- all ------------------------------------------------------------------ */

const struct harness_case harness_forks[] = {
	HARNESS_CASE("fib",
		     "Fibonacci numbers by definition, one fork for each call",
		     .n = FIB_N, .count = fib_forks, .prepare = clear_answer,
		     .check = check_fib),
	HARNESS_CASE(
		"integrate",
		"Integrate x^3 + x by halving intervals, one fork for each",
		.n = INTEGRATE_N, .ops = INTEGRATE_FORKS, .prepare = clear_area,
		.check = check_integrate),
	HARNESS_CASE("nqueens",
		     "Place queens on a board, one fork for each place",
		     .n = NQUEENS_N, .ops = NQUEENS_FORKS,
		     .prepare = clear_answer, .check = check_nqueens),
	HARNESS_CASE("skynet",
		     "Add up the leaves of a tree, ten forks for each node",
		     .n = SKYNET_N, .ops = SKYNET_FORKS,
		     .prepare = clear_answer, .check = check_skynet),
	HARNESS_CASE("matmul", "Multiply matrices by quarters, down to 32 x 32",
		     .n = MATMUL_N, .ops = MATMUL_BLOCKS,
		     .prepare = prepare_matmul, .check = check_matmul),
	HARNESS_CASE("cilksort",
		     "Merge sort that merges by forks, down to 2,048 numbers",
		     .n = CILKSORT_N, .ops = CILKSORT_N,
		     .prepare = prepare_cilksort, .check = check_cilksort),
	{ .name = NULL },
};
