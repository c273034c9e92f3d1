/* SPDX-License-Identifier: MIT */
/**
 * explore_memory.h - what each thread knows of memory
 *
 * Every location keeps all its stores of the execution, in their order. The
 * knowledge of a thread is a view: for each location the
 * oldest store that it may still read, and for each thread how much of that
 * thread's past happens before its own present. Each store carries the view
 * that a load of it may acquire. This is the model of promising semantics
 * (Kang et al. 2017) without promises, and with SC fences as there.
 */
#ifndef SKUA_TESTS_MODEL_EXPLORE_MEMORY_H
#define SKUA_TESTS_MODEL_EXPLORE_MEMORY_H

#include "tests/model/explore_threads.h"

#define LOCATIONS 192

#define LOCATIONS_BLOCK 16

struct view {
	/* Of each thread: the newest of its epochs that happened before. */
	uint16_t epoch[THREADS];
	/* Of each location: the time of the oldest store that may still be
	 * read. Behind so many blocks all are 0, and mean nothing here: most
	 * executions meet few locations. */
	unsigned blocks;
	uint16_t oldest[LOCATIONS / LOCATIONS_BLOCK][LOCATIONS_BLOCK];
};

/* memory_reset - an execution starts: no location is known */
void memory_reset(void);

/* memory_start - thread @id starts now and knows what the current one does */
void memory_start(unsigned id);

/* memory_join - the current thread knows all that thread @id did */
void memory_join(unsigned id);

/* memory_newest - what a location holds, whether or not a thread knows it */
uint64_t memory_newest(const volatile void *address, size_t size);

/* memory_view - of the current thread */
const struct view *memory_view(void);

/* memory_tick - the current thread enters a new epoch; returns it */
uint16_t memory_tick(void);

/* race_reset - an execution starts: no plain access was made */
void race_reset(void);

/* trace - a line for the trace, if there is one; @note may be "", @address is
 * there to tell equal expressions apart */
void trace(const struct explore_site *site, const char *step,
	   const volatile void *address, uint64_t value, const char *note);

#endif
