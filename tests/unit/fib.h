/* SPDX-License-Identifier: MIT */
/* fib.h - the Fibonacci numbers, a fork for each call but the last */
#ifndef SKUA_TESTS_UNIT_FIB_H
#define SKUA_TESTS_UNIT_FIB_H

#include "skua/fork.h"

struct fib_job {
	struct skua_job job; /* first: a job is its fib_job */
	long n, result;
};

static long fib(struct skua_ctx ctx, long n);

static inline void fib_run(struct skua_ctx ctx, struct skua_job *job)
{
	struct fib_job *it = (struct fib_job *)job;

	it->result = fib(ctx, it->n);
}

static inline long fib(struct skua_ctx ctx, long n)
{
	struct fib_job left;
	struct skua_ctx inner;
	long right;

	if (n < 2)
		return n;
	left.job.run = fib_run;
	left.n = n - 1;
	inner = skua_fork(ctx, &left.job);
	right = fib(inner, n - 2);
	if (skua_reclaim(inner, &left.job))
		return fib(ctx, n - 1) + right;
	return left.result + right;
}

struct fib_call {
	long n, result;
};

/* fib_root - for skua_run(); @arg is a fib_call */
static inline void fib_root(struct skua_ctx ctx, void *arg)
{
	struct fib_call *call = arg;

	call->result = fib(ctx, call->n);
}

#endif
