/* SPDX-License-Identifier: MIT */
/* clock.h - read CLOCK_MONOTONIC, and pass time without sleeping */
#ifndef SKUA_BENCH_HARNESS_CLOCK_H
#define SKUA_BENCH_HARNESS_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* clock_relax - pause for a moment in a busy-wait loop, so that the other
 * hyperthread of the core gets more of it */
static inline void clock_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("isb" ::: "memory");
#endif
}

/* clock_spin_until - spin until @time_ns (CLOCK_MONOTONIC). Return: the time
 * at the end. */
static inline uint64_t clock_spin_until(uint64_t time_ns)
{
	uint64_t now = clock_ns();

	while (now < time_ns) {
		clock_relax();
		now = clock_ns();
	}
	return now;
}

#endif
