/* SPDX-License-Identifier: MIT */
/**
 * spsc.c - a queue of bounded length, with a single sender and a single receiver
 *
 * A ring (L. Lamport's queue). Each side has a ticket: the sender puts the item with ticket t
 * into slot t % capacity, and stores t + 1; the receiver does the same with its own ticket.
 * Each of them keeps a copy of the other's ticket, and reads it again only when the copy says
 * that the ring is full or empty. So the cache line of a side moves once for many items.
 *
 * Waiting. WAITS in the flags of a side says that the other side waits for its next ticket.
 *
 *	a side that has an item or a place	the other side, that waits for it
 *	--------------------------------------	----------------------------------
 *	stores its ticket			sets WAITS, under its list lock
 *	*fence*					*fence*
 *	reads WAITS				reads the ticket
 *
 * So one of them sees the other (N1). The fences are those of spsc_side.h: a call has none if
 * both sides are on one worker. A grant says only that it is worth looking again: the waiter
 * itself takes its item or place, because nobody else may.
 *
 * Closing. SIDE_CLOSED in the flags of the sender's side refuses further sends. One send may have
 * looked before, and store its ticket later. A receiver that finds the ring closed and empty
 * therefore sets DRAINED, *fences* as one that waits, and reads the ticket again, all under
 * its list lock; if there is an item after all, it clears DRAINED. A send that sees DRAINED
 * after it has stored its ticket takes that lock as well. If DRAINED is still set then, and
 * the receiver's ticket has not passed the item, it will not be received: the send returns
 * -EPIPE. A close takes both list locks after it has set SIDE_CLOSED: a caller that armed its wait
 * before is found, and one that comes later sees SIDE_CLOSED.
 *
 * Rejected. A wait whose address is in a word of the spsc instead of a list: the side that
 * takes the address would still hold it while the waiter gives up, and frees the wait.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/hot.h"
#include "core/channel/item.h"
#include "core/channel/spsc_side.h"
#include "core/channel/verbs.h"

WAIT_SHOWN(skua_spsc, area_spsc, receivers);
WAIT_SHOWN(skua_spsc, area_spsc, senders);
WAIT_SHOWN(skua_spsc, area_spsc, mask);
WAIT_SHOWN(skua_spsc, area_spsc, item_bytes);
_Static_assert(offsetof(struct skua_spsc, sender.ticket) ==
			       offsetof(struct area_spsc, sent) &&
		       offsetof(struct skua_spsc, sender.flags) ==
			       offsetof(struct area_spsc, flags) &&
		       offsetof(struct skua_spsc, receiver.ticket) ==
			       offsetof(struct area_spsc, received) &&
		       SIDE_CLOSED == AREA_SPSC_CLOSED,
	       "as tools know them");

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
	(void)atomic_load_acquire(flags_of(&spsc->sender));
	return -EPIPE;
}

/* Has the receiver drained the ring, without the item of the caller? */
static __attribute__((noinline)) bool is_left(struct skua_spsc *spsc,
					      uint64_t ticket)
{
	bool left;

	waiters_lock(&spsc->receivers);
	/* Relaxed, both: under the list lock. Once the ring is drained, the receiver's ticket
	 * does not change. */
	left = (atomic_load_relaxed(flags_of(&spsc->sender)) & DRAINED) &&
	       atomic_load_relaxed(ticket_of(&spsc->receiver)) <= ticket;
	waiters_unlock(&spsc->receivers);
	return left;
}

/* Return: 0; OTHER_WAITS; -EAGAIN (full); -EPIPE (closed). */
static inline __attribute__((always_inline)) int
send_now(struct skua_spsc *spsc, const void *item)
{
	struct skua_spsc_side *own = &spsc->sender;
	/* Relaxed: of the caller. */
	uint64_t ticket = atomic_load_relaxed(ticket_of(own));
	uint32_t flags;

	/* Relaxed: a send that begins after the close sees it. */
	if (atomic_load_relaxed(flags_of(own)) & SIDE_CLOSED)
		return refuse(spsc);
	if (__builtin_expect(ticket - own->seen > spsc->mask, false)) {
		side_see(own, &spsc->receiver);
		if (ticket - own->seen > spsc->mask)
			return -EAGAIN;
	}
	item_copy(slot_of(spsc, ticket), item, spsc->item_bytes);
	flags = side_advance(own, ticket + 1);
	if (__builtin_expect(flags == 0, true))
		return 0;
	if (flags & DRAINED && is_left(spsc, ticket))
		return refuse(spsc);
	return flags & WAITS ? OTHER_WAITS : 0;
}

/* Say that no item will be received any more, unless one has come. Return: as look(). */
static int drain(struct skua_spsc *spsc, uint64_t ticket)
{
	struct skua_spsc_side *other = &spsc->sender;
	int code = -EPIPE;

	waiters_lock(&spsc->receivers);
	/* Relaxed: the fence orders it. Pairs with side_advance() in send_now(). */
	atomic_fetch_or_relaxed(flags_of(other), DRAINED);
	if (!side_fence_other(other))
		code = -ENOSYS;
	/* Relaxed: look() reads it again. */
	else if (atomic_load_relaxed(ticket_of(other)) != ticket)
		code = 0;
	if (code != -EPIPE)
		/* Relaxed: under the list lock. */
		atomic_fetch_and_relaxed(flags_of(other), ~DRAINED);
	waiters_unlock(&spsc->receivers);
	return code;
}

/* Read the sender's ticket, and say so if no item will come any more. Return: 0 (there is an
 * item); -EAGAIN (empty); -EPIPE (closed, and empty); -ENOSYS. */
static __attribute__((noinline)) int look(struct skua_spsc *spsc,
					  uint64_t ticket)
{
	struct skua_spsc_side *own = &spsc->receiver;
	/* Acquire: what was done before the close. Pairs with
	 * skua_spsc_close(). */
	uint32_t flags = atomic_load_acquire(flags_of(&spsc->sender));
	int code;

	if (flags & DRAINED)
		return -EPIPE;
	side_see(own, &spsc->sender);
	if (own->seen != ticket)
		return 0;
	if (!(flags & SIDE_CLOSED))
		return -EAGAIN;
	code = drain(spsc, ticket);
	if (code == 0)
		side_see(own, &spsc->sender);
	return code;
}

/* Return: 0; OTHER_WAITS; -EAGAIN (empty); -EPIPE (closed, and empty); -ENOSYS. */
static inline __attribute__((always_inline)) int
receive_now(struct skua_spsc *spsc, void *item)
{
	struct skua_spsc_side *own = &spsc->receiver;
	/* Relaxed: of the caller. */
	uint64_t ticket = atomic_load_relaxed(ticket_of(own));

	if (__builtin_expect(ticket == own->seen, false)) {
		int code = look(spsc, ticket);

		if (code)
			return code;
	}
	item_copy(item, slot_of(spsc, ticket), spsc->item_bytes);
	return side_advance(own, ticket + 1) & WAITS ? OTHER_WAITS : 0;
}

/* Grant the wait of the other side, if it waits. @own: the side with WAITS in its flags */
static __attribute__((noinline)) void serve(struct skua_waiters *waiters,
					    const struct skua_spsc_side *own)
{
	struct wait_chain chain = { NULL, NULL };

	waiters_lock(waiters);
	if (waiters->first) {
		wait_choose_all_locked(waiters, &chain);
		/* Relaxed: under the list lock. */
		atomic_fetch_and_relaxed(flags_of(own), ~WAITS);
	}
	waiters_unlock(waiters);
	wait_grant(&chain);
}

static inline __attribute__((always_inline)) int send(struct skua_spsc *spsc,
						      const void *item)
{
	int code;

	enter(&spsc->sender.inside, "send to an spsc");
	code = send_now(spsc, item);
	leave(&spsc->sender.inside);
	if (__builtin_expect(code != OTHER_WAITS, true))
		return code;
	side_settle(&spsc->sender, &spsc->receiver);
	serve(&spsc->receivers, &spsc->sender);
	return 0;
}

static inline __attribute__((always_inline)) int receive(struct skua_spsc *spsc,
							 void *item)
{
	int code;

	enter(&spsc->receiver.inside, "receive from an spsc");
	code = receive_now(spsc, item);
	leave(&spsc->receiver.inside);
	if (__builtin_expect(code != OTHER_WAITS, true))
		return code;
	side_settle(&spsc->receiver, &spsc->sender);
	serve(&spsc->senders, &spsc->receiver);
	return 0;
}

/* ---- waits -------------------------------------------------------------------- */

/* Is there nothing to wait for? @flags: of the other side, from before WAITS was set */
typedef bool proceeds(struct skua_spsc *spsc, uint32_t flags);

static bool receiver_proceeds(struct skua_spsc *spsc, uint32_t flags)
{
	/* Relaxed, both: the caller that proceeds reads the ticket again, with acquire. */
	return atomic_load_relaxed(ticket_of(&spsc->sender)) !=
		       atomic_load_relaxed(ticket_of(&spsc->receiver)) ||
	       (flags & SIDE_CLOSED);
}

static bool sender_proceeds(struct skua_spsc *spsc, uint32_t flags)
{
	/* Relaxed, all: as above; for SIDE_CLOSED, the list lock orders it. Pairs with
	 * skua_spsc_close(). */
	uint64_t sent = atomic_load_relaxed(ticket_of(&spsc->sender));
	uint64_t received = atomic_load_relaxed(ticket_of(&spsc->receiver));

	(void)flags;
	return sent - received <= spsc->mask ||
	       (atomic_load_relaxed(flags_of(&spsc->sender)) & SIDE_CLOSED);
}

static void stop_waiting_locked(const struct skua_spsc_side *other)
{
	/* Relaxed: under the list lock. */
	atomic_fetch_and_relaxed(flags_of(other), ~WAITS);
}

/* Say that the caller waits, unless it need not. Return: 0 (it need not); -EAGAIN (the wait is
 * armed); -EBUSY (another one waits); -ENOSYS. */
static int arm_locked(struct skua_spsc *spsc, struct skua_wait *wait,
		      struct skua_waiters *waiters,
		      const struct skua_spsc_side *other, proceeds *proceeds)
{
	uint32_t flags;
	bool fenced;

	if (waiters->first)
		return -EBUSY;
	/* Relaxed: the fence orders it. */
	flags = atomic_fetch_or_relaxed(flags_of(other), WAITS);
	fenced = side_fence_other(other);
	if (!fenced || proceeds(spsc, flags)) {
		stop_waiting_locked(other);
		return fenced ? 0 : -ENOSYS;
	}
	wait_arm_locked(waiters, wait, false);
	return -EAGAIN;
}

/* Return: 0 (look again, without a wait); -EAGAIN (the wait is armed, or was chosen); or what
 * the call returns. */
static HOT int step(struct skua_spsc *spsc, struct skua_wait *wait,
		    struct skua_waiters *waiters,
		    const struct skua_spsc_side *other, proceeds *proceeds,
		    int give_up)
{
	int code;

	if (!await_enter(waiters, wait, spsc, &code))
		return code;
	code = give_up ? give_up : -EAGAIN;
	if (!wait_armed_locked(wait)) {
		if (!give_up)
			code = arm_locked(spsc, wait, waiters, other, proceeds);
	} else if (give_up) {
		wait_withdraw_locked(waiters, wait);
		stop_waiting_locked(other);
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
	code = step(spsc, wait, &spsc->receivers, &spsc->sender,
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
	code = step(spsc, wait, &spsc->senders, &spsc->receiver,
		    sender_proceeds, give_up);
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
	if (atomic_fetch_or_release(flags_of(&spsc->sender), SIDE_CLOSED) &
	    SIDE_CLOSED)
		return -EALREADY;
	serve(&spsc->receivers, &spsc->sender);
	serve(&spsc->senders, &spsc->receiver);
	return 0;
}

uint32_t skua_spsc_length(const struct skua_spsc *spsc)
{
	uint64_t sent, received;

	if (!spsc)
		return 0;
	/* Relaxed, all: a snapshot. In this order, the sender is not behind, but may be
	 * far ahead: other threads went on between the loads. */
	received = atomic_load_relaxed(ticket_of(&spsc->receiver));
	sent = atomic_load_relaxed(ticket_of(&spsc->sender));
	if (atomic_load_relaxed(flags_of(&spsc->sender)) & DRAINED ||
	    sent <= received)
		return 0;
	sent -= received;
	return sent > spsc->mask ? spsc->mask + 1 : (uint32_t)sent;
}
