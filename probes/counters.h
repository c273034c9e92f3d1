/* SPDX-License-Identifier: MIT */
/**
 * counters.h - what a worker counts, written by it alone
 *
 * Plain 64-bit words, so that another process may read them in place. The
 * worker adds without a locked operation; anyone reads. No clock is read.
 */
#ifndef SKUA_PROBES_COUNTERS_H
#define SKUA_PROBES_COUNTERS_H

#include <stdint.h>

/* In the order of struct skua_worker_stats, which documents them. */
struct worker_counters {
	uint64_t tasks_spawned;
	uint64_t tasks_polled;
	uint64_t tasks_stolen;
	uint64_t steal_attempts;
	uint64_t times_parked;
	uint64_t lifo_hits;
	uint64_t global_batch_fetches;
	uint64_t overflows;
	uint64_t overflows_single;
	uint64_t tasks_stolen_far;
};

/* Of a thread that works on jobs. */
struct job_counters {
	uint64_t jobs_stolen;
};

/* counter_add_owner - by the one thread that writes the counter */
static inline void counter_add_owner(uint64_t *counter, uint64_t n)
{
	/* Relaxed: a reader wants a whole value, not an order. One writer, so
	 * that a load and a store lose nothing. */
	uint64_t old = __atomic_load_n(counter, __ATOMIC_RELAXED);

	__atomic_store_n(counter, old + n, __ATOMIC_RELAXED);
}

/* counter_read - by any thread */
static inline uint64_t counter_read(const uint64_t *counter)
{
	/* Relaxed: as above. */
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

#endif
