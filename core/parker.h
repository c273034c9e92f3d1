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

#include <stddef.h>

#include "core/atomic.h"
#include "core/futex.h"

#define PARKER_EMPTY    0u
#define PARKER_PARKED   1u
#define PARKER_NOTIFIED 2u

struct parker {
	/* Writers: the sleeper (EMPTY, PARKED), wakers (NOTIFIED). */
	atomic_u32 state;
	/*
	 * How to end a sleep that is none on the futex; NULL for one that is.
	 * Writer: the owner, before it parks. Reader: whoever saw PARKED.
	 */
	void (*wake)(void *ctx);
	void *ctx;
};

static inline void parker_init(struct parker *parker)
{
	atomic_init(&parker->state, PARKER_EMPTY);
	parker->wake = NULL;
	parker->ctx = NULL;
}

/**
 * parker_begin - the owner is going to sleep elsewhere, as in poll(2)
 *
 * Return: false if there is a notification already, which this takes.
 */
static inline bool parker_begin(struct parker *parker)
{
	uint32_t state = PARKER_EMPTY;

	/* Release: the wake callback. Pairs with the exchange in
	 * parker_unpark(). */
	if (atomic_cas_release(&parker->state, &state, PARKER_PARKED))
		return true;
	/* Acquire: as in parker_park(). */
	atomic_exchange_acquire(&parker->state, PARKER_EMPTY);
	return false;
}

/* parker_end - the owner is back */
static inline void parker_end(struct parker *parker)
{
	/* Acquire: as in parker_park(). */
	atomic_exchange_acquire(&parker->state, PARKER_EMPTY);
}

/**
 * parker_park - sleep until notified; by the one thread that owns it
 *
 * Return: whether it slept, or the notification was there already.
 */
static inline bool parker_park(struct parker *parker)
{
	uint32_t state = PARKER_EMPTY;
	bool sleeps;

	/* Relaxed: says only that a wake-up needs a system call. The futex
	 * compares the word again under its own lock. */
	sleeps = atomic_cas_relaxed(&parker->state, &state, PARKER_PARKED);
	if (sleeps) {
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
	return sleeps;
}

/* parker_park_until - the same, but not beyond @deadline_ns of the clock */
static inline void parker_park_until(struct parker *parker,
				     uint64_t deadline_ns)
{
	uint32_t state = PARKER_EMPTY;

	/* Relaxed, and acquire: as in parker_park(). One futex call: a wake-up
	 * without cause is the caller's to sort out. */
	if (atomic_cas_relaxed(&parker->state, &state, PARKER_PARKED))
		futex_wait_until(&parker->state, PARKER_PARKED, deadline_ns);
	atomic_exchange_acquire(&parker->state, PARKER_EMPTY);
}

/* parker_unpark - end the park, or the next one; any thread */
static inline void parker_unpark(struct parker *parker)
{
	/* Release: what the caller wrote. Acquire: the wake callback. Both pair
	 * with the owner's operations above. */
	if (atomic_exchange_acq_rel(&parker->state, PARKER_NOTIFIED) !=
	    PARKER_PARKED)
		return;
	if (parker->wake)
		parker->wake(parker->ctx);
	else
		futex_wake(&parker->state, 1);
}

#endif
