/* SPDX-License-Identifier: MIT */
/*
 * for.c - compute a = b + 3 c for arrays that are larger than any cache
 *
 * The memory's bandwidth limits this loop, so a scheduler can add cost but gain little.
 * The reference is the same loop run by new threads, each with one equal part. An
 * operation is an item.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "bench/kernels/arrays.h"
#include "bench/workloads/fork_join/forkjoin.h"

#define MAX_THREADS 64u

struct arrays {
	size_t n;
	double *a, *b, *c;
};

/* ---- the loop, in three ways ---------------------------------------------- */

static int add(struct skua_ctx ctx, size_t begin, size_t end, void *arg)
{
	const struct arrays *of = arg;
	double *restrict a = of->a;

	(void)ctx;
	for (size_t i = begin; i < end; i++)
		a[i] = for_item(of->b[i], of->c[i]);
	return 0;
}

static void root(struct skua_ctx ctx, void *of)
{
	/* Cannot fail: the arguments are valid, and the body returns 0. */
	(void)skua_for(ctx, 0, ((struct arrays *)of)->n, 0, add, of);
}

FORKJOIN_CALL static void add_range(const struct arrays *of, size_t begin,
				    size_t end)
{
	double *restrict a = of->a;

	for (size_t i = begin; i < end; i++)
		a[i] = for_item(of->b[i], of->c[i]);
}

static void serial(void *of)
{
	add_range(of, 0, ((struct arrays *)of)->n);
}

struct part {
	const struct arrays *of;
	size_t begin, end;
	pthread_t thread;
	bool begun;
};

static void *run_part(void *arg)
{
	const struct part *part = arg;

	add_range(part->of, part->begin, part->end);
	return NULL;
}

static void by_hand(void *arg, unsigned threads)
{
	const struct arrays *of = arg;
	struct part parts[MAX_THREADS];

	if (threads > MAX_THREADS)
		threads = MAX_THREADS;
	for (unsigned i = 0; i < threads; i++) {
		struct part *part = &parts[i];

		part->of = of;
		part->begin = of->n * i / threads;
		part->end = of->n * (i + 1) / threads;
		/* The caller does the last part itself, and each part for
		 * which no thread could start. */
		part->begun =
			i + 1 < threads && pthread_create(&part->thread, NULL,
							  run_part, part) == 0;
		if (!part->begun)
			run_part(part);
	}
	for (unsigned i = 0; i < threads; i++)
		if (parts[i].begun)
			pthread_join(parts[i].thread, NULL);
}

/* ---- the case ------------------------------------------------------------- */

static void unmake(void *arg)
{
	struct arrays *of = arg;

	free(of->a);
	free(of->b);
	free(of->c);
}

static int make(void *arg, uint64_t n, uint64_t *forks, uint64_t *ops)
{
	struct arrays *of = arg;

	of->n = n;
	of->a = calloc(n, sizeof(*of->a));
	of->b = calloc(n, sizeof(*of->b));
	of->c = calloc(n, sizeof(*of->c));
	if (of->a == NULL || of->b == NULL || of->c == NULL)
		return -ENOMEM;
	for_fill(of->b, of->c, n);
	*forks = FORKJOIN_ADAPTIVE;
	*ops = n;
	return 0;
}

static void clear(void *arg)
{
	const struct arrays *of = arg;

	for (size_t i = 0; i < of->n; i++)
		of->a[i] = -1;
}

static bool check(const void *arg)
{
	const struct arrays *of = arg;

	return for_check(of->a, of->n);
}

FORKJOIN_WORKLOAD(for, "A loop over arrays, limited by memory bandwidth",
		  "Items of each of three arrays (default 4000000)", FOR_N, .min_n = 1, .max_n = 1000000000, .make = make, .unmake = unmake, .bytes = sizeof(struct arrays), .clear = clear, .root = root, .serial = serial, .by_hand = by_hand, .check = check);
