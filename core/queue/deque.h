/* SPDX-License-Identifier: MIT */
/**
 * deque.h - a ring that grows, for one owner and any number of thieves
 *
 * The owner pushes and pops at the bottom, the newest first; thieves take the
 * oldest from the top. Positions count up for ever; position p lives in slot
 * p & (capacity - 1).
 *
 *	top                               bottom
 *	  |  queued                         |  free
 *	--+---------------------------------+------
 *
 * The owner takes the newest item without a read-modify-write while there are
 * two or more; for the last one it competes with the thieves for top. An owner
 * may also take the oldest one, and then always competes.
 *
 * Invariants (checked by tests/model/model_deque.c):
 *   D1  top never falls; it rises by one, for the one that takes that position
 *   D2  each position is handed out once: to the owner's pop, if it sees top
 *       below that position behind its fence, or to the thread that raises top past it
 *   D3  a slot is written again only when the owner has seen top past its
 *       position, and then the thread that raised top has read the slot
 *   D4  a buffer that was outgrown is written no more, and stays until the
 *       deque is destroyed, as a thief may still read it; all of these are
 *       smaller together than the current one
 *
 * Positions are compared by the sign of their distance, so that a bottom that
 * a pop has moved below top does not look far ahead of it. No ABA: top does not
 * come back before it has gone round 2^64.
 *
 * Chase and Lev, "Dynamic circular work-stealing deque", SPAA 2005; the orders
 * are those of Lê, Pop, Cohen and Zappa Nardelli, "Correct and efficient
 * work-stealing for weak memory models", PPoPP 2013, except for
 *   - release stores of bottom in place of their release fence: a relaxed store
 *     of it, as in their take, publishes nothing since C++20, unless there is
 *     a fence before;
 *   - compare-exchanges of top that are not sequentially consistent: those of
 *     C11 had to be, for a thief that has read top from another thief. Since
 *     C++20 (as in RC11) a fence orders what was read before it like what was
 *     written.
 */
#ifndef SKUA_CORE_QUEUE_DEQUE_H
#define SKUA_CORE_QUEUE_DEQUE_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/atomic.h"
#include "skua/queue.h"
#include "skua/runtime.h"

#define DEQUE_MIN_CAPACITY 2u
#define DEQUE_MAX_CAPACITY (UINT64_C(1) << 31) /* at first; it may grow past */

struct deque_buffer;

struct deque {
	/* Writers: thieves, and the owner for the last item or the oldest.
	 * Readers: both. Wraps at 2^64, as does bottom. */
	alignas(CACHE_PAIR) atomic_u64 top;

	/* Writer: owner. Readers: owner, thieves. Publishes the slots before
	 * it, and the buffer. One below top for the time of a pop. */
	alignas(CACHE_PAIR) atomic_u64 bottom;
	/* struct deque_buffer *. Writer: owner. Readers: both. Publishes the
	 * slots that were copied into it. */
	atomic_ptr buffer;
	/* Constant after init. */
	const struct skua_allocator *allocator;
};

/* The result of a steal; @item is set if @outcome is success. */
struct deque_steal {
	enum skua_steal outcome;
	void *item;
};

/* deque_capacity_valid - a power of two within the limits? */
static inline bool deque_capacity_valid(uint64_t capacity)
{
	return capacity >= DEQUE_MIN_CAPACITY &&
	       capacity <= DEQUE_MAX_CAPACITY &&
	       (capacity & (capacity - 1)) == 0;
}

/**
 * deque_init - make an empty deque
 * @capacity: slots at first
 * @start: first position; 0 but in tests of the wrap
 * @allocator: NULL = libc's
 *
 * Return: 0; -ENOMEM.
 */
int deque_init(struct deque *d, uint64_t capacity, uint64_t start,
	       const struct skua_allocator *allocator);

/* deque_destroy - free its memory; nobody uses it any more. Items that are
 * still there remain with the threads that pushed them. */
void deque_destroy(struct deque *d);

/**
 * deque_push_owner - add @item at the bottom
 *
 * Allocates when the ring is full. Return: 0; -ENOMEM: it is not added, and the
 * deque is as before.
 */
int deque_push_owner(struct deque *d, void *item);

/* deque_pop_owner - take the newest item, NULL if there is none */
void *deque_pop_owner(struct deque *d);

/* deque_pop_oldest_owner - take the oldest item, NULL if there is none */
void *deque_pop_oldest_owner(struct deque *d);

/* deque_steal - take the oldest item; any thread. Retry: somebody else took
 * that one meanwhile. */
struct deque_steal deque_steal(struct deque *d);

/* deque_length - how many items there are: exact for the owner when nobody
 * steals, an estimate otherwise */
uint64_t deque_length(const struct deque *d);

#endif
