/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* octave.h - which count of a histogram is for a time, and maps of them. Only
 * programs in this folder include this. */
#ifndef SKUA_BPF_PROGRAMS_OCTAVE_H
#define SKUA_BPF_PROGRAMS_OCTAVE_H

#include "count.h"

/* Below COUNT_OCTAVES: the logarithm to base 2. */
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

	/* For the verifier, which has forgotten it. */
	if (i < COUNT_OCTAVES)
		octaves[i]++;
}

#endif
