/* SPDX-License-Identifier: MIT */
/**
 * broadcast.c - each subscription gets each item
 *
 *	tail: [ ticket:63 | CLOSED ]     slot: version, item
 *
 * A ring of slots, each of which has the item of its latest ticket. Its version is
 * 2 * ticket + 1 while the sender writes it, and 2 * ticket + 2 afterwards. Senders
 * take turns by the list lock. Receivers copy items without it (versioned.h), and know by
 * the version whether the item is there, is not there yet, or was overwritten. They write
 * to their subscription only.
 *
 * A caller looks at the tail under the list lock before it waits. So it sees the item, or
 * the sender finds its wait in the list.
 */
#include <errno.h>

#include "core/channel/item.h"
#include "core/base/hot.h"
#include "core/channel/verbs.h"
#include "core/channel/versioned.h"

#define CLOSED UINT64_C(1)
#define TICKET UINT64_C(2)

WAIT_SHOWN(skua_broadcast, area_broadcast, mask);
WAIT_SHOWN(skua_broadcast, area_broadcast, item_bytes);
WAIT_SHOWN(skua_broadcast, area_broadcast, tail);
WAIT_SHOWN(skua_broadcast, area_broadcast, waiters);
_Static_assert(CLOSED == AREA_CHANNEL_CLOSED, "as tools know it");

struct slot {
	atomic_u64 version;
	atomic_u64 words[];
};

static atomic_u64 *tail_of(struct skua_broadcast *broadcast)
{
	return (atomic_u64 *)&broadcast->tail;
}

static struct slot *slot_of(const struct skua_broadcast *broadcast,
			    uint64_t ticket)
{
	char *slots = broadcast->slots;

	return (struct slot *)(void *)(slots + (ticket & broadcast->mask) *
						       broadcast->slot_bytes);
}

/* The versions of a slot. */
static uint64_t changing(uint64_t ticket)
{
	return 2 * ticket + 1;
}

static uint64_t done(uint64_t ticket)
{
	return 2 * ticket + 2;
}

/* ---- receive ---------------------------------------------------------------- */

/* Is there nothing for @next, and is the broadcast closed? Return: -EAGAIN; -EPIPE. */
static int nothing(struct skua_broadcast *broadcast, uint64_t next)
{
	/* Acquire: what was done before the close. Pairs with
	 * skua_broadcast_close(). */
	uint64_t tail = atomic_load_acquire(tail_of(broadcast));

	return tail == (next * TICKET | CLOSED) ? -EPIPE : -EAGAIN;
}

/* The next item was overwritten: go on at the oldest. */
static int skip(struct skua_subscription *subscription, uint64_t *missed)
{
	struct skua_broadcast *broadcast = subscription->broadcast;
	uint64_t oldest;

	/* The sender that has overwritten it has counted its item then. */
	waiters_lock(&broadcast->waiters);
	/* Relaxed: under the list lock. */
	oldest = atomic_load_relaxed(tail_of(broadcast)) / TICKET -
		 broadcast->mask - 1;
	waiters_unlock(&broadcast->waiters);
	if (missed)
		*missed = oldest - subscription->next;
	subscription->next = oldest;
	return -EOVERFLOW;
}

/* Return: 0; -EAGAIN; -EPIPE; -EOVERFLOW. */
static HOT int receive_now(struct skua_subscription *subscription, void *item,
			   uint64_t *missed)
{
	struct skua_broadcast *broadcast = subscription->broadcast;
	uint64_t next = subscription->next;
	struct slot *slot = slot_of(broadcast, next);
	/* Acquire: the item, and what was done before the send. Pairs with
	 * skua_broadcast_send(). */
	uint64_t seen = atomic_load_acquire(&slot->version);

	if (seen < done(next))
		return nothing(broadcast, next);
	if (seen > done(next) ||
	    !versioned_copy(item, slot->words, broadcast->item_bytes,
			    &slot->version, seen))
		return skip(subscription, missed);
	subscription->next = next + 1;
	return 0;
}

/* Return: 0 (there is an item for @next, or was); -EAGAIN; -EPIPE. */
static int ready_locked(struct skua_broadcast *broadcast, uint64_t next)
{
	/* Relaxed: under the list lock. */
	uint64_t tail = atomic_load_relaxed(tail_of(broadcast));

	if (tail / TICKET != next)
		return 0;
	return tail & CLOSED ? -EPIPE : -EAGAIN;
}

static HOT int receive_step(struct skua_wait *wait, void *object, bool granted,
			    int give_up)
{
	struct skua_broadcast *broadcast = object;
	int code;

	if (granted)
		return wait->code;
	if (!await_enter(&broadcast->waiters, wait, broadcast, &code))
		return code;
	code = -EAGAIN;
	if (wait_armed_locked(wait)) {
		if (give_up)
			wait_withdraw_locked(&broadcast->waiters, wait);
	} else {
		code = ready_locked(broadcast, wait->amount);
		if (code == -EAGAIN && !give_up)
			wait_arm_locked(&broadcast->waiters, wait, false);
	}
	waiters_unlock(&broadcast->waiters);
	return code == -EAGAIN && give_up ? give_up : code;
}

const struct wait_verb broadcast_verb =
	WAIT_VERB(receive_step, BROADCAST, skua_broadcast, WAIT_NO_HOLDER);

static bool usable(const struct skua_subscription *subscription,
		   const void *item)
{
	return subscription && subscription->broadcast && item;
}

int skua_subscription_receive_try(struct skua_subscription *subscription,
				  void *item, uint64_t *missed)
{
	return usable(subscription, item)
		       ? receive_now(subscription, item, missed)
		       : -EINVAL;
}

int skua_subscription_receive(struct skua_subscription *subscription,
			      void *item, uint64_t *missed,
			      uint64_t deadline_ns)
{
	int code = usable(subscription, item) ? await_allowed() : -EINVAL;

	if (code)
		return code;
	code = receive_now(subscription, item, missed);
	if (code != -EAGAIN)
		return code;
	code = await(&broadcast_verb, subscription->broadcast,
		     subscription->next, deadline_ns);
	/* After the wait, the item is there, or was. */
	return code ? code : receive_now(subscription, item, missed);
}

int skua_subscription_receive_poll(struct skua_task *self,
				   struct skua_subscription *subscription,
				   void *item, uint64_t *missed,
				   struct skua_wait *wait, uint64_t deadline_ns)
{
	int code = usable(subscription, item) ? await_may_poll(self, wait)
					      : -EINVAL;

	if (code)
		return code;
	if (!await_armed(wait)) {
		code = receive_now(subscription, item, missed);
		if (code != -EAGAIN)
			return code;
	}
	code = await_poll(self, wait, &broadcast_verb, subscription->broadcast,
			  subscription->next, deadline_ns);
	return code ? code : receive_now(subscription, item, missed);
}

/* ---- send ------------------------------------------------------------------- */

int skua_broadcast_init(struct skua_broadcast *broadcast, void *memory,
			uint32_t capacity, uint32_t item_bytes)
{
	if (!broadcast || !items_fit(memory, item_bytes) ||
	    !items_count_fits(capacity))
		return -EINVAL;
	*broadcast = (struct skua_broadcast){
		.slots = memory,
		.mask = capacity - 1,
		.item_bytes = item_bytes,
		.slot_bytes = SKUA_CHANNEL_BYTES(1, item_bytes),
	};
	/* Relaxed: nobody else uses the broadcast yet. */
	for (uint64_t i = 0; i < capacity; i++)
		atomic_store_relaxed(&slot_of(broadcast, i)->version, 0);
	return 0;
}

int skua_broadcast_subscribe(struct skua_broadcast *broadcast,
			     struct skua_subscription *subscription)
{
	uint64_t next;

	if (!broadcast || !subscription)
		return -EINVAL;
	/* Relaxed: the tail is not behind the sends that happened before. */
	next = atomic_load_relaxed(tail_of(broadcast)) / TICKET;
	/* A receiver may have got an item that its sender has not counted yet.
	 * Relaxed: nothing of the item is read. The loop repeats when there
	 * is one more item. */
	while (atomic_load_relaxed(&slot_of(broadcast, next)->version) >=
	       done(next))
		next++;
	*subscription = (struct skua_subscription){ broadcast, next };
	return 0;
}

/* Grant all waits, with this result. */
static void choose_all_locked(struct skua_broadcast *broadcast, int code,
			      struct wait_chain *chain)
{
	while (broadcast->waiters.first) {
		struct skua_wait *wait = broadcast->waiters.first;

		wait->code = code;
		wait_choose_locked(&broadcast->waiters, wait, chain);
	}
}

int skua_broadcast_send(struct skua_broadcast *broadcast, const void *item)
{
	struct wait_chain chain = { NULL, NULL };
	uint64_t tail;

	if (!broadcast || !item)
		return -EINVAL;
	waiters_lock(&broadcast->waiters);
	/* Relaxed, both: under the list lock; the version orders the item. */
	tail = atomic_load_relaxed(tail_of(broadcast));
	if (!(tail & CLOSED)) {
		uint64_t ticket = tail / TICKET;
		struct slot *slot = slot_of(broadcast, ticket);

		versioned_set_locked(&slot->version, changing(ticket),
				     done(ticket), slot->words, item,
				     broadcast->item_bytes);
		atomic_store_relaxed(tail_of(broadcast), tail + TICKET);
		choose_all_locked(broadcast, 0, &chain);
	}
	waiters_unlock(&broadcast->waiters);
	wait_grant(&chain);
	return tail & CLOSED ? -EPIPE : 0;
}

int skua_broadcast_close(struct skua_broadcast *broadcast)
{
	struct wait_chain chain = { NULL, NULL };
	uint64_t tail;

	if (!broadcast)
		return -EINVAL;
	waiters_lock(&broadcast->waiters);
	/* Relaxed: under the list lock. */
	tail = atomic_load_relaxed(tail_of(broadcast));
	/* Release: what the caller did before. Pairs with nothing(). */
	atomic_store_release(tail_of(broadcast), tail | CLOSED);
	choose_all_locked(broadcast, -EPIPE, &chain);
	waiters_unlock(&broadcast->waiters);
	wait_grant(&chain);
	return tail & CLOSED ? -EALREADY : 0;
}
