/* SPDX-License-Identifier: MIT */
/* parallel_reduce.h - check a reduction, and initialise its values */
#ifndef SKUA_CORE_PARALLEL_PARALLEL_REDUCE_H
#define SKUA_CORE_PARALLEL_PARALLEL_REDUCE_H

#include <string.h>

#include "skua/parallel.h"

static inline bool reduction_valid(const struct skua_reduction *how)
{
	return how && how->fold && how->join && how->size > 0 &&
	       how->size <= SKUA_MAX_VALUE;
}

static inline void reduction_init(const struct skua_reduction *how, void *value)
{
	if (how->identity)
		memcpy(value, how->identity, how->size);
	else
		memset(value, 0, how->size);
}

#endif
