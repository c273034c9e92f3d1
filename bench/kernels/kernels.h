/* SPDX-License-Identifier: MIT */
/**
 * kernels.h - the serial leaves of matmul and cilksort
 *
 * The programs of other schedulers link the same object, and take the same
 * constants of fork-join workloads, so that only the scheduling differs.
 */
#ifndef SKUA_BENCH_KERNELS_KERNELS_H
#define SKUA_BENCH_KERNELS_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sizes in the reports; skua-bench has options for others. */
#define FIB_N       33
#define INTEGRATE_N 500
#define NQUEENS_N   13
#define SKYNET_N    6
#define MATMUL_N    512
#define CILKSORT_N  2000000

/* region: the Fibonacci number, the number of calls, and the pause before a cold
 * call. */
#define REGION_N      16
#define REGION_CALLS  200
#define REGION_GAP_US 100

/* The forks and the answers of these. */
#define MATMUL_BLOCKS   4096u
#define INTEGRATE_FORKS 3313891u
#define NQUEENS_FORKS   4674889u
#define NQUEENS_WAYS    73712u
#define SKYNET_CHILDREN 10u
#define SKYNET_LEAVES   1000000u
#define SKYNET_FORKS    1111110u

/* integrate: the tolerance between the area of two halves and of the whole. */
#define INTEGRATE_EPSILON 1e-9

/* ---- matmul: square matrices of powers of two, by rows -------------------- */

/* Matrices up to this size are multiplied without forks. */
#define MATMUL_BLOCK 32u

/* c += a b: squares of @size within matrices of @stride columns. */
struct matmul_product {
	double *c;
	const double *a;
	const double *b;
	uint32_t size;
	uint32_t stride;
};

/* matmul_part - the quarter of c in @row and @column, 0 or 1 each, as far as the
 * quarters in a's column @k and b's row @k go */
struct matmul_product matmul_part(const struct matmul_product *p, uint32_t row,
				  uint32_t column, uint32_t k);

/* matmul_block - multiply a block: its size is MATMUL_BLOCK */
void matmul_block(const struct matmul_product *p);

/* matmul_fill - factors of @n squared: small whole numbers, so that the product
 * is exact */
void matmul_fill(double *a, double *b, uint32_t n);

/* matmul_check - is @c the product? Multiplies vectors by both. Prints on stderr what
 * was wrong. */
bool matmul_check(const double *c, const double *a, const double *b,
		  uint32_t n);

/* ---- cilksort: numbers of 32 bits ----------------------------------------- */

/* Up to this length, sorts and merges run without forks. */
#define CILKSORT_RUN 2048u

/* cilksort_run - sort without forks */
void cilksort_run(uint32_t *numbers, uint64_t count);

/* Two sorted runs, and the place for the merged run. */
struct cilksort_merge {
	const uint32_t *a;
	const uint32_t *b;
	uint64_t a_count;
	uint64_t b_count;
	uint32_t *out;
};

/* cilksort_runs - two that follow one another in @numbers: @from, @middle, @end;
 * @out is where the first of @numbers would go */
struct cilksort_merge cilksort_runs(const uint32_t *numbers, uint64_t from,
				    uint64_t middle, uint64_t end,
				    uint32_t *out);

/* cilksort_cut - cut a merge into two: the longer run in the middle, the other run where
 * that number belongs. False: the merge is too short. */
bool cilksort_cut(const struct cilksort_merge *m, struct cilksort_merge *low,
		  struct cilksort_merge *high);

/* cilksort_merge_runs - merge, without forks */
void cilksort_merge_runs(const struct cilksort_merge *m);

/* cilksort_quarter - the start of quarter @i of @count numbers; 4: the end */
static inline uint64_t cilksort_quarter(uint64_t count, unsigned i)
{
	return count / 4 * i + count % 4 * i / 4;
}

/* cilksort_fill - pseudo-random numbers */
void cilksort_fill(uint32_t *numbers, uint64_t count);

/* cilksort_check - are the numbers sorted, and those of cilksort_fill()? Prints on
 * stderr what was wrong. */
bool cilksort_check(const uint32_t *numbers, uint64_t count);

#ifdef __cplusplus
}
#endif

#endif
