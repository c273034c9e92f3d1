/* SPDX-License-Identifier: MIT */
/**
 * channel.c - a queue of bounded length
 *
 *	tail: [ ticket:63 | CLOSED ]     head: [ ticket:63 | - ]
 *
 * A ring of slots, each with the number of the ticket that it is ready for (D. Vyukov's
 * bounded queue). The sender with ticket t uses slot t % capacity when its number is t,
 * and makes it t + 1; the receiver with ticket t uses it at t + 1, and makes it
 * t + capacity, for the next round. A ticket is taken only if its slot is ready, so that a
 * caller that finds none leaves nothing behind. CLOSED is in the word of the tickets: no
 * ticket is taken after the close, and those before it are all received.
 *
 * Waiting. Callers that wait for an item, and those that wait for a place, have a list
 * each, and a flag that is set if the list is not empty; for a moment, it may also be set
 * while the list is empty. A caller that is going to wait sets the flag, takes the list lock,
 * which *fences*, and tries once more. If a holder of the list lock has cleared the flag
 * meanwhile, the caller sets it again, and fences once more. A caller that has sent or
 * received *fences*, and looks at both flags; then it sends and receives on behalf of
 * those that wait (settle()). So one of the two sees the other. The last access of a send
 * or a receive is a read-modify-write, which on x86 is that fence. A select that waits is
 * only woken, and tries itself; if it takes another case, it serves those behind it (N6).
 *
 * A sender that finds a receiver in the list, and the ring empty and open, copies its item
 * straight to the receiver (hand_over()). The ring is empty if all tickets of senders are also
 * those of receivers. It is not enough that the next slot is not ready: the sender of that
 * slot may be slow, and an earlier item of the caller may be in the slot behind it.
 *
 * A sender between its ticket and its slot's new number may have lost its CPU. Receivers
 * then find the channel empty, and wait; that sender serves them when it goes on.
 *
 * Contention. If two callers on different CPUs take tickets in turn, each item moves the cache
 * lines of the tickets and of the slots between the CPUs, which takes most of the time.
 * Therefore a caller that loses a ticket to another one stands back for a microsecond or more.
 * Meanwhile the others take many tickets with the lines in their caches. A caller under a list
 * lock never stands back: other threads may wait for the lock.
 *
 * Rejected. A pause that is counted in pause instructions: one takes from 3 to 90 ns. Short
 * steps of up to 30 such instructions: each check takes the line from the caller that uses it,
 * and the turns are too short to pay for the change.
 */
#include <errno.h>

#include "core/base/clock.h"
#include "core/base/hot.h"
#include "core/channel/item.h"
#include "core/channel/verbs.h"

#define CLOSED UINT64_C(1)
#define TICKET UINT64_C(2)

/* Another caller has taken the ticket. No public function returns it. */
#define LOST 1

WAIT_SHOWN(skua_channel, area_channel, tail);
WAIT_SHOWN(skua_channel, area_channel, head);
WAIT_SHOWN(skua_channel, area_channel, mask);
WAIT_SHOWN(skua_channel, area_channel, item_bytes);
WAIT_SHOWN(skua_channel, area_channel, receivers);
WAIT_SHOWN(skua_channel, area_channel, senders);
_Static_assert(CLOSED == AREA_CHANNEL_CLOSED, "as tools know it");

struct slot {
	/* For this ticket, or for the receive of the one before. */
	atomic_u64 ready;
	unsigned char item[];
};

static atomic_u64 *tail_of(const struct skua_channel *channel)
{
	return (atomic_u64 *)&channel->tail;
}

static atomic_u64 *head_of(const struct skua_channel *channel)
{
	return (atomic_u64 *)&channel->head;
}

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

static struct slot *slot_of(const struct skua_channel *channel, uint64_t ticket)
{
	char *slots = channel->slots;

	return (struct slot *)(void *)(slots + (ticket & channel->mask) *
						       channel->slot_bytes);
}

/* ---- without a wait --------------------------------------------------------- */

/* A caller first stands back for STAND_BACK_NS. If others have then taken STAND_BACK_TICKETS or
 * more, it stands back again for twice as long, up to STAND_BACK_MAX_NS. Guesses, which the
 * workload channel_mpmc retunes. Models set the first one to 0: nobody stands back. */
#ifndef STAND_BACK_NS
#define STAND_BACK_NS 1000u
#endif
#define STAND_BACK_MAX_NS  4000u
#define STAND_BACK_TICKETS 4u

/* Leave the tickets to callers on other CPUs while these take many. @now: the word of the
 * tickets that the failed compare-exchange has read. Return: the word as read last */
static __attribute__((noinline)) uint64_t stand_back(const atomic_u64 *tickets,
						     uint64_t now)
{
	uint64_t ns = STAND_BACK_NS;

	/* The loop repeats when others have taken tickets. */
	while (ns > 0 && ns <= STAND_BACK_MAX_NS) {
		uint64_t until = clock_now_ns() + ns;
		uint64_t before = now;

		while (clock_now_ns() < until)
			cpu_relax();
		/* Relaxed: the compare-exchange of the caller decides. */
		now = atomic_load_relaxed(tickets);
		if (now - before < STAND_BACK_TICKETS * TICKET)
			break;
		ns *= 2;
	}
	return now;
}

/* The caller has seen that the channel is closed. */
static int refuse(void)
{
	/* Orders the load of CLOSED before what the program does next: a send that
	 * begins then must not hand an item over. Pairs with the fence in
	 * hand_over(). */
	atomic_fence_seq_cst();
	return -EPIPE;
}

/* Try to send at the word @tail of the tickets, which is read again as it changes. Return: 0;
 * -EAGAIN (full); -EPIPE (closed); LOST. */
static inline __attribute__((always_inline)) int
send_at(struct skua_channel *channel, const void *item, uint64_t *tail)
{
	/* The loop repeats when another sender has taken the ticket. */
	while (!(*tail & CLOSED)) {
		uint64_t ticket = *tail / TICKET;
		struct slot *slot = slot_of(channel, ticket);
		/* Acquire: the receive from this slot. Pairs with
		 * receive_at(). */
		uint64_t ready = atomic_load_acquire(&slot->ready);
		uint64_t seen = *tail;

		if (ready != ticket) {
			/* Relaxed: the compare-exchange decides. */
			*tail = atomic_load_relaxed(tail_of(channel));
			if (*tail == seen)
				return -EAGAIN;
		} else if (atomic_cas_relaxed(tail_of(channel), tail,
					      *tail + TICKET)) {
			/* Relaxed: the slot's number orders the item. */
			item_copy(slot->item, item, channel->item_bytes);
			/* Release: the item. Pairs with receive_at(). A
			 * read-modify-write, for the fence in settle(). */
			atomic_exchange_release(&slot->ready, ticket + 1);
			return 0;
		} else {
			return LOST;
		}
	}
	/* Acquire: what was done before the close. Pairs with
	 * skua_channel_close(). */
	(void)atomic_load_acquire(tail_of(channel));
	return refuse();
}

/* Not inlined, so that a send that loses no ticket saves no registers for it. */
static __attribute__((noinline)) int
send_contended(struct skua_channel *channel, const void *item, uint64_t tail)
{
	int code;

	/* The loop repeats when another sender has taken the ticket. */
	do {
		tail = stand_back(tail_of(channel), tail);
		code = send_at(channel, item, &tail);
	} while (code == LOST);
	return code;
}

/* Return: 0; -EAGAIN (full); -EPIPE (closed). */
static inline int send_now(struct skua_channel *channel, const void *item)
{
	/* Relaxed: the compare-exchange decides. */
	uint64_t tail = atomic_load_relaxed(tail_of(channel));
	int code = send_at(channel, item, &tail);

	return code == LOST ? send_contended(channel, item, tail) : code;
}

/* Has the channel no items, also none that a sender is still writing? */
static bool drained(const struct skua_channel *channel, uint64_t head)
{
	/* Acquire: what was done before the close. Pairs with
	 * skua_channel_close(). */
	uint64_t tail = atomic_load_acquire(tail_of(channel));

	return tail == (head | CLOSED);
}

/* Try to receive at the word @head of the tickets, which is read again as it changes. Return:
 * 0; -EAGAIN (empty); -EPIPE (closed, and drained); LOST. */
static inline __attribute__((always_inline)) int
receive_at(struct skua_channel *channel, void *item, uint64_t *head)
{
	/* The loop repeats when another receiver has taken the ticket. */
	for (;;) {
		uint64_t ticket = *head / TICKET;
		struct slot *slot = slot_of(channel, ticket);
		/* Acquire: the item. Pairs with send_at(). */
		uint64_t ready = atomic_load_acquire(&slot->ready);
		uint64_t seen = *head;

		if (ready != ticket + 1) {
			/* Relaxed: the compare-exchange decides. */
			*head = atomic_load_relaxed(head_of(channel));
			if (*head == seen)
				return drained(channel, *head) ? refuse()
							       : -EAGAIN;
		} else if (atomic_cas_relaxed(head_of(channel), head,
					      *head + TICKET)) {
			/* Relaxed: the slot's number orders the item. */
			item_copy(item, slot->item, channel->item_bytes);
			/* Release: the item was read. Pairs with send_at(). A
			 * read-modify-write, for the fence in settle(). */
			atomic_exchange_release(&slot->ready,
						ticket + channel->mask + 1);
			return 0;
		} else {
			return LOST;
		}
	}
}

/* As send_contended(). */
static __attribute__((noinline)) int
receive_contended(struct skua_channel *channel, void *item, uint64_t head)
{
	int code;

	/* The loop repeats when another receiver has taken the ticket. */
	do {
		head = stand_back(head_of(channel), head);
		code = receive_at(channel, item, &head);
	} while (code == LOST);
	return code;
}

/* Return: 0; -EAGAIN (empty); -EPIPE (closed, and drained). */
static inline int receive_now(struct skua_channel *channel, void *item)
{
	/* Relaxed: the compare-exchange decides. */
	uint64_t head = atomic_load_relaxed(head_of(channel));
	int code = receive_at(channel, item, &head);

	return code == LOST ? receive_contended(channel, item, head) : code;
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

static int send_locked(struct skua_channel *channel, void *item)
{
	/* Relaxed: the compare-exchange decides. */
	uint64_t tail = atomic_load_relaxed(tail_of(channel));
	int code;

	/* The loop repeats when another sender has taken the ticket. */
	do {
		code = send_at(channel, item, &tail);
	} while (code == LOST);
	return code;
}

static HOT int receive_locked(struct skua_channel *channel, void *item)
{
	/* Relaxed: the compare-exchange decides. */
	uint64_t head = atomic_load_relaxed(head_of(channel));
	int code;

	/* The loop repeats when another receiver has taken the ticket. */
	do {
		code = receive_at(channel, item, &head);
	} while (code == LOST);
	return code;
}

/* Return: the result of a send at this moment. */
static int look_send(struct skua_channel *channel)
{
	/* Relaxed: a send that fails takes its own look. */
	uint64_t tail = atomic_load_relaxed(tail_of(channel));
	uint64_t seen;

	/* The loop repeats when another sender has taken the ticket. */
	do {
		/* Relaxed: as above. */
		if (tail & CLOSED)
			return -EPIPE;
		if (atomic_load_relaxed(
			    &slot_of(channel, tail / TICKET)->ready) ==
		    tail / TICKET)
			return 0;
		seen = tail;
		/* Relaxed: as above. */
		tail = atomic_load_relaxed(tail_of(channel));
	} while (tail != seen);
	return -EAGAIN;
}

/* Return: the result of a receive at this moment. */
static int look_receive(struct skua_channel *channel)
{
	/* Relaxed: a receive that fails takes its own look. */
	uint64_t head = atomic_load_relaxed(head_of(channel));
	uint64_t seen;

	/* The loop repeats when another receiver has taken the ticket. */
	do {
		/* Relaxed: as above. */
		if (atomic_load_relaxed(
			    &slot_of(channel, head / TICKET)->ready) ==
		    head / TICKET + 1)
			return 0;
		seen = head;
		/* Relaxed: as above. */
		head = atomic_load_relaxed(head_of(channel));
	} while (head != seen);
	return drained(channel, head) ? -EPIPE : -EAGAIN;
}

/* Have all items been received, and may more be sent? */
static bool open_and_empty(const struct skua_channel *channel)
{
	/* Relaxed, both: ordered by the fence in hand_over(), and by the list lock
	 * behind the look of the receiver that waits. */
	uint64_t tail = atomic_load_relaxed(tail_of(channel));

	return tail == atomic_load_relaxed(head_of(channel));
}

/* Give an item to the first receiver that waits. Return: was it given? */
static bool hand_over(struct skua_channel *channel, const void *item)
{
	struct skua_waiters *waiters = &channel->receivers;
	struct wait_chain chain = { NULL, NULL };
	struct skua_wait *wait;

	waiters_lock(waiters);
	/* Orders what the program did before the call before the loads of the
	 * tickets. Pairs with the fences in refuse() and skua_channel_close(). */
	atomic_fence_updated_seq_cst();
	wait = waiters->first;
	if (wait && !wait->in_select && open_and_empty(channel)) {
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

/* Serve the first waiters of a list, while there is something for them. Return: was
 * anything sent or received? */
static inline __attribute__((always_inline)) bool
serve(struct skua_channel *channel, struct skua_waiters *waiters,
      atomic_u32 *flag, transfer *transfer,
      int (*look)(struct skua_channel *channel), struct wait_chain *chain)
{
	bool moved = false;

	waiters_lock(waiters);
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
		/* Relaxed, both: ordered by the fence in settle(), or below. */
		if (atomic_load_relaxed(receivers_wait(channel)))
			moved |= serve(channel, &channel->receivers,
				       receivers_wait(channel), receive_locked,
				       look_receive, &chain);
		if (atomic_load_relaxed(senders_wait(channel)))
			moved |= serve(channel, &channel->senders,
				       senders_wait(channel), send_locked,
				       look_send, &chain);
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
	 * flags. Pairs with the fence in look_again_locked(). */
	atomic_fence_updated_seq_cst();
	/* Relaxed, both: ordered by the fence. */
	if (atomic_load_relaxed(receivers_wait(channel)) |
	    atomic_load_relaxed(senders_wait(channel)))
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
	if (wait_armed_locked(wait)) {
		if (give_up) {
			wait_withdraw_locked(waiters, wait);
			clear_if_empty_locked(waiters, flag);
		}
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

static HOT int receive_step(struct skua_wait *wait, void *object, bool granted,
			    int give_up)
{
	struct skua_channel *channel = object;

	return step(channel, wait, &channel->receivers, receivers_wait(channel),
		    receive_locked, granted, give_up);
}

static int send_step(struct skua_wait *wait, void *object, bool granted,
		     int give_up)
{
	struct skua_channel *channel = object;

	return step(channel, wait, &channel->senders, senders_wait(channel),
		    send_locked, granted, give_up);
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
	/* Relaxed: nobody else uses the channel yet. */
	for (uint64_t i = 0; i < capacity; i++)
		atomic_store_relaxed(&slot_of(channel, i)->ready, i);
	return 0;
}

static inline int receive(struct skua_channel *channel, void *item)
{
	int code = receive_now(channel, item);

	if (code == 0)
		settle(channel);
	return code;
}

int skua_channel_receive_try(struct skua_channel *channel, void *item)
{
	return channel && item ? receive(channel, item) : -EINVAL;
}

static inline int send_through(struct skua_channel *channel, const void *item)
{
	int code = send_now(channel, item);

	if (code == 0)
		settle(channel);
	return code;
}

/* A receiver waits. Not inlined, so that other sends save no registers for it. */
static __attribute__((noinline)) int
send_to_waiter(struct skua_channel *channel, const void *item)
{
	return hand_over(channel, item) ? 0 : send_through(channel, item);
}

static inline int send(struct skua_channel *channel, const void *item)
{
	/* Relaxed: if no receiver is seen, settle() looks again. */
	return atomic_load_relaxed(receivers_wait(channel))
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
	/* Release: what the caller did before. Pairs with send_at() and
	 * drained(). */
	if (atomic_fetch_or_release(tail_of(channel), CLOSED) & CLOSED) {
		/* As in refuse(). */
		atomic_fence_updated_seq_cst();
		return -EALREADY;
	}
	settle(channel);
	return 0;
}

uint32_t skua_channel_length(const struct skua_channel *channel)
{
	uint64_t head, tail;

	if (!channel)
		return 0;
	/* Relaxed, both: a snapshot. In this order, the tail is not behind, but
	 * may be far ahead: other threads went on between the loads. */
	head = atomic_load_relaxed(head_of(channel)) / TICKET;
	tail = atomic_load_relaxed(tail_of(channel)) / TICKET;
	if (tail <= head)
		return 0;
	return tail - head > channel->mask ? channel->mask + 1
					   : (uint32_t)(tail - head);
}
