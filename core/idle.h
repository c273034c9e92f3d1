/* SPDX-License-Identifier: MIT */
/**
 * idle.h - who searches, who sleeps, and who has to be woken (L2)
 *
 * The protocol, its invariants and the proof that no wake-up is lost are in
 * core/IDLE.md; the code cites them as I1 to I5.
 */
#ifndef SKUA_CORE_IDLE_H
#define SKUA_CORE_IDLE_H

#include <stdalign.h>

#include "core/atomic.h"
#include "core/parker.h"

#define IDLE_MAX_WORKERS 4096u
#define IDLE_WORD_BITS   64u

struct idle_sleeper {
	alignas(CACHE_PAIR) struct parker parker;
};

struct idle {
	/*
	 * Workers that look for work, woken ones on their way included.
	 * Writers: searchers for themselves, wakers for whom they wake.
	 * Readers: producers. Bounded by the number of workers plus one for
	 * each waker at work.
	 */
	alignas(CACHE_PAIR) atomic_u64 searching;
	/*
	 * Bit i: worker i sleeps, or is about to, and may be woken. Writers:
	 * the worker sets and clears, a waker clears; who cleared it is told
	 * by the value before. Readers: wakers.
	 */
	atomic_u64 parked[IDLE_MAX_WORKERS / IDLE_WORD_BITS];

	/* Constant after init. */
	alignas(CACHE_PAIR) unsigned workers;
	unsigned words;
	struct idle_sleeper *sleepers; /* one a worker, the caller's memory */
};

void idle_init(struct idle *idle, unsigned workers,
	       struct idle_sleeper *sleepers);

/* idle_try_search - become a searcher, if fewer than half of all are */
bool idle_try_search(struct idle *idle);

/**
 * idle_leave_search - stop searching, with work in hand
 *
 * Return: true if the caller was the last searcher: it now has to look for
 * work that others could do and, if there is some, call idle_wake() (I3).
 */
bool idle_leave_search(struct idle *idle);

/**
 * idle_park_begin - announce that worker @i is going to sleep
 * @searching: the caller is a searcher, and stops being one
 *
 * The caller then looks at all queues once more (I2), and calls
 * idle_park_cancel() if it found work, idle_park_wait() if not.
 */
void idle_park_begin(struct idle *idle, unsigned i, bool searching);

/* idle_park_cancel - worker @i found work and stays awake, as a searcher */
void idle_park_cancel(struct idle *idle, unsigned i);

/* idle_park_wait - sleep until a waker chose worker @i; then a searcher */
void idle_park_wait(struct idle *idle, unsigned i);

/* idle_wake - wake a sleeper, unless somebody searches; after a fence */
void idle_wake(struct idle *idle);

/* idle_notify - what a producer calls after it made work visible (I1) */
static inline void idle_notify(struct idle *idle)
{
	/* Orders the caller's push before idle_wake()'s look at the searchers
	 * and the parked bits. Pairs with the fences in idle_park_begin() and
	 * idle_leave_search(). */
	atomic_fence_seq_cst();
	idle_wake(idle);
}

/* idle_wake_all - wake every sleeper, as to end; after a fence */
void idle_wake_all(struct idle *idle);

#endif
