/* SPDX-License-Identifier: MIT */
/**
 * rng.h - xorshift64+ random numbers, to choose victims
 *
 * The xorshift of S. Vigna, "Further scramblings of Marsaglia's xorshift
 * generators" (2014), on 32-bit halves: two words of state, four operations, no
 * multiplication. Not for secrets. One thread owns the state.
 */
#ifndef SKUA_CORE_BASE_RNG_H
#define SKUA_CORE_BASE_RNG_H

#include <stdint.h>

/* Invariant: not both halves are zero, because that state never changes. */
struct rng {
	uint32_t one;
	uint32_t two;
};

/* rng_init - initialise the state from any seed, also from 0 (splitmix64) */
static inline void rng_init(struct rng *rng, uint64_t seed)
{
	uint64_t z = seed + UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	z ^= z >> 31;
	rng->one = (uint32_t)(z >> 32);
	rng->two = (uint32_t)z | 1;
}

/* rng_next - return the next 32 random bits */
static inline uint32_t rng_next(struct rng *rng)
{
	uint32_t s1 = rng->one;
	uint32_t s0 = rng->two;

	s1 ^= s1 << 17;
	s1 = s1 ^ s0 ^ (s1 >> 7) ^ (s0 >> 16);
	rng->one = s0;
	rng->two = s1;
	return s0 + s1;
}

/* rng_below - return a random number in [0, @bound), @bound > 0. It multiplies
 * (Lemire's method) and does not divide; the bias is below 2^-19 for the bounds
 * used here. */
static inline uint32_t rng_below(struct rng *rng, uint32_t bound)
{
	return (uint32_t)(((uint64_t)rng_next(rng) * bound) >> 32);
}

#endif
