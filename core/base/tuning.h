/* SPDX-License-Identifier: MIT */
/* tuning.h - how workers search, spin and steal; constant while they run */
#ifndef SKUA_CORE_BASE_TUNING_H
#define SKUA_CORE_BASE_TUNING_H

#include <stdint.h>

/* Values of tuning.spin_ns: the measured time of a wake-up; for ever. */
#define TUNING_SPIN_MEASURED (UINT64_MAX - 1)
#define TUNING_SPIN_FOREVER  UINT64_MAX
/* Value of tuning.lifo_delay_ns: no other worker takes from a LIFO slot. */
#define TUNING_LIFO_PRIVATE UINT64_MAX
/* Value of tuning.max_queued: no limit. */
#define TUNING_QUEUED_UNBOUNDED UINT32_MAX

/* Bounds of a worker's fair share of an injection queue; the maximum is half a
 * ring. */
#define INJECT_BATCH_MIN 4u
#define INJECT_BATCH_MAX 128u

/* How rarely a worker that is about to sleep clears the bit of an empty queue of
 * another group: once in so many times. A guess. If it did so each time, most pushes
 * from outside would have to set the bit again, in simulation (bench/simulator,
 * workload `outside`). */
#ifdef SKUA_EXPLORE
#define INJECT_CLEAR_EACH 1u
#else
#define INJECT_CLEAR_EACH 16u
#endif

struct tuning {
	uint32_t steal_attempts; /* searches before a worker may sleep */
	uint32_t steal_max;      /* most tasks per steal on the own node */
	uint32_t steal_max_far;  /* most tasks per steal on another node */
	uint32_t far_samples;  /* groups of other nodes that one search tries */
	uint64_t far_delay_ns; /* search time before other nodes are tried */
	uint64_t spin_ns;      /* search time before a worker may sleep */
	uint64_t lifo_delay_ns; /* time until thieves may take from a slot */
	/* For how long thieves leave the jobs of an external thread to it. */
	uint64_t young_ns;
	uint32_t max_queued; /* most tasks in the injection queue */
};

#endif
