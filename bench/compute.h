/* SPDX-License-Identifier: MIT */
/* compute.h - work that takes a known time, and whose result can be checked */
#ifndef SKUA_BENCH_COMPUTE_H
#define SKUA_BENCH_COMPUTE_H

#include <stdint.h>

/**
 * compute - a pure function that takes about @cost microseconds at 3 GHz
 *
 * Each step waits for the multiplication before it (splitmix64's finaliser).
 */
static inline uint64_t compute(uint64_t number, uint64_t cost)
{
	uint64_t z = number + UINT64_C(0x9e3779b97f4a7c15);

	for (uint64_t i = 0; i < cost * 450; i++) {
		z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
		z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	}
	return z ^ (z >> 31);
}

#endif
