/* SPDX-License-Identifier: MIT */
/**
 * counters.h - words that one thread writes and any thread reads
 *
 * Plain 64-bit words, so that another process can read them in place. The writer adds to
 * them without a locked operation.
 */
#ifndef SKUA_PROBES_COUNTERS_H
#define SKUA_PROBES_COUNTERS_H

#include <stdint.h>

/* counter_read - read a word. Threads: any */
static inline uint64_t counter_read(const uint64_t *counter)
{
	/* Relaxed: a reader needs a whole value, but no order. */
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

/* counter_set_owner - set a word; called only by the thread that writes it */
static inline void counter_set_owner(uint64_t *counter, uint64_t value)
{
	/* Relaxed: see counter_read(). */
	__atomic_store_n(counter, value, __ATOMIC_RELAXED);
}

/* counter_add_owner - add to a word; called only by the thread that writes
 * it */
static inline void counter_add_owner(uint64_t *counter, uint64_t n)
{
#if defined(__x86_64__) && !defined(SKUA_EXPLORE)
	/* One instruction without a lock prefix; compilers make three of a relaxed load
	 * and store. Nothing is lost, because there is one writer. */
	__asm__("addq %1, %0" : "+m"(*counter) : "er"(n));
#else
	counter_set_owner(counter, counter_read(counter) + n);
#endif
}

#endif
