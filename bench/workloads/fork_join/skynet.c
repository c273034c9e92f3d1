/* SPDX-License-Identifier: MIT */
/*
 * skynet.c - add up the ordinals of the leaves of a tree in which a node has ten children
 *
 * Makes a fork for each child, also for leaves, which only return their ordinal. An
 * operation is a fork.
 */
#include <stdio.h>

#include "bench/workloads/fork_join/forkjoin.h"
#include "bench/kernels/kernels.h"

struct skynet {
	uint64_t leaves;
	uint64_t sum;
};

struct skynet_job {
	struct skua_job job; /* first: it is cast back */
	uint64_t first;      /* ordinal of the first leaf below this node */
	uint64_t leaves;
	uint64_t sum;
};

/* ---- three ways ----------------------------------------------------------- */

static uint64_t sum_forked(struct skua_ctx ctx, uint64_t first,
			   uint64_t leaves);

static void run_skynet(struct skua_ctx ctx, struct skua_job *job)
{
	struct skynet_job *fork = (struct skynet_job *)job;

	fork->sum = sum_forked(ctx, fork->first, fork->leaves);
}

/* Add up the next @count children, each with @leaves leaves, from leaf
 * @first on. */
static uint64_t sum_children(struct skua_ctx ctx, uint64_t first,
			     uint64_t leaves, unsigned count)
{
	struct skynet_job child;
	struct skua_ctx inner;
	uint64_t sum;

	if (count == 0)
		return 0;
	child.job.run = run_skynet;
	child.first = first;
	child.leaves = leaves;
	inner = skua_fork(ctx, &child.job);
	sum = sum_children(inner, first + leaves, leaves, count - 1);
	if (skua_reclaim(inner, &child.job))
		return sum + sum_forked(ctx, first, leaves);
	return sum + child.sum;
}

static uint64_t sum_forked(struct skua_ctx ctx, uint64_t first, uint64_t leaves)
{
	return leaves == 1 ? first
			   : sum_children(ctx, first, leaves / SKYNET_CHILDREN,
					  SKYNET_CHILDREN);
}

FORKJOIN_CALL static uint64_t sum_serial(uint64_t first, uint64_t leaves)
{
	uint64_t sum = 0;

	if (leaves == 1)
		return first;
	leaves /= SKYNET_CHILDREN;
	for (unsigned i = 0; i < SKYNET_CHILDREN; i++)
		sum += sum_serial(first + i * leaves, leaves);
	return sum;
}

static uint64_t sum_inlined(uint64_t first, uint64_t leaves)
{
	uint64_t sum = 0;

	if (leaves == 1)
		return first;
	leaves /= SKYNET_CHILDREN;
	for (unsigned i = 0; i < SKYNET_CHILDREN; i++)
		sum += sum_inlined(first + i * leaves, leaves);
	return sum;
}

/* ---- the case ------------------------------------------------------------- */

static int make(void *of, uint64_t n, uint64_t *forks, uint64_t *ops)
{
	struct skynet *skynet = of;

	skynet->leaves = 1;
	*forks = 0;
	for (; n > 0; n--) {
		skynet->leaves *= SKYNET_CHILDREN;
		*forks += skynet->leaves;
	}
	*ops = *forks;
	return 0;
}

static void clear(void *of)
{
	((struct skynet *)of)->sum = UINT64_MAX;
}

static void root(struct skua_ctx ctx, void *of)
{
	struct skynet *skynet = of;

	skynet->sum = sum_forked(ctx, 0, skynet->leaves);
}

static void serial(void *of)
{
	struct skynet *skynet = of;

	skynet->sum = sum_serial(0, skynet->leaves);
}

static void inlined(void *of)
{
	struct skynet *skynet = of;

	skynet->sum = sum_inlined(0, skynet->leaves);
}

static bool check(const void *of)
{
	const struct skynet *skynet = of;
	uint64_t expected = skynet->leaves * (skynet->leaves - 1) / 2;

	if (skynet->sum == expected)
		return true;
	fprintf(stderr, "skynet: %ju, not %ju\n", (uintmax_t)skynet->sum,
		(uintmax_t)expected);
	return false;
}

FORKJOIN_WORKLOAD(skynet,
		  "Add up the leaves of a tree, ten forks for each node",
		  "Levels: 10^N leaves (default 6)", SKYNET_N, .min_n = 1,
		  .max_n = 8, .make = make, .bytes = sizeof(struct skynet),
		  .clear = clear, .root = root, .serial = serial,
		  .inlined = inlined, .check = check);
