/* SPDX-License-Identifier: MIT */
/**
 * lifo_slot.h - the one item that its worker runs next
 *
 * What was made runnable last is what the caches still hold, so it goes into
 * a slot of its own, ahead of the local queue; what it displaces goes to the
 * queue. Only the owner fills the slot. The owner and thieves take by
 * exchange, so that each item is taken once.
 */
#ifndef SKUA_CORE_QUEUE_LIFO_SLOT_H
#define SKUA_CORE_QUEUE_LIFO_SLOT_H

#include <stddef.h>

#include "core/base/atomic.h"

struct lifo_slot {
	/* Writers: owner (fill, take), thieves (take). Readers: both. */
	atomic_ptr item;
};

static inline void lifo_slot_init(struct lifo_slot *slot)
{
	atomic_init(&slot->item, NULL);
}

/* lifo_slot_peek - occupied, as far as the caller can see? */
static inline bool lifo_slot_peek(const struct lifo_slot *slot)
{
	/* Relaxed: a hint; a thread that wants the item takes it. */
	return atomic_load_relaxed(&slot->item) != NULL;
}

/* lifo_slot_seen - what is in the slot now, not to be touched; any thread */
static inline void *lifo_slot_seen(const struct lifo_slot *slot)
{
	/* Relaxed: as above. */
	return atomic_load_relaxed(&slot->item);
}

/* lifo_slot_take_seen - empty the slot if it holds @item; any thread */
static inline bool lifo_slot_take_seen(struct lifo_slot *slot, void *item)
{
	/* Acquire: as in lifo_slot_take(). The same item may have gone and come
	 * back meanwhile: it is taken once all the same. */
	return atomic_cas_acq_rel(&slot->item, &item, NULL);
}

/* lifo_slot_take - empty the slot; NULL if it was empty; any thread */
static inline void *lifo_slot_take(struct lifo_slot *slot)
{
	/* Spares an empty slot the exchange: the usual case. */
	if (!lifo_slot_peek(slot))
		return NULL;
	/* Acquire: what the filler wrote behind the item. Pairs with the
	 * release in lifo_slot_put_owner(). */
	return atomic_exchange_acquire(&slot->item, NULL);
}

/* lifo_slot_put_owner - fill the slot; returns what it displaced, or NULL */
static inline void *lifo_slot_put_owner(struct lifo_slot *slot, void *item)
{
	if (!lifo_slot_peek(slot)) {
		/*
		 * A store suffices: only the owner fills, so that an empty slot
		 * stays empty. Release: publishes the item to a thief. Pairs
		 * with the acquire in lifo_slot_take().
		 */
		atomic_store_release(&slot->item, item);
		return NULL;
	}
	/* Release: as above. Acquire: not needed, the displaced item is the
	 * owner's own. */
	return atomic_exchange_release(&slot->item, item);
}

#endif
