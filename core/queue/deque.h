/* SPDX-License-Identifier: MIT */
/**
 * deque.h - a ring that grows, for one owner and any number of thieves
 *
 * The owner pushes and pops at the bottom, the newest item first. Thieves take
 * the oldest item from the top. Positions only count up. Slot
 * p & (capacity - 1) holds the item of position p.
 *
 *	top                               bottom
 *	  |  queued                         |  free
 *	--+---------------------------------+------
 *
 * While there are two or more items, the owner takes the newest one without a
 * read-modify-write. For the last item it competes with the thieves for top.
 * The owner may also take the oldest item, and always competes for that one.
 *
 * Invariants (checked by tests/model/model_deque.c):
 *   D1  top never falls; it rises by one when a thread takes the position at
 *       top
 *   D2  each position is handed out once: to the owner's pop, if that sees top
 *       below the position after its fence, or to the thread that raises top
 *       past the position
 *   D3  a slot is written again only when the owner has seen top past its
 *       position; by then the thread that raised top has read the slot
 *   D4  a buffer that was outgrown is not written any more. It stays until the
 *       deque is destroyed, because a thief may still read it. All outgrown
 *       buffers together are smaller than the current one
 *
 * Positions are compared by the sign of their distance: a bottom that a pop has
 * moved below top must not appear to be far ahead of it. No ABA: top does not
 * return to a value before it has gone round 2^64.
 *
 * Chase and Lev, "Dynamic circular work-stealing deque", SPAA 2005; the memory
 * orders are those of Lê, Pop, Cohen and Zappa Nardelli, "Correct and efficient
 * work-stealing for weak memory models", PPoPP 2013, with two exceptions:
 *   - Stores of bottom are release stores, where the paper has a release fence.
 *     A relaxed store of bottom, as in the paper's take function, publishes
 *     nothing since C++20, unless a fence precedes it.
 *   - Compare-exchanges of top are not sequentially consistent. In C11 they had
 *     to be, for a thief that has read top from another thief. Since C++20 (as
 *     in RC11) a fence orders the reads before it in the same way as the writes
 *     before it.
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
#define DEQUE_MAX_CAPACITY (UINT64_C(1) << 31) /* initial; it may grow past */

struct deque_buffer;

struct deque {
	/* Writers: thieves, and the owner when it takes the last or the oldest
	 * item. Readers: owner, thieves. Wraps at 2^64, like bottom. */
	alignas(CACHE_PAIR) atomic_u64 top;

	/* Writer: owner. Readers: owner, thieves. Publishes the slots before
	 * it, and the buffer. May be one below top during a pop. */
	alignas(CACHE_PAIR) atomic_u64 bottom;
	/* struct deque_buffer *. Writer: owner. Readers: owner, thieves.
	 * Publishes the slots that grow_owner() copied into it. */
	atomic_ptr buffer;
	/* Constant after init. */
	const struct skua_allocator *allocator;
};

/* The result of a steal; @item is set only if @outcome is success. */
struct deque_steal {
	enum skua_steal outcome;
	void *item;
};

/* deque_capacity_valid - return true if @capacity is a power of two in the
 * limits */
static inline bool deque_capacity_valid(uint64_t capacity)
{
	return capacity >= DEQUE_MIN_CAPACITY &&
	       capacity <= DEQUE_MAX_CAPACITY &&
	       (capacity & (capacity - 1)) == 0;
}

/**
 * deque_init - make an empty deque
 * @capacity: initial number of slots; deque_capacity_valid() must hold
 * @start: first position; 0 except in tests of the wrap
 * @allocator: NULL: libc
 *
 * Return: 0; -ENOMEM.
 */
int deque_init(struct deque *d, uint64_t capacity, uint64_t start,
	       const struct skua_allocator *allocator);

/* deque_destroy - free the deque's memory; no thread may use it any more. Items
 * that are left in it stay with the threads that pushed them. */
void deque_destroy(struct deque *d);

/**
 * deque_push_owner - add @item at the bottom
 *
 * Allocates when the ring is full. Return: 0; -ENOMEM: the item was not added,
 * and the deque is unchanged.
 */
int deque_push_owner(struct deque *d, void *item);

/* deque_pop_owner - take the newest item; NULL: there is none */
void *deque_pop_owner(struct deque *d);

/* deque_pop_oldest_owner - take the oldest item; NULL: there is none */
void *deque_pop_oldest_owner(struct deque *d);

/* deque_steal - take the oldest item. Threads: any. Outcome retry: another
 * thread took that item meanwhile. */
struct deque_steal deque_steal(struct deque *d);

/* deque_length - return the number of items: exact for the owner while no
 * thread steals, otherwise an estimate */
uint64_t deque_length(const struct deque *d);

#endif
