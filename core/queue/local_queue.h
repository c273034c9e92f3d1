/* SPDX-License-Identifier: MIT */
/**
 * local_queue.h - a worker's bounded ring of runnable items
 *
 * One thread, the owner, pushes at the tail and pops at the head; any other
 * may steal the older half. Positions count up for ever; position p lives in
 * slot p & mask.
 *
 *	steal           real                    tail
 *	  |  being stolen |  queued               |  free
 *	--+---------------+-----------------------+------
 *
 * Head is one word, [real:48 | pending:16]; steal = real - pending. A thief
 *
 *   1. claims:   real += n, pending = n   (only while pending is 0)
 *   2. copies    the n slots before real
 *   3. releases: pending = 0
 *
 * and the slots between steal and real are its own until the release. When
 * the owner pops meanwhile, it raises real and pending both: steal stays, so
 * that it never reuses a slot that a thief still reads.
 *
 * Invariants (checked by tests/model/model_local_queue.c):
 *   Q1  steal <= real <= tail, tail - steal <= capacity
 *   Q2  a slot in [steal, tail) is written by nobody
 *   Q3  each position is handed out once: to the owner's pop or spill, or to
 *       one thief
 *
 * No ABA: a head word does not come back before real has gone round 2^48,
 * which at one push a nanosecond takes three days of one suspended thief.
 * (With two 32-bit heads it takes 37 s, with 16-bit heads 65,536 operations.)
 * Differences of positions are taken modulo 2^48. The capacity is at most
 * 32,768, so that pending, at most the capacity, fits in its 16 bits.
 *
 * Rejected: copying before one compare-exchange, without a pending claim. It
 * is simpler, and a suspended thief would hold nothing; but an owner that
 * pops every 20 ns makes a thief that copies for 100 ns fail for ever. For a
 * single item there is no copy to protect, and the steal does just that.
 *
 * Follows Tokio's queue (which descends from Go's) in its three phases.
 */
#ifndef SKUA_CORE_QUEUE_LOCAL_QUEUE_H
#define SKUA_CORE_QUEUE_LOCAL_QUEUE_H

#include <stdalign.h>
#include <stddef.h>

#include "core/base/atomic.h"
#include "skua/queue.h"

#define LOCAL_QUEUE_MIN_CAPACITY 4u
#define LOCAL_QUEUE_MAX_CAPACITY 32768u

struct local_queue {
	/*
	 * Writers: owner (pop, spill), thieves (claim, release). Readers: both.
	 * Guards the slots before tail; wraps at real = 2^48.
	 */
	alignas(CACHE_PAIR) atomic_u64 head;
	/* Constant after init; here because its readers read head too. */
	uint64_t mask;

	/*
	 * Writer: owner. Readers: owner, thieves. Publishes the slots before
	 * it; compared modulo 2^48, wraps at 2^64.
	 */
	alignas(CACHE_PAIR) atomic_u64 tail;

	/* Writer: owner, outside [steal, tail) only (Q2). Readers: both. */
	alignas(CACHE_PAIR) atomic_ptr slots[];
};

/* A run of items that the owner took out of the ring, oldest first. */
struct local_queue_run {
	uint64_t first;
	uint32_t count;
};

/* The result of a steal; @item and @count are set if @outcome is success. */
struct local_queue_steal {
	enum skua_steal outcome;
	void *item;     /* the oldest one, not in the thief's queue */
	uint32_t count; /* how many in all, @item included */
};

/* local_queue_capacity_valid - a power of two within the limits? */
static inline bool local_queue_capacity_valid(uint64_t capacity)
{
	return capacity >= LOCAL_QUEUE_MIN_CAPACITY &&
	       capacity <= LOCAL_QUEUE_MAX_CAPACITY &&
	       (capacity & (capacity - 1)) == 0;
}

/* local_queue_size - bytes to allocate, aligned to CACHE_PAIR */
size_t local_queue_size(uint32_t capacity);

/**
 * local_queue_init - make an empty queue in memory of local_queue_size()
 * @start: first position; 0 but in tests of the wrap
 */
void local_queue_init(struct local_queue *q, uint32_t capacity, uint64_t start);

/* local_queue_push_owner - add @item at the tail; false: the ring is full */
bool local_queue_push_owner(struct local_queue *q, void *item);

/* local_queue_pop_owner - take the oldest item, NULL if there is none */
void *local_queue_pop_owner(struct local_queue *q);

/**
 * local_queue_spill_owner - take the older half out of a full ring
 *
 * The caller reads the items with local_queue_run_item() before its next
 * push. Return: an empty run if the ring is not full of queued items: a thief
 * holds slots, or has made room since a push failed.
 */
struct local_queue_run local_queue_spill_owner(struct local_queue *q);

/* local_queue_run_item - the @i-th item of a run, i < run.count */
void *local_queue_run_item(const struct local_queue *q,
			   struct local_queue_run run, uint32_t i);

/**
 * local_queue_steal_into - steal the older half, rounded up
 * @src: any queue but @dst
 * @dst: the caller's own: receives all but the oldest item, in order
 * @limit: most to take, at least 1
 *
 * Takes no more than @dst has room for (plus one), where slots that a third
 * party is still copying out of @dst count as taken.
 */
struct local_queue_steal local_queue_steal_into(struct local_queue *src,
						struct local_queue *dst,
						uint32_t limit);

/* local_queue_steal_one - steal the oldest item; any thread, no queue needed */
struct local_queue_steal local_queue_steal_one(struct local_queue *src);

/* local_queue_room_owner - free slots; those still being stolen are not free */
uint32_t local_queue_room_owner(const struct local_queue *q);

/* local_queue_length - items queued; any thread, exact for the owner alone */
uint32_t local_queue_length(const struct local_queue *q);

#endif
