/* SPDX-License-Identifier: MIT */
/* local_queue.c - see local_queue.h for the protocol and its invariants */
#include "core/queue/local_queue.h"
#include "core/base/hot.h"

#include <assert.h>

#define PENDING_BITS  LOCAL_QUEUE_PENDING_BITS
#define PENDING_MASK  ((UINT64_C(1) << PENDING_BITS) - 1)
#define POSITION_MASK LOCAL_QUEUE_POSITION_MASK

static_assert(LOCAL_QUEUE_MAX_CAPACITY <= PENDING_MASK,
	      "pending reaches the capacity");
static_assert(offsetof(struct local_queue, tail) == CACHE_PAIR &&
		      offsetof(struct local_queue, own_slots) == 2 * CACHE_PAIR,
	      "head, tail and slots have different writers");

static inline uint64_t head_pack(uint64_t real, uint64_t pending)
{
	return real << PENDING_BITS | pending;
}

static inline uint64_t head_real(uint64_t head)
{
	return head >> PENDING_BITS;
}

static inline uint64_t head_pending(uint64_t head)
{
	return head & PENDING_MASK;
}

static inline uint64_t head_steal(uint64_t head)
{
	return head_real(head) - head_pending(head);
}

/* Distance from a position to a later one, modulo 2^48. */
static inline uint64_t distance(uint64_t from, uint64_t to)
{
	return (to - from) & POSITION_MASK;
}

static inline uint64_t capacity(const struct local_queue *q)
{
	return q->mask + 1;
}

size_t local_queue_size(uint32_t slots)
{
	size_t bytes = sizeof(struct local_queue) + slots * sizeof(atomic_ptr);

	return (bytes + CACHE_PAIR - 1) / CACHE_PAIR * CACHE_PAIR;
}

static void init(struct local_queue *q, atomic_ptr *slots, uint32_t count,
		 uint64_t start)
{
	assert(local_queue_capacity_valid(count));
	atomic_init(&q->head, head_pack(start & POSITION_MASK, 0));
	atomic_init(&q->tail, start);
	q->limit = start + count;
	q->mask = count - 1;
	q->slots = slots;
}

void local_queue_init(struct local_queue *q, uint32_t slots, uint64_t start)
{
	init(q, q->own_slots, slots, start);
	for (uint32_t i = 0; i < slots; i++)
		atomic_init(&q->slots[i], NULL);
}

void local_queue_init_apart(struct local_queue *q, atomic_ptr *slots,
			    uint32_t count)
{
	init(q, slots, count, 0);
}

uint32_t local_queue_room_owner(struct local_queue *q)
{
	/*
	 * Acquire: a thief has finished reading its slots before they are
	 * written again. Pairs with the releases of head in
	 * local_queue_steal_into(), and in claim() for a single item.
	 */
	uint64_t head = atomic_load_acquire(&q->head);
	uint64_t tail = local_queue_tail_owner(q);
	uint64_t room = capacity(q) - distance(head_steal(head), tail);

	q->limit = tail + room;
	return (uint32_t)room;
}

HOT bool local_queue_push_limit_owner(struct local_queue *q, void *item)
{
	return local_queue_room_owner(q) > 0 && local_queue_push_owner(q, item);
}

HOT void *local_queue_pop_owner(struct local_queue *q)
{
	/* Relaxed: the owner itself wrote the slots, and a stale head makes the
	 * compare-exchange fail. */
	uint64_t head = atomic_load_relaxed(&q->head);
	uint64_t tail = local_queue_tail_owner(q);

	/* The loop repeats when a thief claimed items or released its claim. */
	for (;;) {
		uint64_t real = head_real(head);
		uint64_t pending = head_pending(head);

		if (distance(real, tail) == 0)
			return NULL;
		/*
		 * Release: a thief that sees this head does not see an older
		 * tail, from before this item was pushed. Pairs with the
		 * acquire of head in claim().
		 */
		if (atomic_cas_release(
			    &q->head, &head,
			    head_pack(real + 1, pending ? pending + 1 : 0)))
			return local_queue_slot_load(q, real);
	}
}

struct local_queue_run local_queue_spill_owner(struct local_queue *q)
{
	struct local_queue_run none = { 0, 0 };
	/* Relaxed: as in local_queue_pop_owner(). */
	uint64_t head = atomic_load_relaxed(&q->head);
	uint64_t real = head_real(head);
	uint32_t half = (uint32_t)(capacity(q) / 2);

	/* The push that failed may have seen a thief's claim. The claimed items
	 * are not counted here; if the thief has released them by now, there is
	 * room. */
	if (distance(real, local_queue_tail_owner(q)) < capacity(q))
		return none;
	/* Release: as in local_queue_pop_owner(). */
	if (!atomic_cas_release(&q->head, &head, head_pack(real + half, 0)))
		return none;
	return (struct local_queue_run){ .first = real, .count = half };
}

/*
 * Take up to @most items of the older half of @src. A single item is taken at
 * once. For more items the result is a claim, which the caller must release. A
 * thief that meets the claim of another thief does not wait for it (retry).
 */
static struct local_queue_steal claim(struct local_queue *src, uint64_t most,
				      uint64_t *first)
{
	struct local_queue_steal steal = { .outcome = SKUA_STEAL_EMPTY };
	/*
	 * Acquire: the thread that wrote this head had seen a tail that is not
	 * before it, and the tail that is read below is not older. Pairs with
	 * the releases of head in this file.
	 */
	uint64_t head = atomic_load_acquire(&src->head);

	/* The loop repeats when the owner or another thief took an item. */
	for (;;) {
		/* Acquire: the slots before tail are filled. Pairs with the
		 * release in local_queue_publish_owner(). */
		uint64_t tail = atomic_load_acquire(&src->tail);
		uint64_t real = head_real(head);
		uint64_t queued = distance(real, tail);
		uint64_t n = queued - queued / 2;

		if (n == 0)
			return steal;
		if (head_pending(head) != 0) {
			steal.outcome = SKUA_STEAL_RETRY;
			return steal;
		}
		if (n > most)
			n = most;
		/*
		 * Read the oldest item before the claim, and use it only if
		 * head did not change meanwhile: then no thread wrote the slot
		 * (Q2), and head was still current when tail was read.
		 */
		steal.item = local_queue_slot_load(src, real);
		/*
		 * Release: a thief that reads this head reads no older tail, as
		 * in local_queue_pop_owner(). For a single item, the release
		 * also orders the read above before the owner's next write of
		 * that slot: pairs with the acquire of head in
		 * local_queue_room_owner(). Acquire on failure: as in the first
		 * load of head.
		 */
		if (!atomic_cas_acq_rel(&src->head, &head,
					head_pack(real + n, n > 1 ? n : 0)))
			continue;
		steal.outcome = SKUA_STEAL_SUCCESS;
		steal.count = (uint32_t)n;
		*first = real;
		return steal;
	}
}

struct local_queue_steal local_queue_steal_one(struct local_queue *src)
{
	uint64_t first;

	return claim(src, 1, &first);
}

struct local_queue_steal local_queue_steal_into(struct local_queue *src,
						struct local_queue *dst,
						uint32_t limit)
{
	uint64_t tail = local_queue_tail_owner(dst);
	uint64_t most = local_queue_room_owner(dst) + UINT64_C(1);
	uint64_t first;
	struct local_queue_steal steal;

	assert(src != dst && limit > 0);
	steal = claim(src, limit < most ? limit : most, &first);
	if (steal.outcome != SKUA_STEAL_SUCCESS || steal.count == 1)
		return steal;

	for (uint32_t i = 1; i < steal.count; i++)
		local_queue_slot_store(dst, tail + i - 1,
				       local_queue_slot_load(src, first + i));
	/*
	 * Release: the copies are done before the owner of @src reuses the
	 * slots; pairs with the acquire of head in local_queue_room_owner().
	 * This one operation cannot fail, whatever the owner has popped
	 * meanwhile: it sets pending to 0 and keeps real.
	 */
	atomic_fetch_and_release(&src->head, ~PENDING_MASK);
	local_queue_publish_owner(dst, tail + steal.count - 1);
	return steal;
}

HOT uint32_t local_queue_length(const struct local_queue *q)
{
	/*
	 * Acquire: the tail is not before this head, see claim(). If it is
	 * newer than head, the difference is too large, but never negative.
	 */
	uint64_t head = atomic_load_acquire(&q->head);
	uint64_t tail = atomic_load_relaxed(&q->tail);
	uint64_t queued = distance(head_real(head), tail);

	return (uint32_t)(queued > capacity(q) ? capacity(q) : queued);
}

HOT uint64_t local_queue_end_owner(const struct local_queue *q)
{
	return local_queue_tail_owner(q);
}

HOT uint32_t local_queue_before_owner(const struct local_queue *q,
				      uint64_t position)
{
	/* Relaxed: a thief may take items at any moment. */
	uint64_t real = head_real(atomic_load_relaxed(&q->head));
	uint64_t before = distance(real, position);

	/* If head has passed the position, the distance is nearly 2^48. */
	return before <= capacity(q) ? (uint32_t)before : 0;
}
