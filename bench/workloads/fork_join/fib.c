/* SPDX-License-Identifier: MIT */
/*
 * fib.c - Fibonacci numbers by their definition: almost nothing but forks
 *
 * An operation is a fork. Each call with a number of 2 or more makes one.
 */
#include <stdio.h>

#include "bench/workloads/fork_join/fib.h"
#include "bench/workloads/fork_join/forkjoin.h"
#include "bench/kernels/kernels.h"

struct fib {
	uint64_t n;
	uint64_t answer;
};

struct fib_job {
	struct skua_job job; /* first: it is cast back */
	uint64_t n;
	uint64_t answer;
};

static uint64_t fork_fib(struct skua_ctx ctx, uint64_t n);

/* Handle a leaf in the caller: a call costs about as much as a fork, and
 * half of all calls would be for leaves. */
static inline uint64_t fib_of(struct skua_ctx ctx, uint64_t n)
{
	return n < 2 ? n : fork_fib(ctx, n);
}

static void run_fib(struct skua_ctx ctx, struct skua_job *job)
{
	struct fib_job *fork = (struct fib_job *)job;

	fork->answer = fib_of(ctx, fork->n);
}

static uint64_t fork_fib(struct skua_ctx ctx, uint64_t n)
{
	struct fib_job left = { .job.run = run_fib, .n = n - 1 };
	struct skua_ctx inner = skua_fork(ctx, &left.job);
	uint64_t right = fib_of(inner, n - 2);

	if (skua_reclaim(inner, &left.job))
		return fib_of(ctx, n - 1) + right;
	return left.answer + right;
}

uint64_t fib_forked(struct skua_ctx ctx, uint64_t n)
{
	return fib_of(ctx, n);
}

FORKJOIN_CALL uint64_t fib_serial(uint64_t n)
{
	return n < 2 ? n : fib_serial(n - 1) + fib_serial(n - 2);
}

static uint64_t fib_inlined(uint64_t n)
{
	return n < 2 ? n : fib_inlined(n - 1) + fib_inlined(n - 2);
}

uint64_t fib_number(uint64_t n)
{
	uint64_t a = 0, b = 1;

	for (; n > 0; n--) {
		uint64_t next = a + b;

		a = b;
		b = next;
	}
	return a;
}

/* ---- the case ------------------------------------------------------------- */

static int make(void *of, uint64_t n, uint64_t *forks, uint64_t *ops)
{
	struct fib *fib = of;

	fib->n = n;
	*forks = fib_forks(n);
	*ops = *forks;
	return 0;
}

static void clear(void *of)
{
	((struct fib *)of)->answer = UINT64_MAX;
}

static void root(struct skua_ctx ctx, void *of)
{
	struct fib *fib = of;

	fib->answer = fib_forked(ctx, fib->n);
}

static void serial(void *of)
{
	struct fib *fib = of;

	fib->answer = fib_serial(fib->n);
}

static void inlined(void *of)
{
	struct fib *fib = of;

	fib->answer = fib_inlined(fib->n);
}

static bool check(const void *of)
{
	const struct fib *fib = of;

	if (fib->answer == fib_number(fib->n))
		return true;
	fprintf(stderr, "fib: number %ju is %ju, not %ju\n", (uintmax_t)fib->n,
		(uintmax_t)fib->answer, (uintmax_t)fib_number(fib->n));
	return false;
}

FORKJOIN_WORKLOAD(fib,
		  "Fibonacci numbers by definition, one fork for each call",
		  "Which number (default 33)", FIB_N, .min_n = 2, .max_n = 50,
		  .make = make, .bytes = sizeof(struct fib), .clear = clear,
		  .root = root, .serial = serial, .inlined = inlined,
		  .check = check);
