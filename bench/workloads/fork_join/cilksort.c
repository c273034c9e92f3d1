/* SPDX-License-Identifier: MIT */
/*
 * cilksort.c - merge sort in which merging forks as well
 *
 * Sorts the four quarters of the array, merges them into two halves, and merges the
 * halves. A merge cuts the longer run in the middle, and the other run where the number
 * at that cut belongs. CILKSORT_RUN or fewer numbers are sorted, or merged, without
 * forks. An operation is one number. (The sort that came with Cilk 5, written from its
 * description.)
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/workloads/fork_join/forkjoin.h"
#include "bench/kernels/kernels.h"

struct cilksort {
	uint64_t n;
	uint32_t *numbers;
	uint32_t *spare;
};

struct merge_job {
	struct skua_job job; /* first: it is cast back */
	struct cilksort_merge merge;
};

struct sort_job {
	struct skua_job job; /* first: it is cast back */
	uint32_t *numbers;
	uint32_t *spare;
	uint64_t count;
};

/* ---- merging -------------------------------------------------------------- */

static void merge_forked(struct skua_ctx ctx, const struct cilksort_merge *m);

static void run_merge(struct skua_ctx ctx, struct skua_job *job)
{
	merge_forked(ctx, &((struct merge_job *)job)->merge);
}

static void merge_forked(struct skua_ctx ctx, const struct cilksort_merge *m)
{
	struct merge_job low = { .job.run = run_merge };
	struct skua_ctx inner;
	struct cilksort_merge high;

	if (!cilksort_cut(m, &low.merge, &high)) {
		cilksort_merge_runs(m);
		return;
	}
	inner = skua_fork(ctx, &low.job);
	merge_forked(inner, &high);
	if (skua_reclaim(inner, &low.job))
		merge_forked(ctx, &low.merge);
}

static void merge_serially(const struct cilksort_merge *m)
{
	struct cilksort_merge low, high;

	if (!cilksort_cut(m, &low, &high)) {
		cilksort_merge_runs(m);
		return;
	}
	merge_serially(&low);
	merge_serially(&high);
}

/* ---- sorting -------------------------------------------------------------- */

static void sort_forked(struct skua_ctx ctx, uint32_t *numbers, uint32_t *spare,
			uint64_t count);

static void run_sort(struct skua_ctx ctx, struct skua_job *job)
{
	struct sort_job *fork = (struct sort_job *)job;

	sort_forked(ctx, fork->numbers, fork->spare, fork->count);
}

static void sort_forked(struct skua_ctx ctx, uint32_t *numbers, uint32_t *spare,
			uint64_t count)
{
	struct skua_scope scope = skua_scope_begin(ctx);
	uint64_t half = cilksort_quarter(count, 2);
	struct merge_job low = { .job.run = run_merge };
	struct cilksort_merge high, all;
	struct sort_job job[3];

	if (count <= CILKSORT_RUN) {
		cilksort_run(numbers, count);
		return;
	}
	for (unsigned i = 0; i < 3; i++) {
		uint64_t from = cilksort_quarter(count, i);

		job[i] = (struct sort_job){ { run_sort },
					    numbers + from,
					    spare + from,
					    cilksort_quarter(count, i + 1) -
						    from };
		skua_scope_fork(&scope, &job[i].job);
	}
	sort_forked(scope.ctx, numbers + cilksort_quarter(count, 3),
		    spare + cilksort_quarter(count, 3),
		    count - cilksort_quarter(count, 3));
	skua_scope_join(&scope);

	low.merge = cilksort_runs(numbers, 0, cilksort_quarter(count, 1), half,
				  spare);
	high = cilksort_runs(numbers, half, cilksort_quarter(count, 3), count,
			     spare);
	skua_scope_fork(&scope, &low.job);
	merge_forked(scope.ctx, &high);
	skua_scope_join(&scope);

	all = cilksort_runs(spare, 0, half, count, numbers);
	merge_forked(ctx, &all);
}

static void sort_serially(uint32_t *numbers, uint32_t *spare, uint64_t count)
{
	uint64_t half = cilksort_quarter(count, 2);
	struct cilksort_merge m;

	if (count <= CILKSORT_RUN) {
		cilksort_run(numbers, count);
		return;
	}
	for (unsigned i = 0; i < 4; i++) {
		uint64_t from = cilksort_quarter(count, i);

		sort_serially(numbers + from, spare + from,
			      cilksort_quarter(count, i + 1) - from);
	}
	m = cilksort_runs(numbers, 0, cilksort_quarter(count, 1), half, spare);
	merge_serially(&m);
	m = cilksort_runs(numbers, half, cilksort_quarter(count, 3), count,
			  spare);
	merge_serially(&m);
	m = cilksort_runs(spare, 0, half, count, numbers);
	merge_serially(&m);
}

/* ---- how many forks ------------------------------------------------------- */

/* The number of forks depends on the numbers to sort, because they decide where a merge
 * cuts the shorter run. It is therefore counted by making all the cuts. */
static uint64_t count_merge(const struct cilksort_merge *m)
{
	struct cilksort_merge low, high;

	if (!cilksort_cut(m, &low, &high))
		return 0;
	return 1 + count_merge(&low) + count_merge(&high);
}

static uint64_t count_sort(uint32_t *numbers, uint32_t *spare, uint64_t count)
{
	uint64_t half = cilksort_quarter(count, 2), forks = 4;
	struct cilksort_merge low, high, all;

	if (count <= CILKSORT_RUN) {
		cilksort_run(numbers, count);
		return 0;
	}
	for (unsigned i = 0; i < 4; i++) {
		uint64_t from = cilksort_quarter(count, i);

		forks += count_sort(numbers + from, spare + from,
				    cilksort_quarter(count, i + 1) - from);
	}
	low = cilksort_runs(numbers, 0, cilksort_quarter(count, 1), half,
			    spare);
	high = cilksort_runs(numbers, half, cilksort_quarter(count, 3), count,
			     spare);
	all = cilksort_runs(spare, 0, half, count, numbers);
	forks += count_merge(&low) + count_merge(&high);
	cilksort_merge_runs(&low);
	cilksort_merge_runs(&high);
	forks += count_merge(&all);
	cilksort_merge_runs(&all);
	return forks;
}

/* ---- the case ------------------------------------------------------------- */

static void unmake(void *of)
{
	struct cilksort *sort = of;

	free(sort->numbers);
	free(sort->spare);
}

static int make(void *of, uint64_t n, uint64_t *forks, uint64_t *ops)
{
	struct cilksort *sort = of;

	sort->n = n;
	sort->numbers = calloc(n, sizeof(*sort->numbers));
	sort->spare = calloc(n, sizeof(*sort->spare));
	if (sort->numbers == NULL || sort->spare == NULL)
		return -ENOMEM;
	cilksort_fill(sort->numbers, n);
	*forks = count_sort(sort->numbers, sort->spare, n);
	*ops = n;
	return 0;
}

static void clear(void *of)
{
	const struct cilksort *sort = of;

	cilksort_fill(sort->numbers, sort->n);
}

static void root(struct skua_ctx ctx, void *of)
{
	const struct cilksort *sort = of;

	sort_forked(ctx, sort->numbers, sort->spare, sort->n);
}

static void serial(void *of)
{
	const struct cilksort *sort = of;

	sort_serially(sort->numbers, sort->spare, sort->n);
}

static bool check(const void *of)
{
	const struct cilksort *sort = of;

	return cilksort_check(sort->numbers, sort->n);
}

FORKJOIN_WORKLOAD(cilksort,
		  "Merge sort that merges by forks, down to 2,048 numbers",
		  "How many numbers (default 2000000)", CILKSORT_N, .min_n = 1,
		  .max_n = 1000000000, .make = make, .unmake = unmake,
		  .bytes = sizeof(struct cilksort), .clear = clear,
		  .root = root, .serial = serial, .check = check);
