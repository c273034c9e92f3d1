/* SPDX-License-Identifier: MIT */
/* tuning.h - how workers search, spin and steal; constant while they run */
#ifndef SKUA_CORE_BASE_TUNING_H
#define SKUA_CORE_BASE_TUNING_H

#include <stdint.h>

/* Of tuning.spin_ns: as long as a wake-up takes, as measured; or without end. */
#define TUNING_SPIN_MEASURED (UINT64_MAX - 1)
#define TUNING_SPIN_FOREVER  UINT64_MAX
/* Of tuning.lifo_delay_ns: LIFO slots are private. */
#define TUNING_LIFO_PRIVATE UINT64_MAX
/* Of tuning.max_queued: no bound. */
#define TUNING_QUEUED_UNBOUNDED UINT32_MAX

struct tuning {
	uint32_t steal_attempts; /* searches before a worker may sleep */
	uint32_t steal_max;      /* tasks of a victim on the own node, */
	uint32_t steal_max_far;  /* and of one elsewhere */
	uint32_t far_samples;    /* groups elsewhere that a search tries, */
	uint64_t far_delay_ns;   /* after so long */
	uint64_t spin_ns;        /* before a worker may sleep */
	uint64_t lifo_delay_ns;  /* until others may take from a LIFO slot */
	uint32_t max_queued;     /* tasks in the injection queue */
};

#endif
