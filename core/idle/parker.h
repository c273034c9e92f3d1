/* SPDX-License-Identifier: MIT */
/**
 * parker.h - one thread sleeps until another one wakes it
 *
 *	EMPTY --park---> PARKED ----unpark---> NOTIFIED --park--> EMPTY
 *	EMPTY ---------------------unpark----> NOTIFIED
 *	EMPTY --begin--> ELSEWHERE --unpark--> CALLING --> NOTIFIED --end--> EMPTY
 *	                                       CALLING --end--> AWAITED --> NOTIFIED
 *
 * A notification that comes first is kept, one deep, and ends the next park at
 * once. A park may therefore end without cause: callers decide by their own
 * condition (core/idle/idle.h: the parked bit) and park again. No timeout makes up for
 * a wake-up: a deadline is for what comes due then, and nothing else.
 *
 * A thread that sleeps elsewhere than on the futex, as in poll(2), is woken by
 * a callback. The one waker that calls it is CALLING meanwhile, and the sleeper
 * waits for its return: then what the callback uses may go.
 */
#ifndef SKUA_CORE_IDLE_PARKER_H
#define SKUA_CORE_IDLE_PARKER_H

#include <stddef.h>

#include "core/base/atomic.h"
#include "core/os/futex.h"

#define PARKER_EMPTY     0u
#define PARKER_PARKED    1u
#define PARKER_NOTIFIED  2u
#define PARKER_ELSEWHERE 3u
#define PARKER_CALLING   4u
#define PARKER_AWAITED   5u

struct parker {
	/* Writers: the sleeper (EMPTY, PARKED, ELSEWHERE, AWAITED), wakers (the
	 * rest). */
	atomic_u32 state;
	/*
	 * How to end a sleep elsewhere. Writer: the owner, while it does not
	 * sleep. Reader: the waker that is CALLING.
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
 * parker_begin - the owner is going to sleep elsewhere
 *
 * Return: false if there is a notification already, which this takes.
 */
static inline bool parker_begin(struct parker *parker)
{
	uint32_t state = PARKER_EMPTY;

	/* Release: the callback. Pairs with the acquire in parker_unpark(). */
	if (atomic_cas_release(&parker->state, &state, PARKER_ELSEWHERE))
		return true;
	/* Acquire: as in parker_park(). */
	atomic_exchange_acquire(&parker->state, PARKER_EMPTY);
	return false;
}

/* parker_end - the owner is back */
static inline void parker_end(struct parker *parker)
{
	uint32_t state = PARKER_ELSEWHERE;

	/* Acquire: as in parker_park(). A failure is a waker, whose callback
	 * is not over before the state is NOTIFIED: then the sleeper waits, on
	 * the futex, as the waker may want its CPU. */
	while (!atomic_cas_acq_rel(&parker->state, &state, PARKER_EMPTY)) {
		if (state == PARKER_CALLING &&
		    atomic_cas_relaxed(&parker->state, &state, PARKER_AWAITED))
			state = PARKER_AWAITED;
		if (state == PARKER_AWAITED)
			futex_wait(&parker->state, PARKER_AWAITED);
		state = PARKER_NOTIFIED;
	}
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

/* The state that follows @state with a notification. */
static inline uint32_t parker_notified(uint32_t state)
{
	if (state == PARKER_ELSEWHERE)
		return PARKER_CALLING;
	if (state == PARKER_CALLING || state == PARKER_AWAITED)
		return state;
	return PARKER_NOTIFIED;
}

/* parker_unpark - end the park, or the next one; any thread */
static inline void parker_unpark(struct parker *parker)
{
	/* Relaxed: the compare-exchange decides. */
	uint32_t state = atomic_load_relaxed(&parker->state);

	/*
	 * Release: what the caller wrote; pairs with the acquire in
	 * parker_park() and parker_end(), also if the state stays the same.
	 * Acquire: the callback; pairs with parker_begin(). A further round
	 * means that the sleeper or another waker was faster.
	 */
	while (!atomic_cas_acq_rel(&parker->state, &state,
				   parker_notified(state)))
		;
	if (state == PARKER_PARKED) {
		futex_wake(&parker->state, 1);
	} else if (state == PARKER_ELSEWHERE) {
		parker->wake(parker->ctx);
		/* Release: the callback is over. A read-modify-write, so that
		 * the sleeper also acquires what wakers that found CALLING
		 * wrote. Pairs with parker_end(). */
		state = atomic_exchange_acq_rel(&parker->state,
						PARKER_NOTIFIED);
		if (state == PARKER_AWAITED)
			futex_wake(&parker->state, 1);
	}
}

#endif
