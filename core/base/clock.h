/* SPDX-License-Identifier: MIT */
/* clock.h - the library's only clock: CLOCK_MONOTONIC in nanoseconds */
#ifndef SKUA_CORE_BASE_CLOCK_H
#define SKUA_CORE_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_S UINT64_C(1000000000)

#ifdef SKUA_EXPLORE

#define clock_now_ns() explore_now_ns()

#else

static inline uint64_t clock_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

#endif

#endif
