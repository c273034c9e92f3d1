/* SPDX-License-Identifier: MIT */
/* fib.h - Fibonacci numbers by their definition, with forks and without */
#ifndef SKUA_BENCH_WORKLOADS_FORK_JOIN_FIB_H
#define SKUA_BENCH_WORKLOADS_FORK_JOIN_FIB_H

#include "skua/fork.h"

uint64_t fib_forked(struct skua_ctx ctx, uint64_t n);

/* fib_serial - compute a Fibonacci number by recursive calls that are not inlined */
uint64_t fib_serial(uint64_t n);

/* fib_number - compute a Fibonacci number by a loop */
uint64_t fib_number(uint64_t n);

/* fib_forks - return the number of forks in the computation of number @n, @n >= 2 */
static inline uint64_t fib_forks(uint64_t n)
{
	return fib_number(n + 1) - 1;
}

#endif
