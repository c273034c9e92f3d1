/* SPDX-License-Identifier: MIT */
/**
 * oneshot.c - one value, from one sender to one receiver
 *
 *	word: 0, WAITERS, SENT, TAKEN or CLOSED
 *
 * WAITERS: the list is not empty. While it is set, the word changes only under the
 * list lock. A send and a close end the oneshot: the first of them decides. Without
 * waiters, that is the compare-exchange from 0, which is the last access of the caller to
 * the oneshot; with waiters, the last one is the unlock (N2). After SENT, only the receiver
 * changes the word.
 */
#include <errno.h>

#include "core/channel/verbs.h"
#include "core/base/hot.h"

#define SENT    UINT64_C(1)
#define WAITERS UINT64_C(2)
#define TAKEN   UINT64_C(4)
#define CLOSED  UINT64_C(8)

WAIT_SHOWN(skua_oneshot, area_oneshot, word);
WAIT_SHOWN(skua_oneshot, area_oneshot, waiters);
_Static_assert(SENT == AREA_ONESHOT_SENT && TAKEN == AREA_ONESHOT_TAKEN &&
		       CLOSED == AREA_ONESHOT_CLOSED,
	       "as tools know them");

static atomic_u64 *word_of(struct skua_oneshot *oneshot)
{
	return (atomic_u64 *)&oneshot->word;
}

/* ---- receive ---------------------------------------------------------------- */

/* Take the value. Return: 0; -EAGAIN; -EPIPE. */
static int take(struct skua_oneshot *oneshot, uintptr_t *value)
{
	/* Acquire: the value, and what was done before the send or the close.
	 * Pairs with end(). */
	uint64_t word = atomic_load_acquire(word_of(oneshot));

	if (word != SENT)
		return word & (TAKEN | CLOSED) ? -EPIPE : -EAGAIN;
	*value = oneshot->value;
	/* Relaxed: nobody else changes the word now. */
	atomic_store_relaxed(word_of(oneshot), TAKEN);
	return 0;
}

/* Say in the word that there are waiters, unless the oneshot has ended. Return: as
 * take(). */
static int take_or_wait_locked(struct skua_oneshot *oneshot, uintptr_t *value)
{
	uint64_t word = 0;

	/* Relaxed: take() acquires. */
	if (atomic_cas_relaxed(word_of(oneshot), &word, WAITERS))
		return -EAGAIN;
	return take(oneshot, value);
}

static void withdraw_locked(struct skua_oneshot *oneshot,
			    struct skua_wait *wait)
{
	wait_withdraw_locked(&oneshot->waiters, wait);
	/* Relaxed: under the list lock, and WAITERS is set. */
	if (!oneshot->waiters.first)
		atomic_store_relaxed(word_of(oneshot), 0);
}

static HOT int receive_step(struct skua_wait *wait, void *object, bool granted,
			    int give_up)
{
	uintptr_t *value = (uintptr_t *)(uintptr_t)wait->amount;
	struct skua_oneshot *oneshot = object;
	int code;

	if (granted)
		return take(oneshot, value);
	if (!await_enter(&oneshot->waiters, wait, oneshot, &code))
		return code;
	code = -EAGAIN;
	if (wait_armed_locked(wait)) {
		if (give_up)
			withdraw_locked(oneshot, wait);
	} else if (give_up) {
		code = take(oneshot, value);
	} else {
		code = take_or_wait_locked(oneshot, value);
		if (code == -EAGAIN)
			wait_arm_locked(&oneshot->waiters, wait, false);
	}
	waiters_unlock(&oneshot->waiters);
	return code == -EAGAIN && give_up ? give_up : code;
}

const struct wait_verb oneshot_verb =
	WAIT_VERB(receive_step, ONESHOT, skua_oneshot, WAIT_NO_HOLDER);

int skua_oneshot_receive_try(struct skua_oneshot *oneshot, uintptr_t *value)
{
	return oneshot && value ? take(oneshot, value) : -EINVAL;
}

int skua_oneshot_receive(struct skua_oneshot *oneshot, uintptr_t *value,
			 uint64_t deadline_ns)
{
	int code = oneshot && value ? await_allowed() : -EINVAL;

	if (code)
		return code;
	code = take(oneshot, value);
	return code == -EAGAIN ? await(&oneshot_verb, oneshot, (uintptr_t)value,
				       deadline_ns)
			       : code;
}

int skua_oneshot_receive_poll(struct skua_task *self,
			      struct skua_oneshot *oneshot, uintptr_t *value,
			      struct skua_wait *wait, uint64_t deadline_ns)
{
	int code = oneshot && value ? await_may_poll(self, wait) : -EINVAL;

	if (code)
		return code;
	if (!await_armed(wait)) {
		code = take(oneshot, value);
		if (code != -EAGAIN)
			return code;
	}
	return await_poll(self, wait, &oneshot_verb, oneshot, (uintptr_t)value,
			  deadline_ns);
}

/* ---- send and close --------------------------------------------------------- */

/* Is the word final? Return: 0; -EALREADY; -EPIPE (closed). */
static int ended(struct skua_oneshot *oneshot)
{
	/* Acquire: what was done before the close. Pairs with end(). */
	uint64_t word = atomic_load_acquire(word_of(oneshot));

	if (word == CLOSED)
		return -EPIPE;
	return word & (SENT | TAKEN) ? -EALREADY : 0;
}

/* End the oneshot for those that wait. Return: were there any? */
static bool end_waits(struct skua_oneshot *oneshot, uint64_t word)
{
	struct wait_chain chain = { NULL, NULL };

	waiters_lock(&oneshot->waiters);
	if (oneshot->waiters.first) {
		wait_choose_all_locked(&oneshot->waiters, &chain);
		/* Release: what the caller did before. Pairs with ended(). */
		atomic_store_release(word_of(oneshot), word);
	}
	waiters_unlock(&oneshot->waiters);
	if (!chain.first)
		return false;
	wait_grant(&chain);
	return true;
}

/* Return: as ended(); 0: the oneshot has this word. */
static int end(struct skua_oneshot *oneshot, uint64_t word)
{
	uint64_t now = 0;

	/* Release: the value, and what the caller did before. Pairs with take()
	 * and ended(). The loop repeats when a waiter gave up. */
	while (!atomic_cas_release(word_of(oneshot), &now, word)) {
		if (now != WAITERS)
			return ended(oneshot);
		if (end_waits(oneshot, word))
			return 0;
		now = 0;
	}
	return 0;
}

int skua_oneshot_send(struct skua_oneshot *oneshot, uintptr_t value)
{
	int code = oneshot ? ended(oneshot) : -EINVAL;

	if (code)
		return code;
	/* The receiver reads it only if the word becomes SENT. */
	oneshot->value = value;
	return end(oneshot, SENT);
}

int skua_oneshot_close(struct skua_oneshot *oneshot)
{
	if (!oneshot)
		return -EINVAL;
	return end(oneshot, CLOSED) ? -EALREADY : 0;
}
