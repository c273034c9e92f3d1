/* SPDX-License-Identifier: MIT */
/* kernels.c - see kernels.h */
#include "bench/kernels/kernels.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench/kernels/compute.h"

/* ---- matmul --------------------------------------------------------------- */

static uint64_t quarter(const struct matmul_product *p, uint32_t row,
			uint32_t column)
{
	uint64_t half = p->size / 2;

	return row * half * p->stride + column * half;
}

struct matmul_product matmul_part(const struct matmul_product *p, uint32_t row,
				  uint32_t column, uint32_t k)
{
	struct matmul_product part = {
		.c = p->c + quarter(p, row, column),
		.a = p->a + quarter(p, row, k),
		.b = p->b + quarter(p, k, column),
		.size = p->size / 2,
		.stride = p->stride,
	};

	return part;
}

void matmul_block(const struct matmul_product *p)
{
	uint64_t stride = p->stride;

	for (uint32_t i = 0; i < MATMUL_BLOCK; i++) {
		double sum[MATMUL_BLOCK] = { 0 };

		for (uint32_t k = 0; k < MATMUL_BLOCK; k++)
			for (uint32_t j = 0; j < MATMUL_BLOCK; j++)
				sum[j] += p->a[i * stride + k] *
					  p->b[k * stride + j];
		for (uint32_t j = 0; j < MATMUL_BLOCK; j++)
			p->c[i * stride + j] += sum[j];
	}
}

/* Return a pseudo-random whole number from -8 to 7. */
static double small_number(uint64_t number)
{
	return (double)(int)(scatter(number) % 16) - 8;
}

void matmul_fill(double *a, double *b, uint32_t n)
{
	uint64_t count = (uint64_t)n * n;

	for (uint64_t i = 0; i < count; i++) {
		a[i] = small_number(i);
		b[i] = small_number(count + i);
	}
}

/* out = matrix * vector */
static void multiply_vector(const double *matrix, const double *vector,
			    double *out, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		out[i] = 0;
		for (uint32_t j = 0; j < n; j++)
			out[i] += matrix[(uint64_t)i * n + j] * vector[j];
	}
}

/* Check the product by one random vector. A wrong matrix passes with a probability of at
 * most 1 in 16 (Freivalds, 1977). */
static bool check_vector(const double *c, const double *a, const double *b,
			 uint32_t n, uint32_t round, double *vectors)
{
	double *vector = vectors, *by_b = vectors + n;
	double *expected = vectors + 2 * n, *by_c = vectors + 3 * n;

	for (uint32_t i = 0; i < n; i++)
		vector[i] = small_number(~(uint64_t)0 - round * n - i);
	multiply_vector(b, vector, by_b, n);
	multiply_vector(a, by_b, expected, n);
	multiply_vector(c, vector, by_c, n);
	for (uint32_t i = 0; i < n; i++) {
		if (by_c[i] == expected[i])
			continue;
		fprintf(stderr, "matmul: row %u of the product is wrong\n", i);
		return false;
	}
	return true;
}

bool matmul_check(const double *c, const double *a, const double *b, uint32_t n)
{
	double *vectors = malloc(4 * n * sizeof(*vectors));
	bool right = vectors != NULL;

	for (uint32_t round = 0; right && round < 4; round++)
		right = check_vector(c, a, b, n, round, vectors);
	free(vectors);
	return right;
}

/* ---- cilksort ------------------------------------------------------------- */

/* Runs shorter than this are sorted by insertion. A guess. */
#define INSERTION_COUNT 20

static void sort_by_insertion(uint32_t *numbers, uint64_t count)
{
	for (uint64_t i = 1; i < count; i++) {
		uint32_t number = numbers[i];
		uint64_t at = i;

		for (; at > 0 && numbers[at - 1] > number; at--)
			numbers[at] = numbers[at - 1];
		numbers[at] = number;
	}
}

static uint32_t median_of_3(uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t low = a < b ? a : b, high = a < b ? b : a;

	return c < low ? low : c > high ? high : c;
}

void cilksort_run(uint32_t *numbers, uint64_t count)
{
	while (count > INSERTION_COUNT) {
		uint32_t pivot = median_of_3(numbers[0], numbers[count / 2],
					     numbers[count - 1]);
		uint64_t left = 0, right = count - 1;

		/* Numbers before left are at most the median, numbers after
		 * right are at least the median. The median itself stops both
		 * scans. */
		for (;;) {
			uint32_t swap;

			while (numbers[left] < pivot)
				left++;
			while (numbers[right] > pivot)
				right--;
			if (left >= right)
				break;
			swap = numbers[left];
			numbers[left++] = numbers[right];
			numbers[right--] = swap;
		}
		cilksort_run(numbers + right + 1, count - right - 1);
		count = right + 1;
	}
	sort_by_insertion(numbers, count);
}

struct cilksort_merge cilksort_runs(const uint32_t *numbers, uint64_t from,
				    uint64_t middle, uint64_t end,
				    uint32_t *out)
{
	struct cilksort_merge m = { numbers + from, numbers + middle,
				    middle - from, end - middle, out + from };

	return m;
}

/* Return how many numbers of a sorted run are less than @number. */
static uint64_t count_below(const uint32_t *run, uint64_t count,
			    uint32_t number)
{
	uint64_t low = 0;

	while (low < count) {
		uint64_t middle = low + (count - low) / 2;

		if (run[middle] < number)
			low = middle + 1;
		else
			count = middle;
	}
	return low;
}

bool cilksort_cut(const struct cilksort_merge *m, struct cilksort_merge *low,
		  struct cilksort_merge *high)
{
	bool swapped = m->a_count < m->b_count;
	const uint32_t *longer = swapped ? m->b : m->a;
	const uint32_t *other = swapped ? m->a : m->b;
	uint64_t longer_count = swapped ? m->b_count : m->a_count;
	uint64_t other_count = swapped ? m->a_count : m->b_count;
	uint64_t half = longer_count / 2, below;

	if (longer_count + other_count <= CILKSORT_RUN)
		return false;
	below = count_below(other, other_count, longer[half]);
	*low = (struct cilksort_merge){ longer, other, half, below, m->out };
	*high = (struct cilksort_merge){ longer + half, other + below,
					 longer_count - half,
					 other_count - below,
					 m->out + half + below };
	return true;
}

void cilksort_merge_runs(const struct cilksort_merge *m)
{
	const uint32_t *a = m->a, *a_end = a + m->a_count;
	const uint32_t *b = m->b, *b_end = b + m->b_count;
	uint32_t *out = m->out;

	/* Choose without a branch, because the processor cannot predict
	 * which number is smaller. */
	while (a < a_end && b < b_end) {
		bool from_a = *a <= *b;

		*out++ = from_a ? *a : *b;
		a += from_a;
		b += !from_a;
	}
	while (a < a_end)
		*out++ = *a++;
	while (b < b_end)
		*out++ = *b++;
}

static uint32_t number_at(uint64_t i)
{
	return (uint32_t)(scatter(i) >> 32);
}

void cilksort_fill(uint32_t *numbers, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		numbers[i] = number_at(i);
}

/* The same numbers have the same sum, and the same sum of scatter(). It is very
 * unlikely that other numbers have the same two sums. */
bool cilksort_check(const uint32_t *numbers, uint64_t count)
{
	uint64_t sum = 0, scattered = 0;

	for (uint64_t i = 0; i < count; i++) {
		sum += (uint64_t)numbers[i] - number_at(i);
		scattered += scatter(numbers[i]) - scatter(number_at(i));
		if (i > 0 && numbers[i] < numbers[i - 1]) {
			fprintf(stderr, "cilksort: number %ju is too small\n",
				(uintmax_t)i);
			return false;
		}
	}
	if (sum != 0 || scattered != 0)
		fputs("cilksort: these are other numbers\n", stderr);
	return sum == 0 && scattered == 0;
}
