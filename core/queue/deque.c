/* SPDX-License-Identifier: MIT */
/* deque.c - see deque.h for the protocol and its invariants */
#include "core/queue/deque.h"

#include <assert.h>
#include <errno.h>

#include "core/base/memory.h"

struct deque_buffer {
	struct deque_buffer *older; /* the buffer that this one replaced (D4) */
	uint64_t capacity;
	/* Writer: owner, only outside [top, bottom) (D3). Readers: owner,
	 * thieves. */
	alignas(CACHE_PAIR) atomic_ptr slots[];
};

static_assert(sizeof(size_t) == 8, "the size of no buffer overflows");

static size_t buffer_size(uint64_t capacity)
{
	return offsetof(struct deque_buffer, slots) +
	       capacity * sizeof(atomic_ptr);
}

static struct deque_buffer *buffer_new(const struct skua_allocator *allocator,
				       uint64_t capacity)
{
	struct deque_buffer *buffer =
		memory_alloc(allocator, CACHE_PAIR, 1, buffer_size(capacity));

	if (buffer)
		buffer->capacity = capacity;
	return buffer;
}

static void buffer_free(const struct skua_allocator *allocator,
			struct deque_buffer *buffer)
{
	memory_free(allocator, buffer, CACHE_PAIR, 1,
		    buffer_size(buffer->capacity));
}

static atomic_ptr *slot_of(struct deque_buffer *buffer, uint64_t position)
{
	return &buffer->slots[position & (buffer->capacity - 1)];
}

/* Relaxed: bottom and buffer publish the slots, and top returns them (D3). */
static void *slot_load(struct deque_buffer *buffer, uint64_t position)
{
	return atomic_load_relaxed(slot_of(buffer, position));
}

static void slot_store(struct deque_buffer *buffer, uint64_t position,
		       void *item)
{
	atomic_store_relaxed(slot_of(buffer, position), item);
}

/* Signed distance between two positions; negative if @to is before @from. */
static int64_t distance(uint64_t from, uint64_t to)
{
	return (int64_t)(to - from);
}

int deque_init(struct deque *d, uint64_t capacity, uint64_t start,
	       const struct skua_allocator *allocator)
{
	struct deque_buffer *buffer;

	assert(deque_capacity_valid(capacity));
	buffer = buffer_new(allocator, capacity);
	if (!buffer)
		return -ENOMEM;
	atomic_init(&d->top, start);
	atomic_init(&d->bottom, start);
	atomic_init(&d->buffer, buffer);
	d->allocator = allocator;
	return 0;
}

void deque_destroy(struct deque *d)
{
	/* Relaxed: no other thread uses the deque any more. */
	struct deque_buffer *buffer = atomic_load_relaxed(&d->buffer);

	while (buffer) {
		struct deque_buffer *older = buffer->older;

		buffer_free(d->allocator, buffer);
		buffer = older;
	}
}

/* Relaxed, here and in buffer_owner(): the owner itself wrote the value. */
static uint64_t bottom_owner(const struct deque *d)
{
	return atomic_load_relaxed(&d->bottom);
}

static struct deque_buffer *buffer_owner(const struct deque *d)
{
	return atomic_load_relaxed(&d->buffer);
}

/* Replace the buffer by one of twice the size that has the items of [top,
 * bottom). Return: the new buffer; NULL: no memory. */
static struct deque_buffer *grow_owner(struct deque *d, uint64_t top,
				       uint64_t bottom)
{
	struct deque_buffer *old = buffer_owner(d);
	struct deque_buffer *buffer =
		buffer_new(d->allocator, 2 * old->capacity);

	if (!buffer)
		return NULL;
	for (uint64_t p = top; p != bottom; p++)
		slot_store(buffer, p, slot_load(old, p));
	buffer->older = old; /* D4 */
	/* Release: publishes the slots and the capacity of the new buffer.
	 * Pairs with the acquire of buffer in deque_steal(). */
	atomic_store_release(&d->buffer, buffer);
	return buffer;
}

int deque_push_owner(struct deque *d, void *item)
{
	uint64_t bottom = bottom_owner(d);
	/* Acquire: the thread that raised top has finished reading the slot, so
	 * the slot may be written again (D3). Pairs with the release of top in
	 * deque_steal(). */
	uint64_t top = atomic_load_acquire(&d->top);
	struct deque_buffer *buffer = buffer_owner(d);

	if (distance(top, bottom) >= (int64_t)buffer->capacity) {
		buffer = grow_owner(d, top, bottom);
		if (!buffer)
			return -ENOMEM;
	}
	slot_store(buffer, bottom, item);
	/* Release: publishes the slot, the data behind the item, and the
	 * buffer. Pairs with the acquire of bottom in deque_steal(). */
	atomic_store_release(&d->bottom, bottom + 1);
	return 0;
}

/* Take the oldest item before @bottom; NULL: there is none. @top may be stale. */
static void *take_oldest_owner(struct deque *d, uint64_t top, uint64_t bottom)
{
	while (distance(top, bottom) > 0) {
		void *item = slot_load(buffer_owner(d), top);

		/* Release: a thief that reads this top then does not read a
		 * bottom older than @bottom. With a much older bottom the thief
		 * would find the deque empty although it never was. Pairs with
		 * the acquire of top in deque_steal().
		 * Failure: a thief has taken that item. Relaxed then, as no
		 * slot is written here. */
		if (atomic_cas_release(&d->top, &top, top + 1))
			return item;
	}
	return NULL;
}

void *deque_pop_owner(struct deque *d)
{
	uint64_t bottom = bottom_owner(d);
	uint64_t top;
	void *item;

	/* Relaxed: top only rises, so if even a stale top leaves no item, there
	 * is none. Then bottom stays as it is, and no fence is needed. */
	if (distance(atomic_load_relaxed(&d->top), bottom) <= 0)
		return NULL;
	/* Release: publishes the slots before it, as in deque_push_owner(): a
	 * thief may read this bottom and none of those that the pushes stored. */
	atomic_store_release(&d->bottom, bottom - 1);
	/* Orders this store of bottom before the load of top. Pairs with the
	 * fence in deque_steal(): if a thief that takes this position has not
	 * seen this bottom, then the load below sees the top that the thief has
	 * read (D2). */
	atomic_fence_seq_cst();
	/* Relaxed: ordered by the fence. */
	top = atomic_load_relaxed(&d->top);
	if (distance(top, bottom) > 1)
		return slot_load(buffer_owner(d), bottom - 1);
	item = take_oldest_owner(d, top, bottom);
	/* Relaxed: the owner or a thief has raised top to @bottom, so thieves
	 * find nothing to take. */
	atomic_store_relaxed(&d->bottom, bottom);
	return item;
}

void *deque_pop_oldest_owner(struct deque *d)
{
	/* Relaxed: a stale top only makes the compare-exchange fail. */
	return take_oldest_owner(d, atomic_load_relaxed(&d->top),
				 bottom_owner(d));
}

struct deque_steal deque_steal(struct deque *d)
{
	struct deque_steal steal = { .outcome = SKUA_STEAL_EMPTY };
	/* Acquire: the bottom that the thread which raised top to this value
	 * had seen. Pairs with the releases of top below and in
	 * take_oldest_owner(). The fence alone would suffice. */
	uint64_t top = atomic_load_acquire(&d->top);
	struct deque_buffer *buffer;
	uint64_t bottom;

	/* Orders the load of top before the load of bottom. Pairs with the
	 * fence in deque_pop_owner(): if the owner popped a position before top
	 * reached it, the bottom that is read here is not past that position
	 * (D2). */
	atomic_fence_seq_cst();
	/* Acquire: the slots before bottom, the data behind the items, and the
	 * buffer. Pairs with the releases of bottom in deque_push_owner() and
	 * deque_pop_owner(). */
	bottom = atomic_load_acquire(&d->bottom);
	if (distance(top, bottom) <= 0)
		return steal;
	/* Acquire: the slots of the buffer, which may be newer than this
	 * bottom. Pairs with the release in grow_owner(). */
	buffer = atomic_load_acquire(&d->buffer);
	/* Read the item before the claim, and use it only if the claim
	 * succeeds: then top did not change meanwhile, and the slot was not
	 * written (D3). */
	steal.item = slot_load(buffer, top);
	/* Release: the slot has been read. Pairs with the acquire of top in
	 * deque_push_owner(). */
	steal.outcome = atomic_cas_release(&d->top, &top, top + 1)
				? SKUA_STEAL_SUCCESS
				: SKUA_STEAL_RETRY;
	return steal;
}

uint64_t deque_length(const struct deque *d)
{
	/* Relaxed, both loads: an estimate. */
	uint64_t top = atomic_load_relaxed(&d->top);
	int64_t length = distance(top, atomic_load_relaxed(&d->bottom));

	return length > 0 ? (uint64_t)length : 0;
}
