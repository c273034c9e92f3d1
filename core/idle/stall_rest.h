/* SPDX-License-Identifier: MIT */
/**
 * stall_rest.h - how the watcher of the workers sleeps while all are parked
 *
 *	CHECKING --all are parked--> RESTING --one unparks--> CHECKING
 *	either  --the end---------> ENDING
 *
 * A watcher that is CHECKING sleeps from one check to the next; one that is RESTING
 * sleeps without end, so that an idle runtime costs nothing. *Safety*: nobody rests
 * while a worker runs. A worker that unparks says so; *fence*; and looks whether
 * somebody rests. A watcher that is about to rest says so; *fence*; and looks whether a
 * worker runs. Of the two, one at least sees the other.
 */
#ifndef SKUA_CORE_IDLE_STALL_REST_H
#define SKUA_CORE_IDLE_STALL_REST_H

#include <stdalign.h>
#include <stdbool.h>

#include "core/os/futex.h"

#define STALL_CHECKING 0u
#define STALL_RESTING  1u
#define STALL_ENDING   2u

/* In a line of its own, which the watcher reads at each look. */
struct stall_awake {
	/* 0: the worker is parked. Writer: the worker. Reader: the watcher. */
	alignas(CACHE_PAIR) atomic_u32 awake;
};

struct stall_rest {
	/* Constant. */
	struct stall_awake *workers;
	unsigned count;
	/* Writers: the watcher, from CHECKING, and back; a worker, from RESTING; the
	 * thread that ends the watcher. */
	atomic_u32 state;
};

/* stall_rest_init - the workers, in zeroed memory, begin awake */
static inline void stall_rest_init(struct stall_rest *rest,
				   struct stall_awake *workers, unsigned count)
{
	rest->workers = workers;
	rest->count = count;
	atomic_init(&rest->state, STALL_CHECKING);
	for (unsigned i = 0; i < count; i++)
		atomic_init(&workers[i].awake, 1);
}

/* stall_rest_parks - by worker @i, before it sleeps */
static inline void stall_rest_parks(struct stall_rest *rest, unsigned i)
{
	/* Relaxed: a watcher that sees it late checks once more. */
	atomic_store_relaxed(&rest->workers[i].awake, 0);
}

/* stall_rest_unparks - by worker @i, before it polls anything */
static inline void stall_rest_unparks(struct stall_rest *rest, unsigned i)
{
	uint32_t resting = STALL_RESTING;

	/* Relaxed, all: ordered by the fence. */
	atomic_store_relaxed(&rest->workers[i].awake, 1);
	/* Orders that before the look whether the watcher rests. Pairs with the fence
	 * in stall_rest(). */
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

/* stall_rest - by the watcher: sleep while all workers are parked */
static inline void stall_rest(struct stall_rest *rest)
{
	uint32_t state = STALL_CHECKING;

	/* Relaxed, all: ordered by the fence. The thread that ends it is seen, or waits
	 * for the watcher. */
	if (!stall_rest_all_parked(rest) ||
	    !atomic_cas_relaxed(&rest->state, &state, STALL_RESTING))
		return;
	/* Orders that before the look at the workers. Pairs with the fence in
	 * stall_rest_unparks(). */
	atomic_fence_updated_seq_cst();
	state = STALL_RESTING;
	if (!stall_rest_all_parked(rest))
		/* Or else a faster thread has changed it. */
		atomic_cas_relaxed(&rest->state, &state, STALL_CHECKING);
	/* A round more means that nobody has: the sleep ended without cause. */
	while (atomic_load_relaxed(&rest->state) == STALL_RESTING)
		futex_wait(&rest->state, STALL_RESTING);
}

/* stall_rest_ending - is the watcher to end? */
static inline bool stall_rest_ending(const struct stall_rest *rest)
{
	/* Relaxed: a request. */
	return atomic_load_relaxed(&rest->state) == STALL_ENDING;
}

/* stall_rest_end - tell the watcher to end, wherever it sleeps */
static inline void stall_rest_end(struct stall_rest *rest)
{
	/* Relaxed: as above. Nobody changes it from there. */
	atomic_store_relaxed(&rest->state, STALL_ENDING);
	futex_wake(&rest->state, 1);
}

#endif
