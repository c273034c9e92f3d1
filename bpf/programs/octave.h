/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* octave.h - find the element of a histogram for a time. Only programs in this
 * folder include this file. */
#ifndef SKUA_BPF_PROGRAMS_OCTAVE_H
#define SKUA_BPF_PROGRAMS_OCTAVE_H

#include "count.h"

/* Return the logarithm to base 2, limited to COUNT_OCTAVES - 1. */
static inline unsigned octave(__u64 ns)
{
	unsigned log = 0;

	for (unsigned step = 32; step; step /= 2)
		if (ns >> step) {
			ns >>= step;
			log += step;
		}
	return log < COUNT_OCTAVES ? log : COUNT_OCTAVES - 1;
}

static inline void count_octave(__u64 *octaves, __u64 ns)
{
	unsigned i = octave(ns);

	/* Always true, but the verifier does not know it here. */
	if (i < COUNT_OCTAVES)
		octaves[i]++;
}

#endif
