/* SPDX-License-Identifier: MIT */
/**
 * channel_ring.h - the ring of a channel, without waits
 *
 *	tail: [ ticket:63 | RING_CLOSED ]     head: [ ticket:63 | - ]
 *
 * A ring of slots, each with the number of the ticket that it is ready for (D. Vyukov's
 * bounded queue). The sender with ticket t uses slot t % capacity when its number is t,
 * and makes it t + 1; the receiver with ticket t uses it at t + 1, and makes it
 * t + capacity, for the next round. A ticket is taken only if its slot is ready, so that a
 * caller that finds none leaves nothing behind. RING_CLOSED is in the word of the tickets: no
 * ticket is taken after the close, and those before it are all received.
 *
 * The last access of a send or a receive is a read-modify-write, which on x86 is the fence
 * that channel.c needs after it.
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
#ifndef SKUA_CORE_CHANNEL_CHANNEL_RING_H
#define SKUA_CORE_CHANNEL_CHANNEL_RING_H

#include <errno.h>

#include "core/base/atomic.h"
#include "core/base/clock.h"
#include "core/base/hot.h"
#include "core/channel/item.h"

#define RING_CLOSED UINT64_C(1)
#define TICKET      UINT64_C(2)

/* Another caller has taken the ticket. No public function returns it. */
#define LOST 1

struct slot {
	/* For this ticket, or for the receive of the one before. */
	atomic_u64 ready;
	unsigned char item[];
};

static inline atomic_u64 *tail_of(const struct skua_channel *channel)
{
	return (atomic_u64 *)&channel->tail;
}

static inline atomic_u64 *head_of(const struct skua_channel *channel)
{
	return (atomic_u64 *)&channel->head;
}

static inline struct slot *slot_of(const struct skua_channel *channel,
				   uint64_t ticket)
{
	char *slots = channel->slots;

	return (struct slot *)(void *)(slots + (ticket & channel->mask) *
						       channel->slot_bytes);
}

/* ---- contention ------------------------------------------------------------ */

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

/* ---- sends ----------------------------------------------------------------- */

/* The caller has seen that the channel is closed. */
static inline int refuse(void)
{
	/* Orders the load of RING_CLOSED before what the program does next: a send that
	 * begins then must not hand an item over. Pairs with the fences in
	 * hand_over(), hand_over_alone() and receive_alone(). */
	atomic_fence_seq_cst();
	return -EPIPE;
}

/* Try to send. @tail: the word of the tickets as the caller has read it; updated when it is
 * read again. Return: 0; -EAGAIN (full); -EPIPE (closed); LOST. */
static inline __attribute__((always_inline)) int
send_at(struct skua_channel *channel, const void *item, uint64_t *tail)
{
	/* The loop repeats when another sender has taken the ticket. */
	while (!(*tail & RING_CLOSED)) {
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
	 * ring_close(). */
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
static inline int ring_send(struct skua_channel *channel, const void *item)
{
	/* Relaxed: the compare-exchange decides. */
	uint64_t tail = atomic_load_relaxed(tail_of(channel));
	int code = send_at(channel, item, &tail);

	return code == LOST ? send_contended(channel, item, tail) : code;
}

/* The same for a caller under a list lock, which never stands back. Not inlined: serve() and
 * step() need its address. */
static __attribute__((noinline)) int
ring_send_locked(struct skua_channel *channel, void *item)
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

/* Return: the result of a send at this moment. */
static inline int ring_look_send(struct skua_channel *channel)
{
	/* Relaxed: a send that fails takes its own look. */
	uint64_t tail = atomic_load_relaxed(tail_of(channel));
	uint64_t seen;

	/* The loop repeats when another sender has taken the ticket. */
	do {
		/* Relaxed: as above. */
		if (tail & RING_CLOSED)
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

/* ---- receives -------------------------------------------------------------- */

/* Has the channel no items, also none that a sender is still writing? */
static inline bool drained(const struct skua_channel *channel, uint64_t head)
{
	/* Acquire: what was done before the close. Pairs with
	 * ring_close(). */
	uint64_t tail = atomic_load_acquire(tail_of(channel));

	return tail == (head | RING_CLOSED);
}

/* Try to receive. @head: as @tail of send_at(). Return: 0; -EAGAIN (empty); -EPIPE (closed,
 * and drained); LOST. */
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
static inline int ring_receive(struct skua_channel *channel, void *item)
{
	/* Relaxed: the compare-exchange decides. */
	uint64_t head = atomic_load_relaxed(head_of(channel));
	int code = receive_at(channel, item, &head);

	return code == LOST ? receive_contended(channel, item, head) : code;
}

/* As ring_send_locked(). */
static HOT __attribute__((noinline)) int
ring_receive_locked(struct skua_channel *channel, void *item)
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

/* Return: the result of a receive at this moment. */
static inline int ring_look_receive(struct skua_channel *channel)
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

/* ---- the ring as a whole --------------------------------------------------- */

static inline void ring_init(struct skua_channel *channel)
{
	/* Relaxed: nobody else uses the channel yet. */
	for (uint64_t i = 0; i <= channel->mask; i++)
		atomic_store_relaxed(&slot_of(channel, i)->ready, i);
}

/* Have all items been received, and may more be sent? */
static inline bool ring_is_open_and_empty(const struct skua_channel *channel)
{
	/* Relaxed, both: ordered by the fence of the caller, and by the list lock, which
	 * the receiver that waits held when it looked, unless it waits alone. */
	uint64_t tail = atomic_load_relaxed(tail_of(channel));

	return tail == atomic_load_relaxed(head_of(channel));
}

/* Return: did this call close the channel? false: another one did before. */
static inline bool ring_close(struct skua_channel *channel)
{
	/* Release: what the caller did before. Pairs with send_at() and
	 * drained(). */
	if (!(atomic_fetch_or_release(tail_of(channel), RING_CLOSED) &
	      RING_CLOSED))
		return true;
	/* As in refuse(). */
	atomic_fence_updated_seq_cst();
	return false;
}

static inline uint32_t ring_length(const struct skua_channel *channel)
{
	/* Relaxed, both: a snapshot. In this order, the tail is not behind, but
	 * may be far ahead: other threads went on between the loads. */
	uint64_t head = atomic_load_relaxed(head_of(channel)) / TICKET;
	uint64_t tail = atomic_load_relaxed(tail_of(channel)) / TICKET;

	if (tail <= head)
		return 0;
	return tail - head > channel->mask ? channel->mask + 1
					   : (uint32_t)(tail - head);
}

#endif
