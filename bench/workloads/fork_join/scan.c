/* SPDX-License-Identifier: MIT */
/*
 * scan.c - compute the running sum of an array
 *
 * At best, p workers take 2 / (p + 1) of the time of one worker, because they add each
 * item about twice. The memory's bandwidth limits the loop, too. An operation is an item.
 */
#include <errno.h>
#include <stdlib.h>

#include "bench/kernels/arrays.h"
#include "bench/workloads/fork_join/forkjoin.h"

struct sums {
	size_t n;
	uint64_t *in, *out;
};

/* ---- two ways ------------------------------------------------------------- */

static int fold(struct skua_ctx ctx, size_t begin, size_t end, void *value,
		void *arg)
{
	const struct sums *of = arg;
	uint64_t sum = *(uint64_t *)value;

	(void)ctx;
	for (size_t i = begin; i < end; i++)
		sum += of->in[i];
	*(uint64_t *)value = sum;
	return 0;
}

static int join(void *left, void *right, void *arg)
{
	(void)arg;
	*(uint64_t *)left += *(uint64_t *)right;
	return 0;
}

static int scan(struct skua_ctx ctx, size_t begin, size_t end, void *carry,
		void *arg)
{
	const struct sums *of = arg;
	uint64_t *restrict out = of->out;
	uint64_t sum = *(uint64_t *)carry;

	(void)ctx;
	for (size_t i = begin; i < end; i++)
		out[i] = sum += of->in[i];
	*(uint64_t *)carry = sum;
	return 0;
}

static const struct skua_reduction addition = { .size = sizeof(uint64_t),
						.fold = fold,
						.join = join };

static void root(struct skua_ctx ctx, void *arg)
{
	struct sums *of = arg;

	/* Cannot fail: the arguments are valid, and the functions return 0. */
	(void)skua_scan(ctx, 0, of->n, 0, &addition, scan, NULL, of);
}

FORKJOIN_CALL static void scan_all(const struct sums *of)
{
	uint64_t *restrict out = of->out;
	uint64_t sum = 0;

	for (size_t i = 0; i < of->n; i++)
		out[i] = sum += of->in[i];
}

static void serial(void *of)
{
	scan_all(of);
}

/* ---- the case ------------------------------------------------------------- */

static void unmake(void *arg)
{
	struct sums *of = arg;

	free(of->in);
	free(of->out);
}

static int make(void *arg, uint64_t n, uint64_t *forks, uint64_t *ops)
{
	struct sums *of = arg;

	of->n = n;
	of->in = calloc(n, sizeof(*of->in));
	of->out = calloc(n, sizeof(*of->out));
	if (of->in == NULL || of->out == NULL)
		return -ENOMEM;
	scan_fill(of->in, n);
	*forks = FORKJOIN_ADAPTIVE;
	*ops = n;
	return 0;
}

static void clear(void *arg)
{
	const struct sums *of = arg;

	for (size_t i = 0; i < of->n; i++)
		of->out[i] = 0;
}

static bool check(const void *arg)
{
	const struct sums *of = arg;

	return scan_check(of->out, of->n);
}

FORKJOIN_WORKLOAD(scan, "A running sum of an array",
		  "How many items (default 4000000)", SCAN_N, .min_n = 1,
		  .max_n = 1000000000, .make = make, .unmake = unmake,
		  .bytes = sizeof(struct sums), .clear = clear, .root = root,
		  .serial = serial, .check = check);
