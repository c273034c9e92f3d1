/* SPDX-License-Identifier: MIT */
/* saturated.h - sums that stop at the largest number */
#ifndef SKUA_BPF_CLI_SATURATED_H
#define SKUA_BPF_CLI_SATURATED_H

#include <stdint.h>

static inline uint64_t add_saturated(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

#endif
