/* SPDX-License-Identifier: MIT */
/**
 * stall_rest.h - how the stall watcher sleeps while all workers are parked
 *
 *	CHECKING --all are parked--> RESTING --one unparks--> CHECKING
 *	either  --the end---------> ENDING
 *
 * In CHECKING, the watcher sleeps from one check to the next. In RESTING, it
 * sleeps without a deadline, so that an idle runtime costs nothing. *Safety*:
 * the watcher never rests while a worker runs. A worker that unparks sets its
 * flag, fences, and checks whether the watcher rests. A watcher that is about
 * to rest sets RESTING, fences, and checks whether a worker runs. At least one
 * of the two sees the other.
 */
#ifndef SKUA_CORE_IDLE_STALL_REST_H
#define SKUA_CORE_IDLE_STALL_REST_H

#include <stdalign.h>
#include <stdbool.h>

#include "core/os/futex.h"

#define STALL_CHECKING 0u
#define STALL_RESTING  1u
#define STALL_ENDING   2u

/* Each worker's flag is in a cache line of its own; the watcher reads it at
 * each check. */
struct stall_awake {
	/* 0: the worker is parked. Writer: the worker. Reader: the watcher. */
	alignas(CACHE_PAIR) atomic_u32 awake;
};

struct stall_rest {
	/* Constant. */
	struct stall_awake *workers;
	unsigned count;
	/* Writers: the watcher, from CHECKING to RESTING and back; a worker,
	 * from RESTING to CHECKING; the thread that ends the watcher, to
	 * ENDING. */
	atomic_u32 state;
};

/* stall_rest_init - initialise; all workers, in zeroed memory, begin awake */
static inline void stall_rest_init(struct stall_rest *rest,
				   struct stall_awake *workers, unsigned count)
{
	rest->workers = workers;
	rest->count = count;
	atomic_init(&rest->state, STALL_CHECKING);
	for (unsigned i = 0; i < count; i++)
		atomic_init(&workers[i].awake, 1);
}

/* stall_rest_parks - note that worker @i is going to sleep; called by that
 * worker */
static inline void stall_rest_parks(struct stall_rest *rest, unsigned i)
{
	/* Relaxed: a watcher that sees this late makes one check more. */
	atomic_store_relaxed(&rest->workers[i].awake, 0);
}

/* stall_rest_unparks - note that worker @i is awake, and wake a watcher that
 * rests; called by that worker, before it polls anything */
static inline void stall_rest_unparks(struct stall_rest *rest, unsigned i)
{
	uint32_t resting = STALL_RESTING;

	/* Relaxed, all: ordered by the fence. */
	atomic_store_relaxed(&rest->workers[i].awake, 1);
	/* Orders the flag before the load of the watcher's state. Pairs with
	 * the fence in stall_rest(). */
	atomic_fence_seq_cst();
	if (atomic_load_relaxed(&rest->state) == STALL_RESTING &&
	    atomic_cas_relaxed(&rest->state, &resting, STALL_CHECKING))
		futex_wake(&rest->state, 1);
}

static inline bool stall_rest_all_parked(const struct stall_rest *rest)
{
	for (unsigned i = 0; i < rest->count; i++) {
		/* Relaxed: a hint, or ordered by the fence in stall_rest(). */
		if (atomic_load_relaxed(&rest->workers[i].awake))
			return false;
	}
	return true;
}

/* stall_rest - sleep while all workers are parked; called by the watcher */
static inline void stall_rest(struct stall_rest *rest)
{
	uint32_t state = STALL_CHECKING;

	/* Relaxed, all: ordered by the fence. A request to end may be seen late:
	 * the thread that makes it waits for the watcher's end. */
	if (!stall_rest_all_parked(rest) ||
	    !atomic_cas_relaxed(&rest->state, &state, STALL_RESTING))
		return;
	/* Orders the state before the loads of the workers' flags. Pairs with
	 * the fence in stall_rest_unparks(). */
	atomic_fence_updated_seq_cst();
	state = STALL_RESTING;
	if (!stall_rest_all_parked(rest))
		/* If this fails, a worker or the end has changed the state
		 * already. */
		atomic_cas_relaxed(&rest->state, &state, STALL_CHECKING);
	/* The loop repeats when the futex wait ended without a wake-up. */
	while (atomic_load_relaxed(&rest->state) == STALL_RESTING)
		futex_wait(&rest->state, STALL_RESTING);
}

/* stall_rest_ending - must the watcher end? */
static inline bool stall_rest_ending(const struct stall_rest *rest)
{
	/* Relaxed: a request, which guards no data. */
	return atomic_load_relaxed(&rest->state) == STALL_ENDING;
}

/* stall_rest_end - make the watcher end, wherever it sleeps */
static inline void stall_rest_end(struct stall_rest *rest)
{
	/* Relaxed: a request, which guards no data. ENDING is final: each other
	 * writer changes the state only from CHECKING or RESTING. */
	atomic_store_relaxed(&rest->state, STALL_ENDING);
	futex_wake(&rest->state, 1);
}

#endif
