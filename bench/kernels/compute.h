/* SPDX-License-Identifier: MIT */
/* compute.h - work of a known duration, and pseudo-random numbers */
#ifndef SKUA_BENCH_KERNELS_COMPUTE_H
#define SKUA_BENCH_KERNELS_COMPUTE_H

#include <stdint.h>

/* compute_step - apply the finaliser of splitmix64 without its last shift */
static inline uint64_t compute_step(uint64_t z)
{
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	return (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
}

/**
 * compute - compute a pure function that takes about @cost microseconds at 3 GHz
 *
 * Each step of the loop needs the result of the multiplication before it, so that steps
 * cannot overlap.
 */
static inline uint64_t compute(uint64_t number, uint64_t cost)
{
	uint64_t z = number + UINT64_C(0x9e3779b97f4a7c15);

	for (uint64_t i = 0; i < cost * 450; i++)
		z = compute_step(z);
	return z ^ (z >> 31);
}

/* scatter - spread consecutive numbers over all 64 bits: the output of splitmix64
 * after @number steps */
static inline uint64_t scatter(uint64_t number)
{
	uint64_t z = compute_step((number + 1) * UINT64_C(0x9e3779b97f4a7c15));

	return z ^ (z >> 31);
}

#endif
