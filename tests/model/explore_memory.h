/* SPDX-License-Identifier: MIT */
/**
 * explore_memory.h - the memory model: which stores each thread may read
 *
 * Every location keeps all its stores of the execution, in order. Each thread has a view:
 * for each location, the oldest store that the thread may still read; and for each other
 * thread, how much of that thread's past happens before this thread's present. Each store
 * carries the view that a load of it may acquire. This is the model of the promising
 * semantics (Kang et al. 2017) without promises, and with the same SC fences.
 */
#ifndef SKUA_TESTS_MODEL_EXPLORE_MEMORY_H
#define SKUA_TESTS_MODEL_EXPLORE_MEMORY_H

#include "tests/model/explore_threads.h"

#define LOCATIONS 192

#define LOCATIONS_BLOCK 16

struct view {
	/* For each thread, the newest of its epochs that happened before. */
	uint16_t epoch[THREADS];
	/* For each location, the time of the oldest store that may still be
	 * read. Only the first @blocks blocks are valid, all others count as 0,
	 * because most executions use few locations. */
	unsigned blocks;
	uint16_t oldest[LOCATIONS / LOCATIONS_BLOCK][LOCATIONS_BLOCK];
};

/* memory_reset - begin an execution: forget all locations */
void memory_reset(void);

/* memory_start - start thread @id with the view of the current thread */
void memory_start(unsigned id);

/* memory_join - add the view of thread @id to that of the current thread */
void memory_join(unsigned id);

/* memory_newest - return the newest value of a location, whichever threads can read it */
uint64_t memory_newest(const volatile void *address, size_t size);

/* memory_view - return the view of the current thread */
const struct view *memory_view(void);

/* memory_tick - let the current thread enter a new epoch. Return: that epoch. */
uint16_t memory_tick(void);

/* race_reset - begin an execution: forget all plain accesses */
void race_reset(void);

/* race_check_freed - fail if this memory was freed (explore_free()) */
void race_check_freed(const volatile void *address,
		      const struct explore_site *site);

/* trace - print a line of the trace, if tracing is on
 *
 * @note may be "". @address distinguishes equal expressions. */
void trace(const struct explore_site *site, const char *step,
	   const volatile void *address, uint64_t value, const char *note);

#endif
