/* SPDX-License-Identifier: MIT */
/**
 * counters.h - words that one thread writes, and anyone reads
 *
 * Plain 64-bit words, so that another process may read them in place. Their
 * writer adds without a locked operation.
 */
#ifndef SKUA_PROBES_COUNTERS_H
#define SKUA_PROBES_COUNTERS_H

#include <stdint.h>

/* counter_read - by any thread */
static inline uint64_t counter_read(const uint64_t *counter)
{
	/* Relaxed: a reader wants a whole value, not an order. */
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

/* counter_set_owner - by the one thread that writes the word */
static inline void counter_set_owner(uint64_t *counter, uint64_t value)
{
	/* Relaxed: as above. */
	__atomic_store_n(counter, value, __ATOMIC_RELAXED);
}

/* counter_add_owner - likewise */
static inline void counter_add_owner(uint64_t *counter, uint64_t n)
{
#if defined(__x86_64__) && !defined(SKUA_EXPLORE)
	/* One instruction, not locked, where compilers make three of a relaxed
	 * load and store. One writer, so that it loses nothing. */
	__asm__("addq %1, %0" : "+m"(*counter) : "er"(n));
#else
	counter_set_owner(counter, counter_read(counter) + n);
#endif
}

#endif
