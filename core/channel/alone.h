/* SPDX-License-Identifier: MIT */
/**
 * alone.h - the receiver that waits for a channel alone
 *
 * A receiver that finds no other one waiting does not enter the list: a word of the channel
 * has the address of its wait. One compare-exchange of that word arms the wait, and one
 * chooses it (N7). The list would take four locked operations for these two.
 *
 *	receiver                          sender
 *	--------------------------------  -----------------------------------
 *	sees the channel open and empty   sees the channel open and empty
 *	word: NULL -> wait (alone_arm)    word: wait -> NULL (alone_take)
 *	*fence*                           copies the item, and grants the wait
 *	looks again, and waits
 *
 * A sender that has put its item into the ring, and a caller that has closed the channel, are
 * ordered against the receiver by their *fence*, as for the list. They take the list lock, and
 * move the wait into the list, before all others (alone_move_locked()). It is then served like
 * those.
 *
 * The receiver that gives up takes the list lock as well. So it finds the wait either in the
 * word, or in the list, or it was chosen.
 *
 * Receivers that come while one waits alone enter the list, and are served after it. A
 * receiver that finds others in the list enters it as well. A select never waits alone:
 * nobody gives it an item.
 *
 * Rejected: a grantor that chooses the wait, then looks for an item in the ring, and grants a
 * new attempt if another caller has taken that. A call that was granted would have to wait
 * again.
 *
 * Rejected: a channel that belongs to one worker, whose calls need no locked operation until
 * another worker takes the channel away by membarrier. An unsound prototype did without all
 * eight locked operations of a channel_round_trip (this word, the ends of the polls and the
 * wake-ups). On a Zen 5 it took 105 ns instead of 103 in 7 alternating runs, and 96 instead of
 * 100 in 9 others: the processor overlaps most of their time with other work.
 */
#ifndef SKUA_CORE_CHANNEL_ALONE_H
#define SKUA_CORE_CHANNEL_ALONE_H

#include "core/wait/await.h"
#include "skua/channel.h"

/* Value of skua_wait.stage: armed, and not in the list. Writers: the receiver, while the wait
 * is idle; after that, threads with the list lock. */
#define ALONE 1u

/* NULL: no receiver waits alone. Writers: receivers, from NULL to their wait; the thread that
 * chooses or moves the wait, or withdraws it, from the wait to NULL. */
static inline atomic_ptr *alone_of(const struct skua_channel *channel)
{
	return (atomic_ptr *)&channel->receiver;
}

/* alone_waits - does a receiver wait alone? */
static inline bool alone_waits(const struct skua_channel *channel)
{
	/* Relaxed: a hint, or ordered by the fence of the caller. */
	return atomic_load_relaxed(alone_of(channel)) != NULL;
}

/* alone_arm - arm an idle wait, if no receiver waits alone. The caller has seen the channel open
 * and empty; afterwards it *fences*, and looks again. Return: is it armed? */
static inline bool alone_arm(struct skua_channel *channel,
			     struct skua_wait *wait)
{
	void *none = NULL;

	if (alone_waits(channel))
		return false;
	wait->object = channel;
	wait->stage = ALONE;
	wait_arm_alone(wait);
	/* Release: the wait. Pairs with alone_take(). */
	if (atomic_cas_release(alone_of(channel), &none, wait))
		return true;
	wait_withdraw_alone(wait);
	wait->stage = 0;
	return false;
}

/* alone_take - take the wait of the receiver that waits alone: to choose it, or, with the list
 * lock, to move it. Return: NULL: there is none, or another thread was faster */
static inline struct skua_wait *alone_take(struct skua_channel *channel)
{
	/* Relaxed: the compare-exchange decides. */
	void *wait = atomic_load_relaxed(alone_of(channel));

	/* Acquire: the wait. Pairs with alone_arm(). */
	return wait && atomic_cas_acquire(alone_of(channel), &wait, NULL)
		       ? wait
		       : NULL;
}

/* alone_move_locked - move the wait of the receiver that waits alone into the list, before all
 * others */
static inline void alone_move_locked(struct skua_channel *channel)
{
	struct skua_wait *wait = alone_take(channel);

	if (!wait)
		return;
	wait->stage = 0;
	wait_list_locked(&channel->receivers, wait, true);
}

/* alone_leave_locked - withdraw a wait that is ALONE. Return: false: it was chosen, and is
 * granted in a moment or already */
static inline bool alone_leave_locked(struct skua_channel *channel,
				      struct skua_wait *wait)
{
	void *self = wait;

	/* Relaxed: no other thread has accessed the wait. */
	if (atomic_cas_relaxed(alone_of(channel), &self, NULL)) {
		wait_withdraw_alone(wait);
		wait->stage = 0;
		return true;
	}
	wait_check_taken(wait);
	wait_expect_grant(wait);
	return false;
}

#endif
