/* SPDX-License-Identifier: MIT */
/**
 * arrays.h - make the input of data-parallel loops and sorts, and check their results
 *
 * The programs of other schedulers link the same object file, and use the same
 * constants. The functions that compute one item are inline, so that each program's loop
 * can inline them.
 */
#ifndef SKUA_BENCH_KERNELS_ARRAYS_H
#define SKUA_BENCH_KERNELS_ARRAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/kernels/compute.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sizes in the reports. Options of skua-bench choose other sizes. */
#define FOR_N        4000000
#define REDUCE_N     20000000
#define SCAN_N       4000000
#define FIND_EARLY_N 20000000
#define SORT_N       1000000

/* ---- for: a = b + 3 c ------------------------------------------------------ */

/* for_item - compute an item of a from one item of b and one of c */
static inline double for_item(double b, double c)
{
	return b + 3 * c;
}

/* for_fill - fill b and c with @n small whole numbers each, so that sums are exact */
void for_fill(double *b, double *c, size_t n);

/* for_check - return whether @a is right. All checks here print on stderr what was
 * wrong. */
bool for_check(const double *a, size_t n);

/* ---- reduce: the sum of @n numbers that look random ------------------------ */

/* reduce_item - return number @i of those to add, modulo 2^64 */
static inline uint64_t reduce_item(size_t i)
{
	return scatter(i);
}

bool reduce_check(uint64_t sum, size_t n);

/* ---- scan: each item of the result is the sum of all items up to it -------- */

void scan_fill(uint64_t *in, size_t n);

bool scan_check(const uint64_t *out, size_t n);

/* ---- find_early: where the needle is --------------------------------------- */

#define FIND_EARLY_NEEDLE UINT32_MAX

/* find_early_place - return the index of the first needle, after three quarters of the
 * items */
static inline size_t find_early_place(size_t n)
{
	return n / 4 * 3;
}

/* find_early_fill - fill the array, with the first needle in its place and more needles
 * after it */
void find_early_fill(uint32_t *numbers, size_t n);

bool find_early_check(size_t found, size_t n);

/* ---- sorts ----------------------------------------------------------------- */

/* An item to sort by @key; @place is its index before the sort. */
struct sort_item {
	uint32_t key;
	uint32_t place;
};

/* The orders in which the items can be before the sort. */
#define SORT_INPUTS "random, sorted, reversed, equal, organ_pipe"

/* sort_input_valid - return whether @input is a word of SORT_INPUTS */
bool sort_input_valid(const char *input);

void sort_fill(struct sort_item *items, size_t n, const char *input);

/* sort_check - return whether the items are in order, are those of sort_fill(), and, if
 * @stable, items with equal keys are in their old order */
bool sort_check(const struct sort_item *items, size_t n, const char *input,
		bool stable);

#ifdef __cplusplus
}
#endif

#endif
