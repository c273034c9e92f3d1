/* SPDX-License-Identifier: MIT */
/*
 * reduce.c - add up many computed numbers; an operation is one number
 */

#include "bench/kernels/arrays.h"
#include "bench/workloads/fork_join/forkjoin.h"

struct sum {
	size_t n;
	uint64_t sum;
};

/* ---- two ways ------------------------------------------------------------- */

static int fold(struct skua_ctx ctx, size_t begin, size_t end, void *value,
		void *arg)
{
	uint64_t sum = *(uint64_t *)value;

	(void)ctx;
	(void)arg;
	for (size_t i = begin; i < end; i++)
		sum += reduce_item(i);
	*(uint64_t *)value = sum;
	return 0;
}

static int join(void *left, void *right, void *arg)
{
	(void)arg;
	*(uint64_t *)left += *(uint64_t *)right;
	return 0;
}

static const struct skua_reduction addition = { .size = sizeof(uint64_t),
						.fold = fold,
						.join = join };

static void root(struct skua_ctx ctx, void *arg)
{
	struct sum *of = arg;

	/* Cannot fail: the arguments are valid, and the functions return 0. */
	(void)skua_reduce(ctx, 0, of->n, 0, &addition, &of->sum, NULL);
}

FORKJOIN_CALL static uint64_t sum_range(size_t begin, size_t end)
{
	uint64_t sum = 0;

	for (size_t i = begin; i < end; i++)
		sum += reduce_item(i);
	return sum;
}

static void serial(void *arg)
{
	struct sum *of = arg;

	of->sum = sum_range(0, of->n);
}

/* ---- the case ------------------------------------------------------------- */

static int make(void *arg, uint64_t n, uint64_t *forks, uint64_t *ops)
{
	struct sum *of = arg;

	of->n = n;
	*forks = FORKJOIN_ADAPTIVE;
	*ops = n;
	return 0;
}

static void clear(void *arg)
{
	((struct sum *)arg)->sum = 0;
}

static bool check(const void *arg)
{
	const struct sum *of = arg;

	return reduce_check(of->sum, of->n);
}

FORKJOIN_WORKLOAD(reduce, "The sum of computed numbers",
		  "How many numbers (default 20000000)", REDUCE_N, .min_n = 1,
		  .max_n = 1000000000, .make = make,
		  .bytes = sizeof(struct sum), .clear = clear, .root = root,
		  .serial = serial, .check = check);
