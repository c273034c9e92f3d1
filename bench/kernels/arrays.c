/* SPDX-License-Identifier: MIT */
/* arrays.c - see arrays.h */
#include "bench/kernels/arrays.h"

#include <stdio.h>
#include <string.h>

static bool wrong(const char *who, size_t i)
{
	fprintf(stderr, "%s: item %zu is wrong\n", who, i);
	return false;
}

/* ---- for ------------------------------------------------------------------ */

static double for_b(size_t i)
{
	return (double)(i % 1000);
}

static double for_c(size_t i)
{
	return (double)(i % 777);
}

void for_fill(double *b, double *c, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		b[i] = for_b(i);
		c[i] = for_c(i);
	}
}

bool for_check(const double *a, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (a[i] != for_b(i) + for_c(i) + for_c(i) + for_c(i))
			return wrong("for", i);
	return true;
}

/* ---- reduce --------------------------------------------------------------- */

/* Add from the end, so that the loop differs from the measured one. */
bool reduce_check(uint64_t sum, size_t n)
{
	for (size_t i = n; i > 0; i--)
		sum -= scatter(i - 1);
	if (sum != 0)
		fputs("reduce: the sum is wrong\n", stderr);
	return sum == 0;
}

/* ---- scan ----------------------------------------------------------------- */

void scan_fill(uint64_t *in, size_t n)
{
	for (size_t i = 0; i < n; i++)
		in[i] = 2 * i + 1;
}

/* The input is the odd numbers, whose running sums are squares. */
bool scan_check(const uint64_t *out, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (out[i] != (uint64_t)(i + 1) * (i + 1))
			return wrong("scan", i);
	return true;
}

/* ---- find_early ----------------------------------------------------------- */

void find_early_fill(uint32_t *numbers, size_t n)
{
	for (size_t i = 0; i < n; i++)
		numbers[i] = (uint32_t)i & INT32_MAX;
	for (size_t i = find_early_place(n); i < n; i += n / 16 + 1)
		numbers[i] = FIND_EARLY_NEEDLE;
}

bool find_early_check(size_t found, size_t n)
{
	if (found != find_early_place(n))
		fprintf(stderr, "find_early: found at %zu, not at %zu\n", found,
			find_early_place(n));
	return found == find_early_place(n);
}

/* ---- sorts ---------------------------------------------------------------- */

/* Return a pseudo-random key of 20 bits: among a million items, a key occurs
 * once on average. */
static uint32_t random_key(size_t i, size_t n)
{
	(void)n;
	return (uint32_t)(scatter(i) >> 44);
}

static uint32_t sorted_key(size_t i, size_t n)
{
	(void)n;
	return (uint32_t)i;
}

static uint32_t reversed_key(size_t i, size_t n)
{
	return (uint32_t)(n - i);
}

static uint32_t equal_key(size_t i, size_t n)
{
	(void)i;
	(void)n;
	return 1;
}

/* Keys that rise up to the middle, and fall again. */
static uint32_t organ_pipe_key(size_t i, size_t n)
{
	return (uint32_t)(i < n / 2 ? i : n - i);
}

static const struct sort_input {
	const char *name;
	uint32_t (*key)(size_t i, size_t n);
} inputs[] = {
	{ "random", random_key },         { "sorted", sorted_key },
	{ "reversed", reversed_key },     { "equal", equal_key },
	{ "organ_pipe", organ_pipe_key },
};

static const struct sort_input *find_input(const char *name)
{
	for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++)
		if (strcmp(inputs[i].name, name) == 0)
			return &inputs[i];
	return NULL;
}

bool sort_input_valid(const char *input)
{
	return find_input(input) != NULL;
}

void sort_fill(struct sort_item *items, size_t n, const char *input)
{
	const struct sort_input *it = find_input(input);

	for (size_t i = 0; i < n; i++) {
		items[i].key = it->key(i, n);
		items[i].place = (uint32_t)i;
	}
}

bool sort_check(const struct sort_item *items, size_t n, const char *input,
		bool stable)
{
	const struct sort_input *it = find_input(input);
	uint64_t places = 0, scattered = 0;

	for (size_t i = 0; i < n; i++) {
		const struct sort_item *item = &items[i];

		if (item->place >= n || item->key != it->key(item->place, n))
			return wrong("sort", i);
		if (i > 0 && (item->key < item[-1].key ||
			      (stable && item->key == item[-1].key &&
			       item->place < item[-1].place)))
			return wrong("sort", i);
		/* Each place must occur once. Then both sums are 0; it is very
		 * unlikely that they are 0 for other places. */
		places += (uint64_t)item->place - i;
		scattered += scatter(item->place) - scatter(i);
	}
	if (places != 0 || scattered != 0)
		fputs("sort: these are other items\n", stderr);
	return places == 0 && scattered == 0;
}
