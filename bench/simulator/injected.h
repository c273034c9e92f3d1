/* SPDX-License-Identifier: MIT */
/**
 * injected.h - the simulator's substitutes for the machine
 *
 * Included before all else by each file of the simulator, those of core/ that it
 * compiles once more among them: there simulated time is the time, and each relaxed
 * load is noted. In idle.c, victims.c and work_map.h those are all reads of what
 * others write that come before a decision, so that what is noted is which lines a
 * search or a wake-up reads.
 */
#ifndef SKUA_BENCH_SIMULATOR_INJECTED_H
#define SKUA_BENCH_SIMULATOR_INJECTED_H

#include "core/base/atomic.h"

/* In place of core/base/clock.h. */
#define SKUA_CORE_BASE_CLOCK_H
#define NS_PER_S UINT64_C(1000000000)

enum { INJECTED_LINES = 4096 };

/* There is one simulation at a time, and one thread. */
struct injected {
	uint64_t now_ns;
	unsigned count;                  /* since injected_forget() */
	uintptr_t lines[INJECTED_LINES]; /* by address, each once */
};

extern struct injected injected;

static inline uint64_t clock_now_ns(void)
{
	return injected.now_ns;
}

/* injected_note - the line of @address is read */
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

/* An order that is stronger than asked for: there is one thread. */
#undef atomic_load_relaxed
#define atomic_load_relaxed(p) \
	(injected_note((uintptr_t)(p)), atomic_load_acquire(p))

#endif
