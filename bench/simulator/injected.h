/* SPDX-License-Identifier: MIT */
/**
 * injected.h - replace the clock, and record which cache lines the library's code reads
 *
 * The build includes this file before all else in each file of the simulator, also in the
 * files of core/ that the simulator compiles once more. There the clock returns simulated
 * time, and each relaxed load records the line that it reads. In wake.c,
 * claim.c, sleeper.h, victims.c and work_map.h, every read of another worker's data before
 * a decision is a relaxed load.
 * The record therefore tells which lines a search or a wake-up reads.
 */
#ifndef SKUA_BENCH_SIMULATOR_INJECTED_H
#define SKUA_BENCH_SIMULATOR_INJECTED_H

#include "core/base/atomic.h"

/* Replaces core/base/clock.h, whose include guard this is. */
#define SKUA_CORE_BASE_CLOCK_H
#define NS_PER_S UINT64_C(1000000000)

enum { INJECTED_LINES = 4096 };

/* Simulated time, and the lines that were read. There is only one simulation
 * at a time, and one thread. */
struct injected {
	uint64_t now_ns;
	unsigned count; /* number of lines read since injected_forget() */
	uintptr_t lines[INJECTED_LINES]; /* their addresses, each once */
};

extern struct injected injected;

static inline uint64_t clock_now_ns(void)
{
	return injected.now_ns;
}

/* injected_note - record that the line of @address is read */
static inline void injected_note(uintptr_t address)
{
	uintptr_t line = address / CACHE_PAIR * CACHE_PAIR;

	for (unsigned i = injected.count; i-- > 0;) {
		if (injected.lines[i] == line)
			return;
	}
	if (injected.count < INJECTED_LINES)
		injected.lines[injected.count++] = line;
}

static inline void injected_forget(void)
{
	injected.count = 0;
}

/* Loads with acquire order, which is stronger than necessary but makes no
 * difference: there is one thread. */
#undef atomic_load_relaxed
#define atomic_load_relaxed(p) \
	(injected_note((uintptr_t)(p)), atomic_load_acquire(p))

#endif
