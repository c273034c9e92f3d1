/* SPDX-License-Identifier: MIT */
/**
 * kernels.h - the serial parts of matmul and cilksort, and the constants of fork-join
 *             workloads
 *
 * The programs of other schedulers link the same object file, and use the same
 * constants, so that only the scheduling differs.
 */
#ifndef SKUA_BENCH_KERNELS_KERNELS_H
#define SKUA_BENCH_KERNELS_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sizes in the reports. Options of skua-bench choose other sizes. */
#define FIB_N       33
#define INTEGRATE_N 500
#define NQUEENS_N   13
#define SKYNET_N    6
#define MATMUL_N    512
#define CILKSORT_N  2000000

/* region: which Fibonacci number, the number of calls, and the pause before a cold call,
 * in us. */
#define REGION_N      16
#define REGION_CALLS  200
#define REGION_GAP_US 100

/* Numbers of forks, and the right answers, for these sizes. */
#define MATMUL_BLOCKS   4096u
#define INTEGRATE_FORKS 3313891u
#define NQUEENS_FORKS   4674889u
#define NQUEENS_WAYS    73712u
#define SKYNET_CHILDREN 10u
#define SKYNET_LEAVES   1000000u
#define SKYNET_FORKS    1111110u

/* integrate: the largest difference between the area of the halves and of
 * the whole at which an interval is not halved further. */
#define INTEGRATE_EPSILON 1e-9

/* ---- matmul: square matrices of powers of two, by rows -------------------- */

/* Matrices up to this size are multiplied without forks. */
#define MATMUL_BLOCK 32u

/* c += a b, for squares of @size rows and columns within matrices of @stride
 * columns. */
struct matmul_product {
	double *c;
	const double *a;
	const double *b;
	uint32_t size;
	uint32_t stride;
};

/* matmul_part - return one of the eight products of quarters
 *
 * It adds to the quarter of c in @row and @column the product of a's quarter in @row
 * and @k with b's quarter in @k and @column. All three are 0 or 1. */
struct matmul_product matmul_part(const struct matmul_product *p, uint32_t row,
				  uint32_t column, uint32_t k);

/* matmul_block - multiply squares of size MATMUL_BLOCK */
void matmul_block(const struct matmul_product *p);

/* matmul_fill - fill two matrices of @n rows and columns with small whole numbers, so
 * that the product is exact */
void matmul_fill(double *a, double *b, uint32_t n);

/* matmul_check - return whether @c is the product of @a and @b
 *
 * Multiplies random vectors by @c, and by @b and @a. Prints on stderr what was wrong. */
bool matmul_check(const double *c, const double *a, const double *b,
		  uint32_t n);

/* ---- cilksort: numbers of 32 bits ----------------------------------------- */

/* Sorts and merges of up to this many numbers run without forks. */
#define CILKSORT_RUN 2048u

/* cilksort_run - sort @numbers in place, without forks */
void cilksort_run(uint32_t *numbers, uint64_t count);

/* A merge: two sorted runs, and the place for the merged run. */
struct cilksort_merge {
	const uint32_t *a;
	const uint32_t *b;
	uint64_t a_count;
	uint64_t b_count;
	uint32_t *out;
};

/* cilksort_runs - return the merge of two adjacent runs of @numbers
 *
 * The runs are [@from, @middle) and [@middle, @end). The merged run goes to the same
 * indices of @out. */
struct cilksort_merge cilksort_runs(const uint32_t *numbers, uint64_t from,
				    uint64_t middle, uint64_t end,
				    uint32_t *out);

/* cilksort_cut - cut a merge into two merges
 *
 * Cuts the longer run in the middle, and the other run where the number at that cut
 * belongs. Return: false if the merge is too short to cut. */
bool cilksort_cut(const struct cilksort_merge *m, struct cilksort_merge *low,
		  struct cilksort_merge *high);

/* cilksort_merge_runs - merge two runs, without forks */
void cilksort_merge_runs(const struct cilksort_merge *m);

/* cilksort_quarter - return the index at which quarter @i of @count numbers starts; the
 * end for @i = 4 */
static inline uint64_t cilksort_quarter(uint64_t count, unsigned i)
{
	return count / 4 * i + count % 4 * i / 4;
}

/* cilksort_fill - fill an array with pseudo-random numbers */
void cilksort_fill(uint32_t *numbers, uint64_t count);

/* cilksort_check - return whether the numbers are sorted, and are those of
 * cilksort_fill(). Prints on stderr what was wrong. */
bool cilksort_check(const uint32_t *numbers, uint64_t count);

#ifdef __cplusplus
}
#endif

#endif
