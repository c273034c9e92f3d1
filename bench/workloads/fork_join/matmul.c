/* SPDX-License-Identifier: MIT */
/*
 * matmul.c - multiply matrices by quarters
 *
 * Computes c += a b. Each quarter of c receives the sum of two products of quarters, and
 * the quarters of c are independent. A step makes three forks for the first products of
 * the four quarters, then three for the second products. A block of MATMUL_BLOCK rows
 * is multiplied without forks. An operation is the multiplication of a block.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/workloads/fork_join/forkjoin.h"
#include "bench/kernels/kernels.h"

struct matmul {
	uint32_t n;
	double *a, *b, *c;
};

struct matmul_job {
	struct skua_job job; /* first: it is cast back */
	struct matmul_product product;
};

/* ---- two ways ------------------------------------------------------------- */

static void multiply_forked(struct skua_ctx ctx,
			    const struct matmul_product *p);

static void run_product(struct skua_ctx ctx, struct skua_job *job)
{
	multiply_forked(ctx, &((struct matmul_job *)job)->product);
}

static void multiply_forked(struct skua_ctx ctx, const struct matmul_product *p)
{
	if (p->size == MATMUL_BLOCK) {
		matmul_block(p);
		return;
	}
	for (uint32_t k = 0; k < 2; k++) {
		struct skua_scope scope = skua_scope_begin(ctx);
		struct matmul_job job[3];
		struct matmul_product last = matmul_part(p, 1, 1, k);

		for (uint32_t i = 0; i < 3; i++) {
			job[i].job.run = run_product;
			job[i].product = matmul_part(p, i / 2, i % 2, k);
			skua_scope_fork(&scope, &job[i].job);
		}
		multiply_forked(scope.ctx, &last);
		skua_scope_join(&scope);
	}
}

static void multiply_serially(const struct matmul_product *p)
{
	if (p->size == MATMUL_BLOCK) {
		matmul_block(p);
		return;
	}
	for (uint32_t k = 0; k < 2; k++) {
		for (uint32_t i = 0; i < 4; i++) {
			struct matmul_product next =
				matmul_part(p, i / 2, i % 2, k);

			multiply_serially(&next);
		}
	}
}

/* ---- the case ------------------------------------------------------------- */

static void unmake(void *of)
{
	struct matmul *matmul = of;

	free(matmul->a);
	free(matmul->b);
	free(matmul->c);
}

/* Round up to a power of two, so that --n may be any number. */
static uint32_t round_up(uint64_t n)
{
	uint32_t size = MATMUL_BLOCK;

	while (size < n)
		size *= 2;
	return size;
}

static uint64_t count_forks(uint32_t size)
{
	return size == MATMUL_BLOCK ? 0 : 6 + 8 * count_forks(size / 2);
}

static double *matrix(uint32_t n)
{
	return aligned_alloc(64, (size_t)n * n * sizeof(double));
}

static int make(void *of, uint64_t n, uint64_t *forks, uint64_t *ops)
{
	struct matmul *matmul = of;
	uint64_t blocks = round_up(n) / MATMUL_BLOCK;

	matmul->n = round_up(n);
	matmul->a = matrix(matmul->n);
	matmul->b = matrix(matmul->n);
	matmul->c = matrix(matmul->n);
	if (matmul->a == NULL || matmul->b == NULL || matmul->c == NULL)
		return -ENOMEM;
	matmul_fill(matmul->a, matmul->b, matmul->n);
	*forks = count_forks(matmul->n);
	*ops = blocks * blocks * blocks;
	return 0;
}

static void clear(void *of)
{
	const struct matmul *matmul = of;

	memset(matmul->c, 0, (size_t)matmul->n * matmul->n * sizeof(double));
}

static struct matmul_product whole(const struct matmul *matmul)
{
	struct matmul_product p = { matmul->c, matmul->a, matmul->b, matmul->n,
				    matmul->n };

	return p;
}

static void root(struct skua_ctx ctx, void *of)
{
	struct matmul_product p = whole(of);

	multiply_forked(ctx, &p);
}

static void serial(void *of)
{
	struct matmul_product p = whole(of);

	multiply_serially(&p);
}

static bool check(const void *of)
{
	const struct matmul *matmul = of;

	return matmul_check(matmul->c, matmul->a, matmul->b, matmul->n);
}

FORKJOIN_WORKLOAD(
	matmul, "Multiply matrices by quarters, down to 32 x 32",
	"Rows and columns, rounded up to a power of two (default 512)",
	MATMUL_N, .min_n = 1, .max_n = 8192, .make = make, .unmake = unmake,
	.bytes = sizeof(struct matmul), .clear = clear, .root = root,
	.serial = serial, .check = check);
