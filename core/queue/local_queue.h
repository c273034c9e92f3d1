/* SPDX-License-Identifier: MIT */
/**
 * local_queue.h - a worker's bounded ring of runnable items
 *
 * One thread, the owner, pushes at the tail and pops at the head. Any other
 * thread may steal the older half. Positions only count up. Slot p & mask holds
 * the item of position p.
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
 * The slots between steal and real belong to the thief until the release. If
 * the owner pops meanwhile, it raises real and pending by one each. So steal
 * stays the same, and the owner never reuses a slot that the thief still reads.
 *
 * Invariants (checked by tests/model/model_local_queue.c):
 *   Q1  steal <= real <= tail, tail - steal <= capacity
 *   Q2  no thread writes a slot in [steal, tail)
 *   Q3  each position is handed out once: to the owner's pop or spill, or to
 *       one thief
 *
 * No ABA: head does not return to a value before real has gone round 2^48. At
 * one push a nanosecond this takes three days, during which one thief would
 * have to be suspended. (Two 32-bit heads were fooled after 37 s of pushing,
 * 16-bit heads after 65,536 operations.) Differences of positions are taken
 * modulo 2^48. The capacity is at most 32,768, so that pending, which never
 * exceeds the capacity, fits in 16 bits.
 *
 * Rejected: copying the items before a single compare-exchange, without a
 * pending claim. It is simpler, and a suspended thief would hold no slots.
 * However, if the owner pops every 20 ns, a thief that copies for 100 ns fails
 * for ever.
 * A steal of a single item needs no protected copy, and does work in this way.
 *
 * The three phases follow Tokio's queue, which descends from Go's.
 */
#ifndef SKUA_CORE_QUEUE_LOCAL_QUEUE_H
#define SKUA_CORE_QUEUE_LOCAL_QUEUE_H

#include <assert.h>
#include <stdalign.h>
#include <stddef.h>

#include "core/base/atomic.h"
#include "skua/queue.h"

#define LOCAL_QUEUE_MIN_CAPACITY 4u
#define LOCAL_QUEUE_MAX_CAPACITY 32768u

/* Head is [ real:48 | pending:16 ]. */
#define LOCAL_QUEUE_PENDING_BITS  16
#define LOCAL_QUEUE_POSITION_MASK ((UINT64_C(1) << 48) - 1)

struct local_queue {
	/*
	 * Writers: owner (pop, spill), thieves (claim, release). Readers:
	 * owner, thieves. Guards the slots before tail; real wraps at 2^48.
	 */
	alignas(CACHE_PAIR) atomic_u64 head;

	/*
	 * Writer: owner. Readers: owner, thieves. Publishes the slots before
	 * it; compared modulo 2^48, wraps at 2^64.
	 */
	alignas(CACHE_PAIR) atomic_u64 tail;
	/* The owner's own: the slots from tail to this position are free. They
	 * stay so, as steal only goes up; so a push need not read head, which
	 * thieves write. */
	uint64_t limit;
	/* Constant after init. They are here because their readers also read
	 * tail, and thieves do not write this line. */
	uint64_t mask;
	/* Writer: owner, only outside [steal, tail) (Q2). Readers: owner,
	 * thieves. */
	atomic_ptr *slots;

	/* The slots of local_queue_init(). */
	alignas(CACHE_PAIR) atomic_ptr own_slots[];
};

/* A run of items that the owner took out of the ring, oldest first. */
struct local_queue_run {
	uint64_t first;
	uint32_t count;
};

/* The result of a steal; @item and @count are set only on success. */
struct local_queue_steal {
	enum skua_steal outcome;
	void *item;     /* the oldest item; not in the thief's queue */
	uint32_t count; /* number of stolen items, including @item */
};

/* local_queue_capacity_valid - return true if @capacity is a power of two in
 * the limits */
static inline bool local_queue_capacity_valid(uint64_t capacity)
{
	return capacity >= LOCAL_QUEUE_MIN_CAPACITY &&
	       capacity <= LOCAL_QUEUE_MAX_CAPACITY &&
	       (capacity & (capacity - 1)) == 0;
}

/* local_queue_size - return how many bytes to allocate, aligned to CACHE_PAIR */
size_t local_queue_size(uint32_t capacity);

/**
 * local_queue_init - make an empty queue in memory of local_queue_size() bytes
 * @start: first position; 0 except in tests of the wrap
 */
void local_queue_init(struct local_queue *q, uint32_t capacity, uint64_t start);

/* local_queue_init_apart - make an empty queue with @slots elsewhere, @capacity
 * of them and zeroed; does not touch them */
void local_queue_init_apart(struct local_queue *q, atomic_ptr *slots,
			    uint32_t capacity);

/* The accesses to the slots. Relaxed: tail publishes them, and head guards them
 * (Q2). */
static inline void *local_queue_slot_load(const struct local_queue *q,
					  uint64_t position)
{
	return atomic_load_relaxed(&q->slots[position & q->mask]);
}

static inline void local_queue_slot_store(struct local_queue *q,
					  uint64_t position, void *item)
{
	atomic_store_relaxed(&q->slots[position & q->mask], item);
}

/* local_queue_tail_owner - return the tail. Relaxed: only the owner writes it. */
static inline uint64_t local_queue_tail_owner(const struct local_queue *q)
{
	return atomic_load_relaxed(&q->tail);
}

/* local_queue_publish_owner - move the tail. Release: publishes the slots before
 * @tail. Pairs with the acquire of tail in claim(). */
static inline void local_queue_publish_owner(struct local_queue *q,
					     uint64_t tail)
{
	atomic_store_release(&q->tail, tail);
}

/* local_queue_queued_owner - return the number of queued items. Relaxed: thieves
 * may have taken more meanwhile. */
static inline uint64_t local_queue_queued_owner(const struct local_queue *q)
{
	uint64_t real =
		atomic_load_relaxed(&q->head) >> LOCAL_QUEUE_PENDING_BITS;

	return (local_queue_tail_owner(q) - real) & LOCAL_QUEUE_POSITION_MASK;
}

/* local_queue_push_limit_owner - local_queue_push_owner() at the limit */
bool local_queue_push_limit_owner(struct local_queue *q, void *item);

/* local_queue_push_owner - add @item at the tail; false if the ring is full */
static inline bool local_queue_push_owner(struct local_queue *q, void *item)
{
	uint64_t tail = local_queue_tail_owner(q);

	if (__builtin_expect(tail == q->limit, 0))
		return local_queue_push_limit_owner(q, item);
	local_queue_slot_store(q, tail, item);
	local_queue_publish_owner(q, tail + 1);
	return true;
}

/* local_queue_pop_owner - take the oldest item; NULL: there is none */
void *local_queue_pop_owner(struct local_queue *q);

/**
 * local_queue_spill_owner - take the older half out of a full ring
 *
 * The caller must read the items with local_queue_run_item() before its next
 * push. Return: the run. It is empty if the ring is not full of queued items,
 * because a thief holds slots, or has made room since a push failed.
 */
struct local_queue_run local_queue_spill_owner(struct local_queue *q);

/* local_queue_run_item - return item @i of a run, @i < run.count */
static inline void *local_queue_run_item(const struct local_queue *q,
					 struct local_queue_run run, uint32_t i)
{
	assert(i < run.count);
	return local_queue_slot_load(q, run.first + i);
}

/**
 * local_queue_steal_into - steal the older half, rounded up
 * @src: any queue except @dst
 * @dst: the caller's own queue: receives all stolen items except the oldest, in
 *       order
 * @limit: most items to take, at least 1
 *
 * Takes at most as many items as @dst has room for, plus one. Slots that
 * another thief is still copying out of @dst are no room.
 */
struct local_queue_steal local_queue_steal_into(struct local_queue *src,
						struct local_queue *dst,
						uint32_t limit);

/* local_queue_steal_one - steal the oldest item. Threads: any, also one without
 * a queue */
struct local_queue_steal local_queue_steal_one(struct local_queue *src);

/* local_queue_room_owner - return the number of free slots; slots that a thief
 * is still copying are not free */
uint32_t local_queue_room_owner(struct local_queue *q);

/* local_queue_end_owner - return the position after the newest item */
uint64_t local_queue_end_owner(const struct local_queue *q);

/* local_queue_before_owner - return the number of queued items before @position,
 * an earlier result of local_queue_end_owner() */
uint32_t local_queue_before_owner(const struct local_queue *q,
				  uint64_t position);

/* local_queue_taken - return how many items were popped or claimed, modulo 2^48. Relaxed: a
 * hint. Threads: any */
static inline uint64_t local_queue_taken(const struct local_queue *q)
{
	return atomic_load_relaxed(&q->head) >> LOCAL_QUEUE_PENDING_BITS;
}

/* local_queue_length - return the number of queued items; exact only for the
 * owner. Threads: any */
uint32_t local_queue_length(const struct local_queue *q);

#endif
