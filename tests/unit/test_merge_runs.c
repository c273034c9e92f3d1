/* SPDX-License-Identifier: MIT */
/* test_merge_runs.c - any number of sorted runs becomes one */
#include <stdlib.h>
#include <string.h>

#include "bench/mpi/merge_runs.h"
#include "tests/unit/loops.h"

#define MOST_RUNS 9

static int compare(const void *left, const void *right)
{
	const uint64_t a = *(const uint64_t *)left;
	const uint64_t b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

/* Merge runs of the given lengths, with numbers below @distinct. */
static void merge(struct skua_ctx ctx, const size_t *lengths, size_t runs,
		  uint64_t distinct)
{
	size_t ends[MOST_RUNS], count = 0;
	uint64_t *numbers, *spare, *wanted, *result;
	uint64_t random = 1;

	for (size_t i = 0; i < runs; i++)
		ends[i] = count += lengths[i];
	numbers = calloc(count + 1, sizeof(*numbers));
	spare = calloc(count + 1, sizeof(*spare));
	wanted = calloc(count + 1, sizeof(*wanted));
	for (size_t i = 0; i < count; i++) {
		random = random * UINT64_C(6364136223846793005) + 1;
		wanted[i] = numbers[i] = (random >> 20) % distinct;
	}
	for (size_t i = 0; i < runs; i++)
		qsort(numbers + ends[i] - lengths[i], lengths[i],
		      sizeof(*numbers), compare);
	qsort(wanted, count, sizeof(*wanted), compare);
	result = merge_runs(ctx, numbers, spare, ends, runs);
	assert_true(result == numbers || result == spare);
	assert_memory_equal(result, wanted, count * sizeof(*wanted));
	free(numbers);
	free(spare);
	free(wanted);
}

static int merge_all(struct skua_ctx ctx, void *arg)
{
	static const size_t lengths[][MOST_RUNS] = {
		{ 0 },
		{ 1, 1, 1, 1, 1, 1, 1, 1, 1 },
		{ 0, 5, 0, 0, 7, 1, 0, 0, 3 },
		/* Several pieces each. */
		{ 100000, 0, 3, 70000, 1, 0, 0, 2, 4000 },
		{ 1, 140000, 1, 1, 65535, 0, 0, 65536, 65537 },
	};

	(void)arg;
	for (size_t i = 0; i < COUNT_OF(lengths); i++)
		for (size_t runs = 1; runs <= MOST_RUNS; runs++) {
			merge(ctx, lengths[i], runs, 3);
			merge(ctx, lengths[i], runs, UINT64_MAX);
		}
	return 0;
}

TEST(merge__each_number_of_runs__one_run)
{
	each_team(merge_all, NULL);
}
