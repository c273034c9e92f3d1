/* SPDX-License-Identifier: MIT */
/*
 * find_early.c - find the first match in an array, without reading the rest
 *
 * The first match is after three quarters of the array. More matches follow it, and
 * other workers may find one of them sooner. An operation is an item of the first three
 * quarters.
 */
#include <errno.h>
#include <stdlib.h>

#include "bench/kernels/arrays.h"
#include "bench/workloads/fork_join/forkjoin.h"

struct search {
	size_t n;
	size_t found;
	uint32_t *numbers;
};

/* ---- two ways ------------------------------------------------------------- */

static int find_range(struct skua_ctx ctx, size_t begin, size_t end,
		      size_t *found, void *arg)
{
	const struct search *of = arg;

	(void)ctx;
	for (size_t i = begin; i < end; i++) {
		if (of->numbers[i] == FIND_EARLY_NEEDLE) {
			*found = i;
			return 1;
		}
	}
	return 0;
}

static void root(struct skua_ctx ctx, void *arg)
{
	struct search *of = arg;

	/* The result need not be checked here: check() reads @found. */
	(void)skua_find_first(ctx, 0, of->n, 0, find_range, &of->found, of);
}

FORKJOIN_CALL static size_t find(const struct search *of)
{
	size_t i = 0;

	while (i < of->n && of->numbers[i] != FIND_EARLY_NEEDLE)
		i++;
	return i;
}

static void serial(void *arg)
{
	struct search *of = arg;

	of->found = find(of);
}

/* ---- the case ------------------------------------------------------------- */

static void unmake(void *arg)
{
	struct search *of = arg;

	free(of->numbers);
}

static int make(void *arg, uint64_t n, uint64_t *forks, uint64_t *ops)
{
	struct search *of = arg;

	of->n = n;
	of->numbers = calloc(n, sizeof(*of->numbers));
	if (of->numbers == NULL)
		return -ENOMEM;
	find_early_fill(of->numbers, n);
	*forks = FORKJOIN_ADAPTIVE;
	*ops = find_early_place(n);
	return 0;
}

static void clear(void *arg)
{
	((struct search *)arg)->found = SIZE_MAX;
}

static bool check(const void *arg)
{
	const struct search *of = arg;

	return find_early_check(of->found, of->n);
}

FORKJOIN_WORKLOAD(
	find_early,
	"Find the first match in an array, after three quarters of it",
	"How many items (default 20000000)", FIND_EARLY_N, .min_n = 4,
	.max_n = 1000000000, .make = make, .unmake = unmake,
	.bytes = sizeof(struct search), .clear = clear, .root = root,
	.serial = serial, .check = check);
