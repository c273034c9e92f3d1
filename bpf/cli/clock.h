/* SPDX-License-Identifier: MIT */
/* clock.h - the kernel's clocks, in nanoseconds */
#ifndef SKUA_BPF_CLI_CLOCK_H
#define SKUA_BPF_CLI_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_read_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) +
	       (uint64_t)now.tv_nsec;
}

/* CLOCK_MONOTONIC, the clock of probes and BPF programs. */
static inline uint64_t now_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

#endif
