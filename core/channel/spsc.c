/* SPDX-License-Identifier: MIT */
/**
 * spsc.c - a queue of bounded length, with a single sender and a single receiver
 *
 *	tail: [ ticket:61 | DRAINED | CLOSED | WAITS ]     head: [ ticket:61 | - | - | WAITS ]
 *
 * A ring (L. Lamport's queue). The sender puts the item with ticket t into slot t % capacity,
 * and adds 1 to the ticket of the tail; the receiver does the same with the head. Each of
 * them keeps a copy of the other's ticket, and reads it again only when the copy says that
 * the ring is full or empty. So the cache line of an index moves once for many items.
 *
 * Waiting. WAITS in the tail says that the receiver waits for an item; in the head, that the
 * sender waits for a place. A caller that is going to wait sets it in the word of the other
 * side, under its own list lock, and gets the other's ticket with it. The other side advances
 * its ticket by a fetch-and-add, which returns WAITS. Both are read-modify-writes of one
 * word, so the second of them sees the first: no fence is needed (N1). A grant says only that
 * it is worth looking again: the waiter itself takes its item or place, because nobody else
 * may.
 *
 * Closing. CLOSED in the tail refuses further sends. One send may have looked before, and add
 * its ticket later. A receiver that finds the ring closed and empty therefore sets DRAINED,
 * unless the tail has changed. Whether that send sees DRAINED decides: if so, its item will
 * not be received, and it returns -EPIPE; if not, the receiver gets the item. A close takes
 * both list locks after it has set CLOSED: a caller that armed its wait before is found, and
 * one that comes later sees CLOSED.
 *
 * Rejected. A plain store of a ticket, and a fence only if the other side waits: the caller
 * cannot know that without a fence, as its store may become visible after its load. A fence
 * on the side of the waiter alone (membarrier_fence()): each wait would take microseconds. A wait
 * whose address is in a word of the spsc instead of a list: the side that takes the address
 * would still hold it while the waiter gives up, and frees the wait.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/hot.h"
#include "core/channel/item.h"
#include "core/channel/verbs.h"

#define WAITS   UINT64_C(1)
#define CLOSED  UINT64_C(2)
#define DRAINED UINT64_C(4)
#define TICKET  UINT64_C(8)

WAIT_SHOWN(skua_spsc, area_spsc, tail);
WAIT_SHOWN(skua_spsc, area_spsc, head);
WAIT_SHOWN(skua_spsc, area_spsc, mask);
WAIT_SHOWN(skua_spsc, area_spsc, item_bytes);
WAIT_SHOWN(skua_spsc, area_spsc, receivers);
WAIT_SHOWN(skua_spsc, area_spsc, senders);
_Static_assert(CLOSED == AREA_SPSC_CLOSED && TICKET == AREA_SPSC_ITEM,
	       "as tools know them");

/* Writers of the ticket: the sender. Of WAITS: the receiver, and the sender that grants its
 * wait, under the list lock of the receivers. Of the rest: any thread, once. */
static atomic_u64 *tail_of(const struct skua_spsc *spsc)
{
	return (atomic_u64 *)&spsc->tail;
}

/* Writers of the ticket: the receiver. Of WAITS: the sender, and the receiver that grants its
 * wait, under the list lock of the senders. */
static atomic_u64 *head_of(const struct skua_spsc *spsc)
{
	return (atomic_u64 *)&spsc->head;
}

static void *slot_of(const struct skua_spsc *spsc, uint64_t ticket)
{
	char *slots = spsc->slots;

	return slots + (ticket & spsc->mask) * spsc->slot_bytes;
}

/* ---- one at a time ------------------------------------------------------------ */

/* A debug build ends the process if two callers send, or receive, at the same time. The
 * explorer does without: its threads keep to the rule. */
#if !defined(NDEBUG) && !defined(SKUA_EXPLORE)
static void enter(uint32_t *inside, const char *what)
{
	/* Relaxed, here and in leave(): if the role passes to another thread, the
	 * calls of the former come before. */
	if (atomic_fetch_or_relaxed((atomic_u32 *)inside, 1) == 0)
		return;
	fprintf(stderr,
		"skua: two callers %s at the same time; allowed: one. Use a "
		"channel\n",
		what);
	abort();
}

static HOT void leave(uint32_t *inside)
{
	/* Relaxed: see enter(). */
	atomic_store_relaxed((atomic_u32 *)inside, 0);
}
#else
static void enter(uint32_t *inside, const char *what)
{
	(void)inside;
	(void)what;
}

static HOT void leave(uint32_t *inside)
{
	(void)inside;
}
#endif

/* ---- without a wait ----------------------------------------------------------- */

/* Besides 0 and an error: the call has succeeded, and the other side waits. */
enum { OTHER_WAITS = 1 };

static int refuse(struct skua_spsc *spsc)
{
	/* Acquire: what was done before the close. Pairs with
	 * skua_spsc_close(). */
	(void)atomic_load_acquire(tail_of(spsc));
	return -EPIPE;
}

/* Return: 0; OTHER_WAITS; -EAGAIN (full); -EPIPE (closed). */
static int send_now(struct skua_spsc *spsc, const void *item)
{
	/* Relaxed: the ticket is the caller's, and the fetch-and-add below looks
	 * at the rest. */
	uint64_t tail = atomic_load_relaxed(tail_of(spsc));
	uint64_t ticket = tail / TICKET;

	if (tail & CLOSED)
		return refuse(spsc);
	if (ticket - spsc->head_seen > spsc->mask) {
		/* Acquire: the receive from the slot. Pairs with
		 * receive_now(). */
		spsc->head_seen = atomic_load_acquire(head_of(spsc)) / TICKET;
		if (ticket - spsc->head_seen > spsc->mask)
			return -EAGAIN;
	}
	item_copy(slot_of(spsc, ticket), item, spsc->item_bytes);
	/* Release: the item. Pairs with look() and look_again_locked(). */
	tail = atomic_fetch_add_release(tail_of(spsc), TICKET);
	if (tail & DRAINED)
		return refuse(spsc);
	return tail & WAITS ? OTHER_WAITS : 0;
}

/* Read the tail, and say so if no item will come any more. Return: 0 (there is an item);
 * -EAGAIN (empty); -EPIPE (closed, and empty). */
static int look(struct skua_spsc *spsc, uint64_t ticket)
{
	/* The loop repeats when the sender has sent an item meanwhile. */
	for (;;) {
		/* Acquire: the items, and what was done before the close. Pairs
		 * with send_now() and skua_spsc_close(). */
		uint64_t tail = atomic_load_acquire(tail_of(spsc));

		if (tail & DRAINED)
			return -EPIPE;
		if (tail / TICKET != ticket) {
			spsc->tail_seen = tail / TICKET;
			return 0;
		}
		if (!(tail & CLOSED))
			return -EAGAIN;
		/* Relaxed: no data goes with it. send_now() returns -EPIPE. */
		if (atomic_cas_relaxed(tail_of(spsc), &tail, tail | DRAINED))
			return -EPIPE;
	}
}

/* Return: 0; OTHER_WAITS; -EAGAIN (empty); -EPIPE (closed, and empty). */
static HOT int receive_now(struct skua_spsc *spsc, void *item)
{
	/* Relaxed: the ticket is the caller's. */
	uint64_t head = atomic_load_relaxed(head_of(spsc));
	uint64_t ticket = head / TICKET;
	int code = ticket == spsc->tail_seen ? look(spsc, ticket) : 0;

	if (code)
		return code;
	item_copy(item, slot_of(spsc, ticket), spsc->item_bytes);
	/* Release: the item was read. Pairs with send_now() and
	 * look_again_locked(). */
	head = atomic_fetch_add_release(head_of(spsc), TICKET);
	return head & WAITS ? OTHER_WAITS : 0;
}

/* Grant the wait of a side, if it waits. @word: has its WAITS */
static __attribute__((noinline)) void serve(struct skua_waiters *waiters,
					    atomic_u64 *word)
{
	struct wait_chain chain = { NULL, NULL };

	waiters_lock(waiters);
	if (waiters->first) {
		wait_choose_all_locked(waiters, &chain);
		/* Relaxed: under the list lock. */
		atomic_fetch_and_relaxed(word, ~WAITS);
	}
	waiters_unlock(waiters);
	wait_grant(&chain);
}

static inline int send(struct skua_spsc *spsc, const void *item)
{
	int code;

	enter(&spsc->sending, "send to an spsc");
	code = send_now(spsc, item);
	leave(&spsc->sending);
	if (code != OTHER_WAITS)
		return code;
	serve(&spsc->receivers, tail_of(spsc));
	return 0;
}

static inline int receive(struct skua_spsc *spsc, void *item)
{
	int code;

	enter(&spsc->receiving, "receive from an spsc");
	code = receive_now(spsc, item);
	leave(&spsc->receiving);
	if (code != OTHER_WAITS)
		return code;
	serve(&spsc->senders, head_of(spsc));
	return 0;
}

/* ---- waits -------------------------------------------------------------------- */

/* Is there nothing to wait for, from what the word of the other side was? */
typedef bool proceeds(struct skua_spsc *spsc, uint64_t word);

static bool receiver_proceeds(struct skua_spsc *spsc, uint64_t tail)
{
	/* Relaxed: the ticket is the caller's. */
	uint64_t head = atomic_load_relaxed(head_of(spsc));

	return tail / TICKET != head / TICKET || (tail & CLOSED);
}

static bool sender_proceeds(struct skua_spsc *spsc, uint64_t head)
{
	/* Relaxed: the ticket is the caller's; for CLOSED, the list lock orders
	 * it. Pairs with skua_spsc_close(). */
	uint64_t tail = atomic_load_relaxed(tail_of(spsc));

	return tail / TICKET - head / TICKET <= spsc->mask || (tail & CLOSED);
}

static void stop_waiting_locked(atomic_u64 *word)
{
	/* Relaxed: under the list lock. */
	atomic_fetch_and_relaxed(word, ~WAITS);
}

/* Say that the caller waits, unless it need not. Return: 0 (it need not); -EAGAIN (the wait is
 * armed); -EBUSY (another one waits). */
static int arm_locked(struct skua_spsc *spsc, struct skua_wait *wait,
		      struct skua_waiters *waiters, atomic_u64 *word,
		      proceeds *proceeds)
{
	if (waiters->first)
		return -EBUSY;
	/* Relaxed: the caller that proceeds reads the word again, with
	 * acquire. */
	if (proceeds(spsc, atomic_fetch_or_relaxed(word, WAITS))) {
		stop_waiting_locked(word);
		return 0;
	}
	wait_arm_locked(waiters, wait, false);
	return -EAGAIN;
}

/* Return: 0 (look again, without a wait); -EAGAIN (the wait is armed, or was chosen); or what
 * the call returns. */
static HOT int step(struct skua_spsc *spsc, struct skua_wait *wait,
		    struct skua_waiters *waiters, atomic_u64 *word,
		    proceeds *proceeds, int give_up)
{
	int code;

	if (!await_enter(waiters, wait, spsc, &code))
		return code;
	code = give_up ? give_up : -EAGAIN;
	if (!wait_armed_locked(wait)) {
		if (!give_up)
			code = arm_locked(spsc, wait, waiters, word, proceeds);
	} else if (give_up) {
		wait_withdraw_locked(waiters, wait);
		stop_waiting_locked(word);
	}
	waiters_unlock(waiters);
	return code;
}

static HOT int receive_step(struct skua_wait *wait, void *object, bool granted,
			    int give_up)
{
	struct skua_spsc *spsc = object;
	void *item = (void *)(uintptr_t)wait->amount;
	int code = granted ? receive(spsc, item) : -EAGAIN;

	if (code != -EAGAIN)
		return code;
	code = step(spsc, wait, &spsc->receivers, tail_of(spsc),
		    receiver_proceeds, give_up);
	return code == 0 ? receive(spsc, item) : code;
}

static int send_step(struct skua_wait *wait, void *object, bool granted,
		     int give_up)
{
	struct skua_spsc *spsc = object;
	const void *item = (const void *)(uintptr_t)wait->amount;
	int code = granted ? send(spsc, item) : -EAGAIN;

	if (code != -EAGAIN)
		return code;
	code = step(spsc, wait, &spsc->senders, head_of(spsc), sender_proceeds,
		    give_up);
	return code == 0 ? send(spsc, item) : code;
}

const struct wait_verb spsc_receive_verb = {
	.step = receive_step,
	.kind = AREA_WAITS_SPSC_RECEIVE,
	.waiters = offsetof(struct skua_spsc, receivers),
	.holder = WAIT_NO_HOLDER,
};

const struct wait_verb spsc_send_verb = {
	.step = send_step,
	.kind = AREA_WAITS_SPSC_SEND,
	.waiters = offsetof(struct skua_spsc, senders),
	.holder = WAIT_NO_HOLDER,
};

/* ---- the interface ------------------------------------------------------------ */

int skua_spsc_init(struct skua_spsc *spsc, void *memory, uint32_t capacity,
		   uint32_t item_bytes)
{
	if (!spsc || !items_fit(memory, item_bytes) ||
	    !items_count_fits(capacity))
		return -EINVAL;
	*spsc = (struct skua_spsc){
		.slots = memory,
		.mask = capacity - 1,
		.item_bytes = item_bytes,
		.slot_bytes = SKUA_SPSC_BYTES(1, item_bytes),
	};
	return 0;
}

int skua_spsc_receive_try(struct skua_spsc *spsc, void *item)
{
	return spsc && item ? receive(spsc, item) : -EINVAL;
}

int skua_spsc_send_try(struct skua_spsc *spsc, const void *item)
{
	return spsc && item ? send(spsc, item) : -EINVAL;
}

int skua_spsc_receive(struct skua_spsc *spsc, void *item, uint64_t deadline_ns)
{
	int code = spsc && item ? await_allowed() : -EINVAL;

	if (code)
		return code;
	code = receive(spsc, item);
	return code == -EAGAIN ? await(&spsc_receive_verb, spsc,
				       (uintptr_t)item, deadline_ns)
			       : code;
}

int skua_spsc_send(struct skua_spsc *spsc, const void *item,
		   uint64_t deadline_ns)
{
	int code = spsc && item ? await_allowed() : -EINVAL;

	if (code)
		return code;
	code = send(spsc, item);
	return code == -EAGAIN ? await(&spsc_send_verb, spsc, (uintptr_t)item,
				       deadline_ns)
			       : code;
}

int skua_spsc_receive_poll(struct skua_task *self, struct skua_spsc *spsc,
			   void *item, struct skua_wait *wait,
			   uint64_t deadline_ns)
{
	int code = spsc && item ? await_may_poll(self, wait) : -EINVAL;

	if (code)
		return code;
	if (!await_armed(wait)) {
		code = receive(spsc, item);
		if (code != -EAGAIN)
			return code;
	}
	return await_poll(self, wait, &spsc_receive_verb, spsc, (uintptr_t)item,
			  deadline_ns);
}

int skua_spsc_send_poll(struct skua_task *self, struct skua_spsc *spsc,
			const void *item, struct skua_wait *wait,
			uint64_t deadline_ns)
{
	int code = spsc && item ? await_may_poll(self, wait) : -EINVAL;

	if (code)
		return code;
	if (!await_armed(wait)) {
		code = send(spsc, item);
		if (code != -EAGAIN)
			return code;
	}
	return await_poll(self, wait, &spsc_send_verb, spsc, (uintptr_t)item,
			  deadline_ns);
}

int skua_spsc_close(struct skua_spsc *spsc)
{
	if (!spsc)
		return -EINVAL;
	/* Release: what the caller did before. Pairs with refuse() and
	 * look(). */
	if (atomic_fetch_or_release(tail_of(spsc), CLOSED) & CLOSED)
		return -EALREADY;
	serve(&spsc->receivers, tail_of(spsc));
	serve(&spsc->senders, head_of(spsc));
	return 0;
}

uint32_t skua_spsc_length(const struct skua_spsc *spsc)
{
	uint64_t head, tail;

	if (!spsc)
		return 0;
	/* Relaxed, both: a snapshot. In this order, the tail is not behind, but
	 * may be far ahead: other threads went on between the loads. */
	head = atomic_load_relaxed(head_of(spsc)) / TICKET;
	tail = atomic_load_relaxed(tail_of(spsc));
	if (tail & DRAINED || tail / TICKET <= head)
		return 0;
	tail = tail / TICKET - head;
	return tail > spsc->mask ? spsc->mask + 1 : (uint32_t)tail;
}
