/* SPDX-License-Identifier: MIT */
/**
 * parker.h - one thread sleeps until another one wakes it
 *
 *	EMPTY --park---> PARKED ----unpark---> NOTIFIED --park--> EMPTY
 *	EMPTY ---------------------unpark----> NOTIFIED
 *	EMPTY --begin--> ELSEWHERE --unpark--> CALLING --> NOTIFIED --end--> EMPTY
 *	                                       CALLING --end--> AWAITED --> NOTIFIED
 *
 * A parker keeps one notification. If it comes before the park, it ends the
 * next park at once. A park may therefore end without cause: callers check
 * their own condition (core/idle/idle.h: the parked bit) and park again. No
 * timeout makes up for a lost wake-up: a deadline serves only work that comes
 * due then.
 *
 * A thread that sleeps elsewhere than on the futex, for example in poll(2), is
 * woken by a callback. The state is CALLING while the one waker that claimed it
 * calls the callback. The sleeper waits until that call has returned; after
 * that, the data that the callback uses may be freed.
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
	/* Writers: the sleeper, to EMPTY, PARKED, ELSEWHERE and AWAITED;
	 * wakers, to NOTIFIED and CALLING. */
	atomic_u32 state;
	/*
	 * The callback that ends a sleep elsewhere. Writer: the owner, while it
	 * does not sleep. Reader: the waker that set CALLING.
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
 * parker_begin - announce that the owner is going to sleep elsewhere
 *
 * Return: false if there is a notification already; it is taken, and the owner
 * must not sleep.
 */
static inline bool parker_begin(struct parker *parker)
{
	uint32_t state = PARKER_EMPTY;

	/* Release: the callback and its ctx. Pairs with the acquire in
	 * parker_unpark(). */
	if (atomic_cas_release(&parker->state, &state, PARKER_ELSEWHERE))
		return true;
	/* Acquire: the waker's writes, as in parker_park(). */
	atomic_exchange_acquire(&parker->state, PARKER_EMPTY);
	return false;
}

/* parker_end - end the sleep elsewhere; called by the owner. Waits until a
 * running callback has returned */
static inline void parker_end(struct parker *parker)
{
	uint32_t state = PARKER_ELSEWHERE;

	/* Acquire: the waker's writes, as in parker_park(). If this fails, a
	 * waker was faster. Its callback has returned when the state is
	 * NOTIFIED; until then the owner sleeps on the futex, because the waker
	 * may need its CPU. */
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
 * parker_park - sleep until notified; called by the owner only
 *
 * Return: true if it slept; false if the notification was there already.
 */
static inline bool parker_park(struct parker *parker)
{
	uint32_t state = PARKER_EMPTY;
	bool sleeps;

	/* Relaxed: the state PARKED only tells wakers that a wake-up needs a
	 * system call. The kernel compares the word again under its own
	 * lock. */
	sleeps = atomic_cas_relaxed(&parker->state, &state, PARKER_PARKED);
	if (sleeps) {
		/* The loop repeats when the futex wait ended without a
		 * wake-up. */
		do {
			futex_wait(&parker->state, PARKER_PARKED);
			state = atomic_load_relaxed(&parker->state);
		} while (state == PARKER_PARKED);
	}
	/* Acquire: the waker's writes. Pairs with the release in
	 * parker_unpark(). An exchange, because a plain store would overwrite
	 * the notification without acquiring it. */
	atomic_exchange_acquire(&parker->state, PARKER_EMPTY);
	return sleeps;
}

/* parker_park_until - sleep until notified, or until @deadline_ns of the
 * clock */
static inline void parker_park_until(struct parker *parker,
				     uint64_t deadline_ns)
{
	uint32_t state = PARKER_EMPTY;

	/* Relaxed, and acquire: as in parker_park(). There is one futex call
	 * and no loop: the caller handles a wake-up without cause. */
	if (atomic_cas_relaxed(&parker->state, &state, PARKER_PARKED))
		futex_wait_until(&parker->state, PARKER_PARKED, deadline_ns);
	atomic_exchange_acquire(&parker->state, PARKER_EMPTY);
}

/* Return the state that follows @state when a notification arrives. */
static inline uint32_t parker_notified(uint32_t state)
{
	if (state == PARKER_ELSEWHERE)
		return PARKER_CALLING;
	if (state == PARKER_CALLING || state == PARKER_AWAITED)
		return state;
	return PARKER_NOTIFIED;
}

/* parker_unpark - end the current park, or the next one. Threads: any */
static inline void parker_unpark(struct parker *parker)
{
	/* Relaxed: the compare-exchange decides. */
	uint32_t state = atomic_load_relaxed(&parker->state);

	/*
	 * Release: the caller's writes, even if the state stays the same. Pairs
	 * with the acquires in parker_park() and parker_end(). Acquire: the
	 * callback. Pairs with the release in parker_begin(). The loop repeats
	 * when the sleeper or another waker changed the state.
	 */
	while (!atomic_cas_acq_rel(&parker->state, &state,
				   parker_notified(state)))
		;
	if (state == PARKER_PARKED) {
		futex_wake(&parker->state, 1);
	} else if (state == PARKER_ELSEWHERE) {
		parker->wake(parker->ctx);
		/* Release: the callback has returned. It is a
		 * read-modify-write, so that the sleeper also acquires the
		 * writes of wakers that found CALLING. Pairs with the acquire
		 * in parker_end(). */
		state = atomic_exchange_acq_rel(&parker->state,
						PARKER_NOTIFIED);
		if (state == PARKER_AWAITED)
			futex_wake(&parker->state, 1);
	}
}

#endif
