/* SPDX-License-Identifier: MIT */
/**
 * watch.c - the latest value, and its version
 *
 *	word: [ version:62 | CLOSED | CHANGING ]
 *
 * All changes happen under the list lock, and choose all waiters. Readers copy the value
 * without it (versioned.h). If that fails a few times, they take it: a thread that has
 * lost its CPU in the middle of a change may hold it for long, and a reader must not spin
 * meanwhile.
 *
 * A caller looks at the word under the list lock before it waits. So it sees a change, or
 * the change finds its wait in the list.
 */
#include <errno.h>

#include "core/channel/item.h"
#include "core/channel/verbs.h"
#include "core/channel/versioned.h"

#define CHANGING UINT64_C(1)
#define CLOSED   UINT64_C(2)
#define VERSION  UINT64_C(4)

WAIT_SHOWN(skua_watch, area_watch, word);
WAIT_SHOWN(skua_watch, area_watch, waiters);
_Static_assert(CLOSED == AREA_WATCH_CLOSED, "as tools know it");

/* How often a reader tries without the list lock. A guess, which the workload watch
 * retunes. */
#ifndef COPY_TRIES
#define COPY_TRIES 4
#endif

static atomic_u64 *word_of(const struct skua_watch *watch)
{
	return (atomic_u64 *)&watch->word;
}

/* ---- the value -------------------------------------------------------------- */

/* Copy the value. Return: the word from before the copy; it has CHANGING if the copy is
 * not good. */
static uint64_t copy_now(struct skua_watch *watch, void *value)
{
	/* Acquire: the value, and what was done before the set. Pairs with
	 * skua_watch_set(). */
	uint64_t word = atomic_load_acquire(word_of(watch));

	if (!(word & CHANGING) &&
	    !versioned_copy(value, watch->value, watch->bytes, word_of(watch),
			    word))
		word |= CHANGING;
	return word;
}

/* Copy the value. Return: its version. */
static uint64_t copy(struct skua_watch *watch, void *value)
{
	uint64_t word = CHANGING;

	for (int i = 0; i < COPY_TRIES && (word & CHANGING); i++)
		word = copy_now(watch, value);
	if (word & CHANGING) {
		waiters_lock(&watch->waiters);
		word = copy_now(watch, value);
		waiters_unlock(&watch->waiters);
	}
	return word / VERSION;
}

uint64_t skua_watch_get(struct skua_watch *watch, void *value)
{
	return watch && value ? copy(watch, value) : 0;
}

/* ---- waits ------------------------------------------------------------------ */

/* Return: 0 (there is another version than @seen); -EAGAIN; -EPIPE (closed). */
static int changed(struct skua_watch *watch, uint64_t seen)
{
	/* Acquire: what was done before the close. Pairs with
	 * skua_watch_close(). */
	uint64_t word = atomic_load_acquire(word_of(watch));

	if (word / VERSION != seen)
		return 0;
	return word & CLOSED ? -EPIPE : -EAGAIN;
}

static int changed_step(struct skua_wait *wait, void *object, bool granted,
			int give_up)
{
	struct skua_watch *watch = object;
	int code;

	if (granted)
		return changed(watch, wait->amount);
	if (!await_enter(&watch->waiters, wait, watch, &code))
		return code;
	code = -EAGAIN;
	if (wait_armed_locked(wait)) {
		if (give_up)
			wait_withdraw_locked(&watch->waiters, wait);
	} else {
		code = changed(watch, wait->amount);
		if (code == -EAGAIN && !give_up)
			wait_arm_locked(&watch->waiters, wait, false);
	}
	waiters_unlock(&watch->waiters);
	return code == -EAGAIN && give_up ? give_up : code;
}

const struct wait_verb watch_verb =
	WAIT_VERB(changed_step, WATCH, skua_watch, WAIT_NO_HOLDER);

/* After a wait: get what the caller wants. */
static int finish(struct skua_watch *watch, uint64_t *version, void *value,
		  int code)
{
	if (code == 0)
		*version = copy(watch, value);
	return code;
}

int skua_watch_changed_try(struct skua_watch *watch, uint64_t *version,
			   void *value)
{
	if (!watch || !version || !value)
		return -EINVAL;
	return finish(watch, version, value, changed(watch, *version));
}

int skua_watch_changed(struct skua_watch *watch, uint64_t *version, void *value,
		       uint64_t deadline_ns)
{
	int code = watch && version && value ? await_allowed() : -EINVAL;

	if (code)
		return code;
	code = changed(watch, *version);
	if (code == -EAGAIN)
		code = await(&watch_verb, watch, *version, deadline_ns);
	return finish(watch, version, value, code);
}

int skua_watch_changed_poll(struct skua_task *self, struct skua_watch *watch,
			    uint64_t *version, void *value,
			    struct skua_wait *wait, uint64_t deadline_ns)
{
	int code = watch && version && value ? await_may_poll(self, wait)
					     : -EINVAL;

	if (code)
		return code;
	code = await_armed(wait) ? -EAGAIN : changed(watch, *version);
	if (code == -EAGAIN)
		code = await_poll(self, wait, &watch_verb, watch, *version,
				  deadline_ns);
	return finish(watch, version, value, code);
}

/* ---- changes ---------------------------------------------------------------- */

int skua_watch_init(struct skua_watch *watch, void *memory, uint32_t bytes)
{
	if (!watch || !items_fit(memory, bytes))
		return -EINVAL;
	*watch = (struct skua_watch){ .word = VERSION,
				      .value = memory,
				      .bytes = bytes };
	return 0;
}

int skua_watch_set(struct skua_watch *watch, const void *value)
{
	struct wait_chain chain = { NULL, NULL };
	uint64_t word;

	if (!watch || !value)
		return -EINVAL;
	waiters_lock(&watch->waiters);
	/* Relaxed: under the list lock. */
	word = atomic_load_relaxed(word_of(watch));
	if (!(word & CLOSED)) {
		versioned_set_locked(word_of(watch), word | CHANGING,
				     word + VERSION, watch->value, value,
				     watch->bytes);
		wait_choose_all_locked(&watch->waiters, &chain);
	}
	waiters_unlock(&watch->waiters);
	wait_grant(&chain);
	return word & CLOSED ? -EPIPE : 0;
}

int skua_watch_close(struct skua_watch *watch)
{
	struct wait_chain chain = { NULL, NULL };
	uint64_t word;

	if (!watch)
		return -EINVAL;
	waiters_lock(&watch->waiters);
	/* Relaxed: under the list lock. */
	word = atomic_load_relaxed(word_of(watch));
	/* Release: what the caller did before. Pairs with changed(). */
	atomic_store_release(word_of(watch), word | CLOSED);
	wait_choose_all_locked(&watch->waiters, &chain);
	waiters_unlock(&watch->waiters);
	wait_grant(&chain);
	return word & CLOSED ? -EALREADY : 0;
}
