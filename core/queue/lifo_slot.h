/* SPDX-License-Identifier: MIT */
/**
 * lifo_slot.h - the slot for the one item that its worker runs next
 *
 * The caches still have the data of the task that was made runnable last. So
 * that task goes into a slot of its own, ahead of the local queue. The task
 * that it displaces goes to the local queue.
 *
 * The owner takes the item at almost every poll, and thieves hardly ever: only
 * when the owner has left it there for 100 us. So only the owner writes the
 * item, without a locked operation, and a thief asks for it by a second word:
 *
 *	owner                           thief
 *	------------------------------  -----------------------------------
 *	item := NULL                    claim := thief, if it is 0
 *	*light fence*                   *heavy fence*
 *	claim is 0: the item is mine    item is still there: claim := TAKEN
 *
 * The heavy fence is a fence in all threads, the owner included. If it comes
 * after the owner's store, the thief sees that the item is gone, and gives its
 * claim back. If it comes before, the owner sees the claim. It then withdraws
 * the claim by a compare-exchange, or finds TAKEN by it: the item is the
 * thief's. The owner alone ends TAKEN, when it next empties the slot.
 *
 * The light fence needs no instruction if the heavy one is membarrier_fence().
 * Where that does not work, both are ordinary fences.
 *
 * Calls that may run at the same time (the heavy fence is the thief's task):
 *
 *	owner    take_owner, holds_owner, put_owner
 *	thief    claim, fence, take_claimed or give_back; each thief by a number
 *	any      peek, seen
 *
 * Rejected: an exchange by both sides: 6 to 8 ns of the owner's, twice a task.
 * Rejected: one store of the new item to displace the old one: if a thief takes
 * the new one at once, TAKEN does not say which of the two is gone. Rejected: the
 * item itself as the claim: if the item leaves the slot and comes back, a thief
 * may act on the claim of another.
 */
#ifndef SKUA_CORE_QUEUE_LIFO_SLOT_H
#define SKUA_CORE_QUEUE_LIFO_SLOT_H

#include <stddef.h>

#include "core/base/atomic.h"

#define LIFO_SLOT_TAKEN UINT32_MAX

struct lifo_slot {
	/* Writer: owner. Readers: owner, thieves. */
	atomic_ptr item;
	/* 0, the number of a thief that wants the item, or TAKEN. Writers:
	 * thieves, from 0 and from their own number; owner, to 0. */
	atomic_u32 claim;
	/* Does the owner's fence cost an instruction? Constant. */
	bool owner_fences;
};

/* lifo_slot_init - make an empty slot. @heavy: the thieves' fence is
 * membarrier_fence() */
static inline void lifo_slot_init(struct lifo_slot *slot, bool heavy)
{
	atomic_init(&slot->item, NULL);
	atomic_init(&slot->claim, 0);
	slot->owner_fences = !heavy;
}

/* lifo_slot_seen - return the item in the slot, which the caller must not
 * access; NULL: the slot is empty, or its item is taken; any thread */
static inline void *lifo_slot_seen(const struct lifo_slot *slot)
{
	/* Relaxed, both: a hint; a thread that wants the item takes it. */
	void *item = atomic_load_relaxed(&slot->item);

	return item && atomic_load_relaxed(&slot->claim) == LIFO_SLOT_TAKEN
		       ? NULL
		       : item;
}

/* lifo_slot_peek - return true if the slot looks occupied. Threads: any */
static inline bool lifo_slot_peek(const struct lifo_slot *slot)
{
	return lifo_slot_seen(slot) != NULL;
}

/* ---- the owner ----------------------------------------------------------- */

/* The owner has emptied the slot, and seen a claim. Return: true if the item is
 * the owner's; false if a thief has it. */
static __attribute__((noinline, cold, unused)) bool
lifo_slot_withdraw_owner(struct lifo_slot *slot)
{
	/* The loop repeats when a thief took the item, gave its claim back, or
	 * made another claim. */
	for (;;) {
		/* Acquire: after TAKEN, the thief has read the item, and the
		 * owner may store another one. Pairs with the release in
		 * lifo_slot_take_claimed(). */
		uint32_t claim = atomic_load_acquire(&slot->claim);

		if (claim == LIFO_SLOT_TAKEN) {
			/* Relaxed: a thief that claims after this fences, and
			 * so sees the item that the owner has stored before. */
			atomic_store_relaxed(&slot->claim, 0);
			return false;
		}
		/* Relaxed: the thief that fails does nothing. */
		if (claim == 0 || atomic_cas_relaxed(&slot->claim, &claim, 0))
			return true;
	}
}

/* lifo_slot_take_owner - take the item; NULL: the slot is empty */
static inline void *lifo_slot_take_owner(struct lifo_slot *slot)
{
	/* Relaxed: only the owner writes the item. */
	void *item = atomic_load_relaxed(&slot->item);

	if (!item)
		return NULL;
	/* Relaxed: ordered by the fence. */
	atomic_store_relaxed(&slot->item, NULL);
	/* Orders the store before the load of the claim. Pairs with the
	 * thief's fence between lifo_slot_claim() and
	 * lifo_slot_take_claimed(). */
	if (slot->owner_fences)
		atomic_fence_seq_cst();
	else
		atomic_fence_compiler();
	/* Relaxed: ordered by the fence. */
	if (__builtin_expect(atomic_load_relaxed(&slot->claim) != 0, 0) &&
	    !lifo_slot_withdraw_owner(slot))
		return NULL;
	return item;
}

/* lifo_slot_holds_owner - is @item in the slot? The owner's next take returns
 * it, unless a thief has taken it. */
static inline bool lifo_slot_holds_owner(const struct lifo_slot *slot,
					 const void *item)
{
	/* Relaxed: only the owner writes the item. */
	return atomic_load_relaxed(&slot->item) == item;
}

/* lifo_slot_put_owner - fill the slot; return the item that it held, or NULL */
static inline void *lifo_slot_put_owner(struct lifo_slot *slot, void *item)
{
	void *displaced = lifo_slot_take_owner(slot);

	/* Release: publishes the item. Pairs with the acquire in
	 * lifo_slot_take_claimed(). */
	atomic_store_release(&slot->item, item);
	return displaced;
}

/* ---- a thief ------------------------------------------------------------- */

/**
 * lifo_slot_claim - announce that a thief wants the item
 * @thief: a number from 1 on, below LIFO_SLOT_TAKEN, of this thief alone
 *
 * If this returns true, the thief calls membarrier_or_fence(), and then
 * lifo_slot_take_claimed(); or lifo_slot_give_back(), if it could not fence.
 * Return: false: another claim stands.
 */
static inline bool lifo_slot_claim(struct lifo_slot *slot, uint32_t thief)
{
	uint32_t none = 0;

	/* Relaxed: ordered by the thief's fence. */
	return atomic_cas_relaxed(&slot->claim, &none, thief);
}

/* lifo_slot_give_back - end the claim of @thief, unless the owner has ended it */
static inline void lifo_slot_give_back(struct lifo_slot *slot, uint32_t thief)
{
	/* Relaxed: the thief has done nothing that others must see. */
	atomic_cas_relaxed(&slot->claim, &thief, 0);
}

/* lifo_slot_take_claimed - take @item if the slot holds it, and if the claim of
 * @thief stands; end the claim otherwise. Return: true if the caller has taken
 * it */
static inline bool lifo_slot_take_claimed(struct lifo_slot *slot, void *item,
					  uint32_t thief)
{
	/* Acquire: the data behind the item. Pairs with the release in
	 * lifo_slot_put_owner(). The same item may have left the slot and come
	 * back: it is still taken once. */
	if (atomic_load_acquire(&slot->item) != item) {
		lifo_slot_give_back(slot, thief);
		return false;
	}
	/* Release: the item was read. Pairs with the acquire in
	 * lifo_slot_withdraw_owner(). */
	return atomic_cas_release(&slot->claim, &thief, LIFO_SLOT_TAKEN);
}

#endif
