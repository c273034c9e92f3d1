/* SPDX-License-Identifier: MIT */
/**
 * arrays.h - the input of data-parallel loops, and their answers
 *
 * The programs of other schedulers link the same object, and take the same
 * constants. The functions of one item are inline, for the loop of each program.
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

/* Sizes in the reports; skua-bench has options for others. */
#define FOR_N        4000000
#define REDUCE_N     20000000
#define SCAN_N       4000000
#define FIND_EARLY_N 20000000
#define SORT_N       1000000

/* ---- for: a = b + 3 c ------------------------------------------------------ */

/* for_item - the result from an item of each factor */
static inline double for_item(double b, double c)
{
	return b + 3 * c;
}

/* for_fill - factors of @n items: small whole numbers, so that sums are exact */
void for_fill(double *b, double *c, size_t n);

/* for_check - is @a right? Each check prints on stderr what was wrong. */
bool for_check(const double *a, size_t n);

/* ---- reduce: the sum of @n numbers that look random ------------------------ */

/* reduce_item - a number to add, modulo 2^64 */
static inline uint64_t reduce_item(size_t i)
{
	return scatter(i);
}

bool reduce_check(uint64_t sum, size_t n);

/* ---- scan: each is the sum of all up to it --------------------------------- */

void scan_fill(uint64_t *in, size_t n);

bool scan_check(const uint64_t *out, size_t n);

/* ---- find_early: where the needle is --------------------------------------- */

#define FIND_EARLY_NEEDLE UINT32_MAX

/* find_early_place - the index of the needle, after three quarters of the items */
static inline size_t find_early_place(size_t n)
{
	return n / 4 * 3;
}

/* find_early_fill - fill in the needle, and further ones after it */
void find_early_fill(uint32_t *numbers, size_t n);

bool find_early_check(size_t found, size_t n);

/* ---- sorts ----------------------------------------------------------------- */

/* Sorted by @key; @place is the position before the sort. */
struct sort_item {
	uint32_t key;
	uint32_t place;
};

/* The order of the items: a word of SORT_INPUTS. */
#define SORT_INPUTS "random, sorted, reversed, equal, organ_pipe"

/* sort_input_valid - is it one of these? */
bool sort_input_valid(const char *input);

void sort_fill(struct sort_item *items, size_t n, const char *input);

/* sort_check - are the items in order, are they those of sort_fill(), and, if @stable,
 * are items of one key in their old order? */
bool sort_check(const struct sort_item *items, size_t n, const char *input,
		bool stable);

#ifdef __cplusplus
}
#endif

#endif
