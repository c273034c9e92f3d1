/* SPDX-License-Identifier: MIT */
/**
 * notify.c - lets one waiter proceed, or all
 *
 *	word: 0, KEPT or WAITERS
 *
 * KEPT: a notification for the next wait. WAITERS: the list is not empty; while it
 * is set, the word changes only under the list lock. A notification that finds
 * waiters chooses one under the lock. That is a grant: a waiter that was chosen
 * returns 0, so that no notification is lost when a waiter gives up.
 */
#include <errno.h>

#include "core/sync/verbs.h"
#include "skua/sync.h"

#define KEPT    UINT64_C(1)
#define WAITERS UINT64_C(2)

static atomic_u64 *word_of(struct skua_notify *notify)
{
	return (atomic_u64 *)&notify->word;
}

/* Take the notification that is kept. */
static bool take(struct skua_notify *notify)
{
	/* Relaxed: the compare-exchange decides, which takes longer. */
	uint64_t word = atomic_load_relaxed(word_of(notify));

	/* Acquire: what was done before it. Pairs with skua_notify_one(). */
	return word == KEPT && atomic_cas_acquire(word_of(notify), &word, 0);
}

bool notify_take(struct skua_notify *notify)
{
	return take(notify);
}

/* Say in the word that there are waiters, unless a notification is kept. Return:
 * was there one? It is taken. */
static bool take_or_wait_locked(struct skua_notify *notify)
{
	uint64_t word = 0;

	/* Relaxed: take() acquires. The loop repeats when a notification came
	 * and went. */
	while (!atomic_cas_relaxed(word_of(notify), &word, WAITERS) &&
	       word == KEPT) {
		if (take(notify))
			return true;
		word = 0;
	}
	return false;
}

/* A wait has left the list. */
static void left_locked(struct skua_notify *notify)
{
	/* Relaxed: under the list lock, and WAITERS is set. */
	if (!notify->waiters.first)
		atomic_store_relaxed(word_of(notify), 0);
}

static void withdraw_locked(struct skua_notify *notify, struct skua_wait *wait)
{
	wait_withdraw_locked(&notify->waiters, wait);
	left_locked(notify);
}

static int wait_step_of(struct skua_wait *wait, void *object, bool granted,
			int give_up)
{
	struct skua_notify *notify = object;
	int code;

	if (granted)
		return 0;
	if (!await_enter(&notify->waiters, wait, notify, &code))
		return code;
	code = give_up ? give_up : -EAGAIN;
	if (wait_armed_locked(wait)) {
		if (give_up)
			withdraw_locked(notify, wait);
	} else if (give_up ? take(notify) : take_or_wait_locked(notify)) {
		code = 0;
	} else if (!give_up) {
		wait_arm_locked(&notify->waiters, wait, false);
	}
	waiters_unlock(&notify->waiters);
	return code;
}

/* Only one notification is for the next waiter, not one of all. */
static void notify_next(struct skua_wait *wait, void *object)
{
	if (wait->given)
		skua_notify_one(object);
}

const struct wait_verb notify_verb = WAIT_VERB_GIVES(
	wait_step_of, NOTIFY, skua_notify, WAIT_NO_HOLDER, notify_next);

int skua_notify_wait(struct skua_notify *notify, uint64_t deadline_ns)
{
	int code = notify ? await_allowed() : -EINVAL;

	if (code || take(notify))
		return code;
	return await(&notify_verb, notify, 0, deadline_ns);
}

int skua_notify_wait_poll(struct skua_task *self, struct skua_notify *notify,
			  struct skua_wait *wait, uint64_t deadline_ns)
{
	int code = notify ? await_may_poll(self, wait) : -EINVAL;

	if (code || (!await_armed(wait) && take(notify)))
		return code;
	return await_poll(self, wait, &notify_verb, notify, 0, deadline_ns);
}

/* Choose the first waiter, or all, if there are any. */
static void choose(struct skua_notify *notify, bool all,
		   struct wait_chain *chain)
{
	waiters_lock(&notify->waiters);
	while (notify->waiters.first && (all || !chain->first)) {
		notify->waiters.first->given = !all;
		wait_choose_locked(&notify->waiters, notify->waiters.first,
				   chain);
		left_locked(notify);
	}
	waiters_unlock(&notify->waiters);
}

int skua_notify_one(struct skua_notify *notify)
{
	struct wait_chain chain = { NULL, NULL };
	bool kept = false;

	if (!notify)
		return -EINVAL;
	/* The loop repeats when waiters came or went. */
	while (!kept && !chain.first) {
		/* Relaxed: the list lock or the compare-exchange decides. */
		uint64_t word = atomic_load_relaxed(word_of(notify));

		/* Release: what the caller did before; also if one is kept
		 * already. Pairs with take(). */
		if (word == WAITERS)
			choose(notify, false, &chain);
		else
			kept = atomic_cas_release(word_of(notify), &word, KEPT);
	}
	wait_grant(&chain);
	return 0;
}

int skua_notify_all(struct skua_notify *notify)
{
	struct wait_chain chain = { NULL, NULL };

	if (!notify)
		return -EINVAL;
	/* Relaxed: a caller that armed before this call is seen, by the order
	 * in which the program knows of it; others need not be. */
	if (atomic_load_relaxed(word_of(notify)) == WAITERS)
		choose(notify, true, &chain);
	wait_grant(&chain);
	return 0;
}
