/* SPDX-License-Identifier: MIT */
/*
 * nqueens.c - count the ways to place n queens that do not attack each other
 *
 * Places queens row by row. Each place that no queen above attacks is a fork, and an
 * operation. Three words, with one bit for each place of a row, tell which places are
 * attacked along the column and along each diagonal. There is no cut-off.
 */
#include <stdio.h>

#include "bench/workloads/fork_join/forkjoin.h"
#include "bench/kernels/kernels.h"

#define N_MAX 16

struct queens {
	uint32_t n;
	uint32_t all; /* bit mask of the places of a row */
	uint64_t ways;
};

struct queen_job {
	struct skua_job job; /* first: it is cast back */
	uint32_t all;        /* bit mask of the places of a row */
	uint32_t columns, left, right;
	uint64_t ways;
};

/* The published number of ways for each n (OEIS A000170). */
static const uint64_t published[N_MAX + 1] = {
	1,   1,   0,    0,     2,     10,     4,       40,       92,
	352, 724, 2680, 14200, 73712, 365596, 2279184, 14772512,
};

/* ---- three ways ----------------------------------------------------------- */

static uint64_t place_forked(struct skua_ctx ctx, uint32_t all,
			     uint32_t columns, uint32_t left, uint32_t right);

static void run_queen(struct skua_ctx ctx, struct skua_job *job)
{
	struct queen_job *fork = (struct queen_job *)job;

	fork->ways = place_forked(ctx, fork->all, fork->columns, fork->left,
				  fork->right);
}

/* Place a queen at each place of this row that is set in @safe. */
static uint64_t place_at(struct skua_ctx ctx, uint32_t all, uint32_t columns,
			 uint32_t left, uint32_t right, uint32_t safe)
{
	uint32_t place = safe & -safe;
	struct queen_job fork;
	struct skua_ctx inner;
	uint64_t ways;

	if (safe == 0)
		return 0;
	fork.job.run = run_queen;
	fork.all = all;
	fork.columns = columns | place;
	fork.left = (left | place) << 1;
	fork.right = (right | place) >> 1;
	inner = skua_fork(ctx, &fork.job);
	ways = place_at(inner, all, columns, left, right, safe - place);
	if (skua_reclaim(inner, &fork.job))
		return ways + place_forked(ctx, all, fork.columns, fork.left,
					   fork.right);
	return ways + fork.ways;
}

static uint64_t place_forked(struct skua_ctx ctx, uint32_t all,
			     uint32_t columns, uint32_t left, uint32_t right)
{
	if (columns == all)
		return 1;
	return place_at(ctx, all, columns, left, right,
			all & ~(columns | left | right));
}

FORKJOIN_CALL static uint64_t place_serial(uint32_t all, uint32_t columns,
					   uint32_t left, uint32_t right)
{
	uint32_t safe = all & ~(columns | left | right);
	uint64_t ways = 0;

	if (columns == all)
		return 1;
	for (; safe != 0; safe &= safe - 1) {
		uint32_t place = safe & -safe;

		ways += place_serial(all, columns | place, (left | place) << 1,
				     (right | place) >> 1);
	}
	return ways;
}

static uint64_t place_inlined(uint32_t all, uint32_t columns, uint32_t left,
			      uint32_t right)
{
	uint32_t safe = all & ~(columns | left | right);
	uint64_t ways = 0;

	if (columns == all)
		return 1;
	for (; safe != 0; safe &= safe - 1) {
		uint32_t place = safe & -safe;

		ways += place_inlined(all, columns | place, (left | place) << 1,
				      (right | place) >> 1);
	}
	return ways;
}

/* ---- the case ------------------------------------------------------------- */

/* Count all placements of a queen, in complete and incomplete boards: the
 * operations. */
static uint64_t count_places(uint32_t all, uint32_t columns, uint32_t left,
			     uint32_t right)
{
	uint32_t safe = all & ~(columns | left | right);
	uint64_t places = 0;

	for (; safe != 0; safe &= safe - 1) {
		uint32_t place = safe & -safe;

		places += 1 + count_places(all, columns | place,
					   (left | place) << 1,
					   (right | place) >> 1);
	}
	return places;
}

static int make(void *of, uint64_t n, uint64_t *forks, uint64_t *ops)
{
	struct queens *queens = of;

	queens->n = (uint32_t)n;
	queens->all = (1u << n) - 1;
	*forks = count_places(queens->all, 0, 0, 0);
	*ops = *forks;
	return 0;
}

static void clear(void *of)
{
	((struct queens *)of)->ways = UINT64_MAX;
}

static void root(struct skua_ctx ctx, void *of)
{
	struct queens *queens = of;

	queens->ways = place_forked(ctx, queens->all, 0, 0, 0);
}

static void serial(void *of)
{
	struct queens *queens = of;

	queens->ways = place_serial(queens->all, 0, 0, 0);
}

static void inlined(void *of)
{
	struct queens *queens = of;

	queens->ways = place_inlined(queens->all, 0, 0, 0);
}

static bool check(const void *of)
{
	const struct queens *queens = of;

	if (queens->ways == published[queens->n])
		return true;
	fprintf(stderr, "nqueens: %ju ways for %u; published: %ju\n",
		(uintmax_t)queens->ways, queens->n,
		(uintmax_t)published[queens->n]);
	return false;
}

FORKJOIN_WORKLOAD(nqueens, "Place queens on a board, one fork for each place",
		  "How many queens (default 13)", NQUEENS_N, .min_n = 1,
		  .max_n = N_MAX, .make = make, .bytes = sizeof(struct queens),
		  .clear = clear, .root = root, .serial = serial,
		  .inlined = inlined, .check = check);
