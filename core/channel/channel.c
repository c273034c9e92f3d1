/* SPDX-License-Identifier: MIT */
/**
 * channel.c - a queue of bounded length
 *
 * Items are in the ring of channel_ring.h, whose calls never wait. Here, callers wait for an
 * item or a place.
 *
 * Waiting. Callers that wait for an item, and those that wait for a place, have a list
 * each, and a flag that is set if the list is not empty; for a moment, it may also be set
 * while the list is empty. A caller that is going to wait sets the flag, takes the list lock,
 * which *fences*, and tries once more. If a holder of the list lock has cleared the flag
 * meanwhile, the caller sets it again, and fences once more. A caller that has sent or
 * received *fences*, and looks at both flags; then it sends and receives on behalf of
 * those that wait (settle()). So one of the two sees the other. The last access of a send
 * or a receive is a read-modify-write, which on x86 is that fence. A select that waits is
 * only woken, and tries itself; if it takes another case, it serves those after it (N6).
 *
 * A receiver that finds no other one waiting stays out of the list, and is in a word of the
 * channel (alone.h). A caller that has sent or closed looks at that word as well as at the
 * flags.
 *
 * A sender that finds a receiver waiting, and the ring empty and open, copies its item straight
 * to the receiver (hand_over(), hand_over_alone()). The ring is empty if all tickets of senders
 * are also those of receivers. It is not enough that the next slot is not ready: the sender of
 * that slot may be slow, and an earlier item of the caller may be in the slot after it.
 *
 * A sender between its ticket and its slot's new number may have lost its CPU. Receivers
 * then find the channel empty, and wait; that sender serves them when it goes on.
 */
#include <errno.h>

#include "core/base/hot.h"
#include "core/channel/alone.h"
#include "core/channel/channel_ring.h"
#include "core/channel/item.h"
#include "core/channel/verbs.h"

WAIT_SHOWN(skua_channel, area_channel, tail);
WAIT_SHOWN(skua_channel, area_channel, head);
WAIT_SHOWN(skua_channel, area_channel, mask);
WAIT_SHOWN(skua_channel, area_channel, item_bytes);
WAIT_SHOWN(skua_channel, area_channel, receivers);
WAIT_SHOWN(skua_channel, area_channel, senders);
WAIT_SHOWN(skua_channel, area_channel, receiver);
_Static_assert(RING_CLOSED == AREA_CHANNEL_CLOSED, "as tools know it");

/* The flags. Writers: the holder of the list lock; callers that are going to take it, which
 * only set them. */
static atomic_u32 *receivers_wait(struct skua_channel *channel)
{
	return (atomic_u32 *)&channel->receivers_wait;
}

static atomic_u32 *senders_wait(struct skua_channel *channel)
{
	return (atomic_u32 *)&channel->senders_wait;
}

/* ---- on behalf of those that wait -------------------------------------------- */

static void *item_of(const struct skua_wait *wait)
{
	return (void *)(uintptr_t)wait->amount;
}

/* Clear the flag if the list is empty: the last wait has left it, or a caller that was going
 * to wait has set the flag too soon. */
static void clear_if_empty_locked(const struct skua_waiters *waiters,
				  atomic_u32 *flag)
{
	/* Relaxed: under the list lock. */
	if (!waiters->first)
		atomic_store_relaxed(flag, 0);
}

typedef int transfer(struct skua_channel *channel, void *item);

/* Give an item to the receiver that waits alone. Return: was it given? */
static bool hand_over_alone(struct skua_channel *channel, const void *item)
{
	struct wait_chain chain = { NULL, NULL };
	struct skua_wait *wait;

	/* As in hand_over(). A fence of loads suffices: a program that knows of a close has loaded
	 * that. */
	atomic_fence_loads_seq_cst();
	/* Before the compare-exchange, because a wait that is chosen must be granted. The
	 * channel may be closed, or get items, between this moment and that. But the receiver
	 * has seen the channel open and empty, too, before it armed the wait. At the later
	 * one of the two moments both calls had begun: the item is sent and received then. */
	if (!ring_is_open_and_empty(channel))
		return false;
	wait = alone_take(channel);
	if (!wait)
		return false;
	item_copy(item_of(wait), item, channel->item_bytes);
	wait->code = 0;
	wait_choose_alone(wait, 0, &chain);
	wait_grant(&chain);
	return true;
}

/* Give an item to the first receiver of the list. Return: was it given? */
static bool hand_over(struct skua_channel *channel, const void *item)
{
	struct skua_waiters *waiters = &channel->receivers;
	struct wait_chain chain = { NULL, NULL };
	struct skua_wait *wait;

	waiters_lock(waiters);
	/* Orders what the program did before the call before the loads of the
	 * tickets. Pairs with the fences in refuse() and ring_close(). */
	atomic_fence_updated_seq_cst();
	wait = waiters->first;
	if (wait && !wait->in_select && ring_is_open_and_empty(channel)) {
		item_copy(item_of(wait), item, channel->item_bytes);
		wait->code = 0;
		wait_choose_locked(waiters, wait, &chain);
	}
	clear_if_empty_locked(waiters, receivers_wait(channel));
	waiters_unlock(waiters);
	if (!chain.first)
		return false;
	wait_grant(&chain);
	return true;
}

/* Put the receiver that waits alone into the list, before it is served. */
static void list_alone_locked(struct skua_channel *channel)
{
	/* Relaxed: ordered by the fence. */
	atomic_store_relaxed(receivers_wait(channel), 1);
	alone_move_locked(channel);
	/* Orders the flag before the loads of the slot and the tail: a caller that has sent
	 * or closed meanwhile, and finds no receiver alone, sees the flag. Pairs with the
	 * fence in settle(). */
	atomic_fence_seq_cst();
}

/* Serve the first waiters of a list, while there is something for them. Return: was
 * anything sent or received? */
static inline __attribute__((always_inline)) bool
serve(struct skua_channel *channel, struct skua_waiters *waiters,
      atomic_u32 *flag, transfer *transfer,
      int (*look)(struct skua_channel *channel), struct wait_chain *chain)
{
	bool moved = false;

	waiters_lock(waiters);
	if (waiters == &channel->receivers && alone_waits(channel))
		list_alone_locked(channel);
	while (waiters->first) {
		struct skua_wait *wait = waiters->first;
		bool selects = wait->in_select;
		int code = selects ? look(channel)
				   : transfer(channel, item_of(wait));

		if (code == -EAGAIN)
			break;
		moved |= code == 0 && !selects;
		wait->code = code;
		wait_choose_locked(waiters, wait, chain);
		/* The item or place may be for the select, which goes on serving. */
		if (code == 0 && selects)
			break;
	}
	clear_if_empty_locked(waiters, flag);
	waiters_unlock(waiters);
	return moved;
}

/* Serve those that wait. */
static __attribute__((noinline)) void serve_all(struct skua_channel *channel)
{
	bool moved;

	/* The loop repeats when a send or a receive on behalf of others may
	 * allow further ones. */
	do {
		struct wait_chain chain = { NULL, NULL };

		moved = false;
		/* Relaxed, all: ordered by the fence in settle(), or below. */
		if (atomic_load_relaxed(receivers_wait(channel)) ||
		    alone_waits(channel))
			moved |= serve(channel, &channel->receivers,
				       receivers_wait(channel),
				       ring_receive_locked, ring_look_receive,
				       &chain);
		if (atomic_load_relaxed(senders_wait(channel)))
			moved |= serve(channel, &channel->senders,
				       senders_wait(channel), ring_send_locked,
				       ring_look_send, &chain);
		wait_grant(&chain);
		/* As in settle(): a slot was changed by a read-modify-write, if
		 * anything was moved. */
		atomic_fence_updated_seq_cst();
	} while (moved);
}

/* Called after each send, receive and close, of which a read-modify-write is the last
 * access to the channel. */
static inline void settle(struct skua_channel *channel)
{
	/* Orders the change of a slot, or of the tail, before the loads of the
	 * flags and of the word. Pairs with the fences in look_again_locked(),
	 * receive_alone() and list_alone_locked(). */
	atomic_fence_updated_seq_cst();
	/* Relaxed, all: ordered by the fence. */
	if (atomic_load_relaxed(receivers_wait(channel)) |
	    atomic_load_relaxed(senders_wait(channel)) |
	    (uintptr_t)atomic_load_relaxed(alone_of(channel)))
		serve_all(channel);
}

/* ---- waits ------------------------------------------------------------------ */

/* Try once more, after the caller has set the flag and locked the list. */
static int look_again_locked(struct skua_channel *channel,
			     struct skua_wait *wait, atomic_u32 *flag,
			     transfer *transfer)
{
	/* Relaxed, both: ordered by the fence; under the list lock, nobody clears
	 * the flag. */
	if (atomic_load_relaxed(flag)) {
		/* Orders the flag before the loads of the slot and the tail. Pairs
		 * with the fence in settle(). The lock was a read-modify-write. */
		atomic_fence_updated_seq_cst();
	} else {
		/* A holder of the list lock has cleared it meanwhile. */
		atomic_store_relaxed(flag, 1);
		/* As above. */
		atomic_fence_seq_cst();
	}
	return transfer(channel, item_of(wait));
}

/* Withdraw an armed wait. Return: false: it was chosen. */
static bool withdraw_locked(struct skua_channel *channel,
			    struct skua_waiters *waiters,
			    struct skua_wait *wait)
{
	if (wait->stage == ALONE)
		return alone_leave_locked(channel, wait);
	wait_withdraw_locked(waiters, wait);
	return true;
}

static inline __attribute__((always_inline)) int
step(struct skua_channel *channel, struct skua_wait *wait,
     struct skua_waiters *waiters, atomic_u32 *flag, transfer *transfer,
     bool granted, int give_up)
{
	int code;

	if (granted && !wait->in_select)
		return wait->code;
	/* Before the list lock, whose read-modify-write is then the fence of
	 * look_again_locked(). Relaxed: ordered by that. */
	if (!give_up)
		atomic_store_relaxed(flag, 1);
	if (!await_enter(waiters, wait, channel, &code))
		return code;
	code = -EAGAIN;
	/* Not wait_armed_locked(): a wait that is ALONE may be granted meanwhile. */
	if (!wait_idle(wait)) {
		if (give_up && !withdraw_locked(channel, waiters, wait))
			give_up = 0;
		clear_if_empty_locked(waiters, flag);
	} else if (give_up) {
		code = transfer(channel, item_of(wait));
	} else {
		code = look_again_locked(channel, wait, flag, transfer);
		if (code == -EAGAIN)
			/* A select that was woken has its place again. */
			wait_arm_locked(waiters, wait, granted);
		else
			clear_if_empty_locked(waiters, flag);
	}
	waiters_unlock(waiters);
	if (code == 0)
		settle(channel);
	return code == -EAGAIN && give_up ? give_up : code;
}

/* Not inlined, so that a receiver that waits alone saves no registers for it. */
static __attribute__((noinline)) int
receive_in_list(struct skua_channel *channel, struct skua_wait *wait,
		bool granted, int give_up)
{
	return step(channel, wait, &channel->receivers, receivers_wait(channel),
		    ring_receive_locked, granted, give_up);
}

/* Wait alone, if that is possible and there is no item. Return: is the wait armed, or was it
 * chosen? */
static inline bool receive_alone(struct skua_channel *channel,
				 struct skua_wait *wait)
{
	/* Relaxed: receivers that begin to wait at the same time have no order. */
	if (wait->in_select || !wait_idle(wait) ||
	    atomic_load_relaxed(receivers_wait(channel)))
		return false;
	/* Orders what the program did before the call before the loads of the tickets, as in
	 * hand_over_alone(), which relies on this check. */
	atomic_fence_loads_seq_cst();
	if (!ring_is_open_and_empty(channel) || !alone_arm(channel, wait))
		return false;
	/* Orders the word before the loads of the slot and the tail. Pairs with the fences
	 * in settle() and serve_all(). */
	atomic_fence_updated_seq_cst();
	/* The wait may be chosen already: so the caller serves it as others would. */
	if (ring_look_receive(channel) != -EAGAIN)
		serve_all(channel);
	return true;
}

static HOT int receive_step(struct skua_wait *wait, void *object, bool granted,
			    int give_up)
{
	struct skua_channel *channel = object;

	if (granted && wait->in_select == 0)
		return wait->code;
	if (!granted && !give_up && receive_alone(channel, wait))
		return -EAGAIN;
	return receive_in_list(channel, wait, granted, give_up);
}

static int send_step(struct skua_wait *wait, void *object, bool granted,
		     int give_up)
{
	struct skua_channel *channel = object;

	return step(channel, wait, &channel->senders, senders_wait(channel),
		    ring_send_locked, granted, give_up);
}

/* A select was woken, and takes another case. */
static void serve_others(struct skua_wait *wait, void *object)
{
	(void)wait;
	serve_all(object);
}

const struct wait_verb channel_receive_verb = {
	.step = receive_step,
	.kind = AREA_WAITS_RECEIVE,
	.waiters = offsetof(struct skua_channel, receivers),
	.holder = WAIT_NO_HOLDER,
	.pass_on = serve_others,
};

const struct wait_verb channel_send_verb = {
	.step = send_step,
	.kind = AREA_WAITS_SEND,
	.waiters = offsetof(struct skua_channel, senders),
	.holder = WAIT_NO_HOLDER,
	.pass_on = serve_others,
};

/* ---- the interface ---------------------------------------------------------- */

int skua_channel_init(struct skua_channel *channel, void *memory,
		      uint32_t capacity, uint32_t item_bytes)
{
	if (!channel || !items_fit(memory, item_bytes) ||
	    !items_count_fits(capacity))
		return -EINVAL;
	*channel = (struct skua_channel){
		.slots = memory,
		.mask = capacity - 1,
		.item_bytes = item_bytes,
		.slot_bytes = SKUA_CHANNEL_BYTES(1, item_bytes),
	};
	ring_init(channel);
	return 0;
}

static inline int receive(struct skua_channel *channel, void *item)
{
	int code = ring_receive(channel, item);

	if (code == 0)
		settle(channel);
	return code;
}

int skua_channel_receive_try(struct skua_channel *channel, void *item)
{
	return channel && item ? receive(channel, item) : -EINVAL;
}

static inline __attribute__((always_inline)) int
send_through(struct skua_channel *channel, const void *item)
{
	int code = ring_send(channel, item);

	if (code == 0)
		settle(channel);
	return code;
}

/* A receiver waits. Not inlined, so that other sends save no registers for it. */
static __attribute__((noinline)) int
send_to_waiter(struct skua_channel *channel, const void *item)
{
	if (alone_waits(channel) ? hand_over_alone(channel, item)
				 : hand_over(channel, item))
		return 0;
	return send_through(channel, item);
}

static inline __attribute__((always_inline)) int
send(struct skua_channel *channel, const void *item)
{
	/* Relaxed: if no receiver is seen, settle() looks again. */
	return atomic_load_relaxed(receivers_wait(channel)) ||
			       alone_waits(channel)
		       ? send_to_waiter(channel, item)
		       : send_through(channel, item);
}

int skua_channel_send_try(struct skua_channel *channel, const void *item)
{
	return channel && item ? send(channel, item) : -EINVAL;
}

HOT int skua_channel_receive(struct skua_channel *channel, void *item,
			     uint64_t deadline_ns)
{
	int code = channel && item ? await_allowed() : -EINVAL;

	if (code)
		return code;
	code = receive(channel, item);
	return code == -EAGAIN ? await(&channel_receive_verb, channel,
				       (uintptr_t)item, deadline_ns)
			       : code;
}

HOT int skua_channel_send(struct skua_channel *channel, const void *item,
			  uint64_t deadline_ns)
{
	int code = channel && item ? await_allowed() : -EINVAL;

	if (code)
		return code;
	code = send(channel, item);
	return code == -EAGAIN ? await(&channel_send_verb, channel,
				       (uintptr_t)item, deadline_ns)
			       : code;
}

int skua_channel_receive_poll(struct skua_task *self,
			      struct skua_channel *channel, void *item,
			      struct skua_wait *wait, uint64_t deadline_ns)
{
	int code = channel && item ? await_may_poll(self, wait) : -EINVAL;

	if (code)
		return code;
	if (!await_armed(wait)) {
		code = receive(channel, item);
		if (code != -EAGAIN)
			return code;
	}
	return await_poll(self, wait, &channel_receive_verb, channel,
			  (uintptr_t)item, deadline_ns);
}

int skua_channel_send_poll(struct skua_task *self, struct skua_channel *channel,
			   const void *item, struct skua_wait *wait,
			   uint64_t deadline_ns)
{
	int code = channel && item ? await_may_poll(self, wait) : -EINVAL;

	if (code)
		return code;
	if (!await_armed(wait)) {
		code = send(channel, item);
		if (code != -EAGAIN)
			return code;
	}
	return await_poll(self, wait, &channel_send_verb, channel,
			  (uintptr_t)item, deadline_ns);
}

int skua_channel_close(struct skua_channel *channel)
{
	if (!channel)
		return -EINVAL;
	if (!ring_close(channel))
		return -EALREADY;
	settle(channel);
	return 0;
}

uint32_t skua_channel_length(const struct skua_channel *channel)
{
	return channel ? ring_length(channel) : 0;
}
