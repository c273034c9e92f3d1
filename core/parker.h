/* SPDX-License-Identifier: MIT */
/**
 * parker.h - one thread sleeps until another one wakes it (L2)
 *
 *	EMPTY --park--> PARKED --unpark--> NOTIFIED --park--> EMPTY
 *	EMPTY -------------------unpark--> NOTIFIED
 *
 * A notification that comes first is kept, one deep, and ends the next park at
 * once. A park may therefore end without cause: callers decide by their own
 * condition (core/idle.h: the parked bit) and park again. There is no timeout.
 */
#ifndef SKUA_CORE_PARKER_H
#define SKUA_CORE_PARKER_H

#include "core/atomic.h"
#include "core/futex.h"

#define PARKER_EMPTY    0u
#define PARKER_PARKED   1u
#define PARKER_NOTIFIED 2u

struct parker {
	/* Writers: the sleeper (EMPTY, PARKED), wakers (NOTIFIED). */
	atomic_u32 state;
};

static inline void parker_init(struct parker *parker)
{
	atomic_init(&parker->state, PARKER_EMPTY);
}

/* parker_park - sleep until notified; by the one thread that owns it */
static inline void parker_park(struct parker *parker)
{
	uint32_t state = PARKER_EMPTY;

	/* Relaxed: says only that a wake-up needs a system call. The futex
	 * compares the word again under its own lock. */
	if (atomic_cas_relaxed(&parker->state, &state, PARKER_PARKED)) {
		/* A round that changes nothing was a wake-up without cause. */
		do {
			futex_wait(&parker->state, PARKER_PARKED);
			state = atomic_load_relaxed(&parker->state);
		} while (state == PARKER_PARKED);
	}
	/* Acquire: what the waker wrote. Pairs with the release in
	 * parker_unpark(); an exchange, because a plain store would not take
	 * the notification but overwrite it. */
	atomic_exchange_acquire(&parker->state, PARKER_EMPTY);
}

/* parker_unpark - end the park, or the next one; any thread */
static inline void parker_unpark(struct parker *parker)
{
	/* Release: what the caller wrote. Pairs with the acquire above. */
	if (atomic_exchange_release(&parker->state, PARKER_NOTIFIED) ==
	    PARKER_PARKED)
		futex_wake(&parker->state, 1);
}

#endif
