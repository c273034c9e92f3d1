/* SPDX-License-Identifier: MIT */
/**
 * event.c - a flag that tasks and threads wait for
 *
 *	word: 0, SET or WAITERS
 *
 * WAITERS: the list is not empty. While it is set, the word changes only under the
 * list lock. A set first chooses all waiters, under the lock. Its last access to the
 * event is the compare-exchange from 0 to SET (N2).
 */
#include <errno.h>

#include "core/sync/verbs.h"
#include "skua/sync.h"

#define SET     UINT64_C(1)
#define WAITERS UINT64_C(2)

static atomic_u64 *word_of(const struct skua_event *event)
{
	return (atomic_u64 *)&event->word;
}

bool skua_event_is_set(const struct skua_event *event)
{
	/* Acquire: what was done before the set. Pairs with
	 * skua_event_set(). */
	return event && atomic_load_acquire(word_of(event)) == SET;
}

/* Say in the word that there are waiters, unless the event is set. Return: is
 * it set? */
static bool set_or_wait_locked(struct skua_event *event)
{
	uint64_t word = 0;

	/* Acquire: as in skua_event_is_set(), if it fails. Release: not
	 * needed. */
	return !atomic_cas_acq_rel(word_of(event), &word, WAITERS) &&
	       word == SET;
}

static void withdraw_locked(struct skua_event *event, struct skua_wait *wait)
{
	wait_withdraw_locked(&event->waiters, wait);
	/* Relaxed: under the list lock, and WAITERS is set. */
	if (!event->waiters.first)
		atomic_store_relaxed(word_of(event), 0);
}

static int wait_step_of(struct skua_wait *wait, void *object, bool granted,
			int give_up)
{
	struct skua_event *event = object;
	int code;

	if (granted)
		return 0;
	if (!await_enter(&event->waiters, wait, event, &code))
		return code;
	code = give_up ? give_up : -EAGAIN;
	if (wait_armed_locked(wait)) {
		if (give_up)
			withdraw_locked(event, wait);
	} else if (give_up ? skua_event_is_set(event)
			   : set_or_wait_locked(event)) {
		code = 0;
	} else if (!give_up) {
		wait_arm_locked(&event->waiters, wait, false);
	}
	waiters_unlock(&event->waiters);
	return code;
}

const struct wait_verb event_verb =
	WAIT_VERB(wait_step_of, EVENT, skua_event, WAIT_NO_HOLDER);

int skua_event_wait(struct skua_event *event, uint64_t deadline_ns)
{
	int code = event ? await_allowed() : -EINVAL;

	if (code || skua_event_is_set(event))
		return code;
	return await(&event_verb, event, 0, deadline_ns);
}

int skua_event_wait_poll(struct skua_task *self, struct skua_event *event,
			 struct skua_wait *wait, uint64_t deadline_ns)
{
	int code = event ? await_may_poll(self, wait) : -EINVAL;

	if (code || (!await_armed(wait) && skua_event_is_set(event)))
		return code;
	return await_poll(self, wait, &event_verb, event, 0, deadline_ns);
}

static void choose_all_locked(struct skua_event *event,
			      struct wait_chain *chain)
{
	if (!event->waiters.first)
		return;
	wait_choose_all_locked(&event->waiters, chain);
	/* Relaxed: WAITERS is set, and the caller's compare-exchange follows. */
	atomic_store_relaxed(word_of(event), 0);
}

int skua_event_set(struct skua_event *event)
{
	struct wait_chain chain = { NULL, NULL };
	uint64_t word = 0;

	if (!event)
		return -EINVAL;
	/* Release: what the caller did before. Pairs with
	 * skua_event_is_set(), skua_event_reset() and set_or_wait_locked(). The
	 * loop repeats when waiters came. A set of an event that is set already
	 * is a read-modify-write, too: a thread that sees it acquires what both
	 * callers did. */
	while (!atomic_cas_release(word_of(event), &word, SET)) {
		if (word != WAITERS)
			continue;
		waiters_lock(&event->waiters);
		choose_all_locked(event, &chain);
		waiters_unlock(&event->waiters);
		word = 0;
	}
	wait_grant(&chain);
	return 0;
}

int skua_event_reset(struct skua_event *event)
{
	uint64_t word = SET;

	if (!event)
		return -EINVAL;
	/* Acquire: what was done before the set. Pairs with skua_event_set(). A
	 * caller that resets, looks, and waits if there is nothing to do would
	 * otherwise miss what it reset. */
	atomic_cas_acquire(word_of(event), &word, 0);
	return 0;
}
