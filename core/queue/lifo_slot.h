/* SPDX-License-Identifier: MIT */
/**
 * lifo_slot.h - the slot for the one item that its worker runs next
 *
 * The caches still have the data of the task that was made runnable last. So
 * that task goes into a slot of its own, ahead of the local queue. The task
 * that it displaces goes to the local queue. Only the owner fills the slot. The
 * owner and thieves take the item by an exchange, so that each item is taken
 * once.
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

/* lifo_slot_peek - return true if the slot looks occupied. Threads: any */
static inline bool lifo_slot_peek(const struct lifo_slot *slot)
{
	/* Relaxed: a hint; a thread that wants the item calls lifo_slot_take(). */
	return atomic_load_relaxed(&slot->item) != NULL;
}

/* lifo_slot_seen - return the item in the slot, which the caller must not
 * access; NULL: the slot is empty. Threads: any */
static inline void *lifo_slot_seen(const struct lifo_slot *slot)
{
	/* Relaxed: a hint, as in lifo_slot_peek(). */
	return atomic_load_relaxed(&slot->item);
}

/* lifo_slot_take_seen - take @item if the slot holds it. Threads: any. Return:
 * true if the caller has taken it */
static inline bool lifo_slot_take_seen(struct lifo_slot *slot, void *item)
{
	/* Acquire: as in lifo_slot_take(). Release: not needed. The same item
	 * may have left the slot and come back: it is still taken once. */
	return atomic_cas_acq_rel(&slot->item, &item, NULL);
}

/* lifo_slot_take - take the item; NULL: the slot is empty. Threads: any */
static inline void *lifo_slot_take(struct lifo_slot *slot)
{
	/* No exchange on an empty slot, which is the usual case. */
	if (!lifo_slot_peek(slot))
		return NULL;
	/* Acquire: the data behind the item. Pairs with the releases in
	 * lifo_slot_put_owner(). */
	return atomic_exchange_acquire(&slot->item, NULL);
}

/* lifo_slot_put_owner - fill the slot; return the item that it held, or NULL */
static inline void *lifo_slot_put_owner(struct lifo_slot *slot, void *item)
{
	if (!lifo_slot_peek(slot)) {
		/*
		 * A store suffices: only the owner fills the slot, so that an
		 * empty slot stays empty. Release: publishes the item to a
		 * thief. Pairs with the acquires in lifo_slot_take() and
		 * lifo_slot_take_seen().
		 */
		atomic_store_release(&slot->item, item);
		return NULL;
	}
	/* Release: as in the store above. Acquire: not needed, because the
	 * owner itself put the displaced item there. */
	return atomic_exchange_release(&slot->item, item);
}

#endif
