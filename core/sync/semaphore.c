/* SPDX-License-Identifier: MIT */
/**
 * semaphore.c - a number of permits
 *
 *	word: [ permits:62 | CLOSED | WAITERS ]
 *
 * WAITERS: the list is not empty, and only the first waiter may take permits.
 * Acquires and releases without waiters are one compare-exchange. All others
 * happen under the list lock. A release that finds waiters gives the permits to
 * them first.
 *
 * Invariants: S1: WAITERS and CLOSED are set and cleared under the list lock.
 * Whenever no thread holds it, WAITERS is set if and only if the list is not
 * empty. S2: then the first waiter wants more permits than there are.
 */
#include <errno.h>

#include "core/sync/verbs.h"
#include "skua/sync.h"

#define WAITERS UINT64_C(1)
#define CLOSED  UINT64_C(2)
#define PERMIT  UINT64_C(4)

static atomic_u64 *word_of(const struct skua_semaphore *semaphore)
{
	return (atomic_u64 *)&semaphore->word;
}

static uint64_t permits(uint64_t word)
{
	return word / PERMIT;
}

static int is_closed(struct skua_semaphore *semaphore)
{
	/* Acquire: what was done before the close. Pairs with
	 * skua_semaphore_close(). */
	(void)atomic_load_acquire(word_of(semaphore));
	return -ESHUTDOWN;
}

/* Take permits, unless others wait. Return: 0; -EAGAIN; -ESHUTDOWN. */
static int take(struct skua_semaphore *semaphore, uint64_t n)
{
	/* Relaxed: the compare-exchange decides. */
	uint64_t word = atomic_load_relaxed(word_of(semaphore));

	/* Acquire: what was done before the releases. Pairs with the releases
	 * in add() and give_locked(). The loop repeats when another thread
	 * changed the word. */
	do {
		if (word & CLOSED)
			return is_closed(semaphore);
		if ((word & WAITERS) || permits(word) < n)
			return -EAGAIN;
	} while (!atomic_cas_acquire(word_of(semaphore), &word,
				     word - n * PERMIT));
	return 0;
}

/* Add @n permits, at most SKUA_MAX_PERMITS, and give permits to waiters in their
 * order. As the first waiter wants more than there are (S2), there are fewer
 * than @n in the end, or fewer than a waiter wants. Return: false if there are no
 * waiters: nothing was done. */
static bool give_locked(struct skua_semaphore *semaphore, uint64_t n,
			struct wait_chain *chain)
{
	struct skua_waiters *waiters = &semaphore->waiters;
	/* Acquire: what was done before earlier releases, for a caller that gives
	 * up and releases nothing. Pairs with add(). */
	uint64_t word = atomic_load_acquire(word_of(semaphore));
	uint64_t all = permits(word) + n;

	if (!waiters->first)
		return false;
	while (waiters->first && waiters->first->amount <= all) {
		all -= waiters->first->amount;
		wait_choose_locked(waiters, waiters->first, chain);
	}
	/* Release: what the caller did before. Pairs with take(). Others may
	 * take permits from here on, but not free the semaphore: a waiter that
	 * was chosen has not returned, or waiters are left. */
	atomic_store_release(word_of(semaphore),
			     all * PERMIT | (waiters->first ? WAITERS : 0));
	return true;
}

/* ---- acquire ---------------------------------------------------------------- */

/* Say in the word that there are waiters, if the caller has to wait. Return:
 * -EAGAIN; 0: it took the permits; -ESHUTDOWN. */
static int take_or_wait_locked(struct skua_semaphore *semaphore, uint64_t n)
{
	for (;;) {
		int code = take(semaphore, n);
		uint64_t word;

		if (code != -EAGAIN)
			return code;
		/* Relaxed, both: the list lock orders the list. The
		 * compare-exchange fails when the permits changed. */
		word = atomic_load_relaxed(word_of(semaphore));
		if ((word & WAITERS) ||
		    (permits(word) < n &&
		     atomic_cas_relaxed(word_of(semaphore), &word,
					word | WAITERS)))
			return -EAGAIN;
	}
}

/* A waiter gives up. Those behind it may want fewer permits. */
static void withdraw_locked(struct skua_semaphore *semaphore,
			    struct skua_wait *wait, struct wait_chain *chain)
{
	wait_withdraw_locked(&semaphore->waiters, wait);
	if (!give_locked(semaphore, 0, chain))
		/* Relaxed: under the list lock. */
		atomic_fetch_and_relaxed(word_of(semaphore), ~WAITERS);
}

static int acquire_step(struct skua_wait *wait, void *object, bool granted,
			int give_up)
{
	struct skua_semaphore *semaphore = object;
	struct wait_chain chain = { NULL, NULL };
	int code;

	if (granted)
		return wait->code;
	if (!await_enter(&semaphore->waiters, wait, semaphore, &code))
		return code;
	code = -EAGAIN;
	if (wait_armed_locked(wait)) {
		if (give_up)
			withdraw_locked(semaphore, wait, &chain);
	} else if (give_up) {
		code = take(semaphore, wait->amount);
	} else {
		code = take_or_wait_locked(semaphore, wait->amount);
		wait->code = 0;
		if (code == -EAGAIN)
			wait_arm_locked(&semaphore->waiters, wait, false);
	}
	waiters_unlock(&semaphore->waiters);
	wait_grant(&chain);
	return code == -EAGAIN && give_up ? give_up : code;
}

/* Give the permits back, if the wait has got any. */
static void give_back(struct skua_wait *wait, void *object)
{
	if (wait->code == 0)
		skua_semaphore_release(object, wait->amount);
}

const struct wait_verb semaphore_verb = WAIT_VERB_GIVES(
	acquire_step, SEMAPHORE, skua_semaphore, WAIT_NO_HOLDER, give_back);

static int may_acquire(const struct skua_semaphore *semaphore, uint64_t n)
{
	return semaphore && n > 0 && n <= SKUA_MAX_PERMITS ? 0 : -EINVAL;
}

int skua_semaphore_acquire(struct skua_semaphore *semaphore, uint64_t n,
			   uint64_t deadline_ns)
{
	int code = may_acquire(semaphore, n);

	if (!code)
		code = await_allowed();
	if (!code)
		code = take(semaphore, n);
	else
		return code;
	return code == -EAGAIN
		       ? await(&semaphore_verb, semaphore, n, deadline_ns)
		       : code;
}

int skua_semaphore_acquire_poll(struct skua_task *self,
				struct skua_semaphore *semaphore, uint64_t n,
				struct skua_wait *wait, uint64_t deadline_ns)
{
	int code = may_acquire(semaphore, n);

	if (!code)
		code = await_may_poll(self, wait);
	if (code)
		return code;
	if (!await_armed(wait)) {
		code = take(semaphore, n);
		if (code != -EAGAIN)
			return code;
	}
	return await_poll(self, wait, &semaphore_verb, semaphore, n,
			  deadline_ns);
}

int skua_semaphore_acquire_try(struct skua_semaphore *semaphore, uint64_t n)
{
	int code = may_acquire(semaphore, n);

	return code ? code : take(semaphore, n);
}

/* ---- release ---------------------------------------------------------------- */

int skua_semaphore_init(struct skua_semaphore *semaphore, uint64_t n)
{
	if (!semaphore || n > SKUA_MAX_PERMITS)
		return -EINVAL;
	*semaphore = (struct skua_semaphore){ .word = n * PERMIT };
	return 0;
}

/* Add permits if nobody waits. Return: 0; -EAGAIN; -EOVERFLOW. */
static int add(struct skua_semaphore *semaphore, uint64_t n)
{
	/* Relaxed: the compare-exchange decides. */
	uint64_t word = atomic_load_relaxed(word_of(semaphore));

	/* Release: what the caller did before. Pairs with take(). The loop
	 * repeats when another thread changed the word. */
	do {
		if (word & WAITERS)
			return -EAGAIN;
		if (n > SKUA_MAX_PERMITS - permits(word))
			return -EOVERFLOW;
	} while (!atomic_cas_release(word_of(semaphore), &word,
				     word + n * PERMIT));
	return 0;
}

int skua_semaphore_release(struct skua_semaphore *semaphore, uint64_t n)
{
	struct wait_chain chain = { NULL, NULL };
	bool given = false;

	if (!semaphore)
		return -EINVAL;
	if (n > SKUA_MAX_PERMITS)
		return -EOVERFLOW;
	/* The loop repeats when the waiters gave up. */
	while (!given) {
		int code = add(semaphore, n);

		if (code != -EAGAIN)
			return code;
		waiters_lock(&semaphore->waiters);
		given = give_locked(semaphore, n, &chain);
		waiters_unlock(&semaphore->waiters);
	}
	wait_grant(&chain);
	return 0;
}

int skua_semaphore_close(struct skua_semaphore *semaphore)
{
	struct wait_chain chain = { NULL, NULL };
	uint64_t word;

	if (!semaphore)
		return -EINVAL;
	waiters_lock(&semaphore->waiters);
	/* Release: what the caller did before. Pairs with is_closed(). Relaxed, the
	 * second: under the list lock. */
	word = atomic_fetch_or_release(word_of(semaphore), CLOSED);
	if (!(word & CLOSED)) {
		for (struct skua_wait *wait = semaphore->waiters.first; wait;
		     wait = wait->link[0])
			wait->code = -ESHUTDOWN;
		wait_choose_all_locked(&semaphore->waiters, &chain);
		atomic_fetch_and_relaxed(word_of(semaphore), ~WAITERS);
	}
	waiters_unlock(&semaphore->waiters);
	wait_grant(&chain);
	return word & CLOSED ? -EALREADY : 0;
}

uint64_t skua_semaphore_permits(const struct skua_semaphore *semaphore)
{
	/* Relaxed: a snapshot. */
	return semaphore ? permits(atomic_load_relaxed(word_of(semaphore))) : 0;
}
