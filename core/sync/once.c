/* SPDX-License-Identifier: MIT */
/**
 * once.c - lets one caller initialise something, while others wait
 *
 *	word: NEW, DONE, or [ initialiser:61 | - | BUSY | WAITERS ]
 *
 * The initialiser is the address of a task, or of a struct wait_thread with its
 * bit. WAITERS: the list is not empty; it is set and cleared under the list
 * lock. The last access of a call that ends the initialisation is the
 * compare-exchange to DONE or NEW, or the unlock of the list if a waiter becomes
 * the initialiser (N2).
 */
#include <errno.h>

#include "core/wait/await.h"
#include "skua/sync.h"

#define NEW     UINT64_C(0)
#define DONE    SKUA_ONCE_DONE
#define WAITERS UINT64_C(1)
#define BUSY    UINT64_C(2)

static atomic_u64 *word_of(const struct skua_once *once)
{
	return (atomic_u64 *)&once->word;
}

static bool initialises(uint64_t word, uintptr_t self)
{
	return (word & ~WAITERS) == (self | BUSY);
}

bool skua_once_is_done(const struct skua_once *once)
{
	/* Acquire: what the initialisation did. Pairs with finish(). */
	return once && atomic_load_acquire(word_of(once)) == DONE;
}

/* Return: 1: the caller has become the initialiser; 0: it is initialised;
 * -EDEADLK; -EAGAIN. */
static int begin(struct skua_once *once, uintptr_t self)
{
	uint64_t word = NEW;

	/* Acquire: what an initialisation did, also one that failed. Pairs with
	 * finish(). Release: not needed. */
	if (atomic_cas_acq_rel(word_of(once), &word, self | BUSY))
		return 1;
	if (word == DONE)
		return 0;
	return initialises(word, self) ? -EDEADLK : -EAGAIN;
}

/* Say in the word that there are waiters, if the caller has to wait. */
static int begin_or_wait_locked(struct skua_once *once, uintptr_t self)
{
	for (;;) {
		int code = begin(once, self);
		uint64_t word;

		if (code != -EAGAIN)
			return code;
		/* Relaxed, both: begin() acquires. The compare-exchange fails
		 * when the initialisation ended. */
		word = atomic_load_relaxed(word_of(once));
		if ((word & BUSY) &&
		    atomic_cas_relaxed(word_of(once), &word, word | WAITERS))
			return -EAGAIN;
	}
}

static void withdraw_locked(struct skua_once *once, struct skua_wait *wait)
{
	wait_withdraw_locked(&once->waiters, wait);
	/* Relaxed: under the list lock. */
	if (!once->waiters.first)
		atomic_fetch_and_relaxed(word_of(once), ~WAITERS);
}

static int begin_step(struct skua_wait *wait, void *object, bool granted,
		      int give_up)
{
	struct skua_once *once = object;
	int code;

	if (granted)
		return wait->code;
	if (!await_enter(&once->waiters, wait, once, &code))
		return code;
	code = -EAGAIN;
	if (wait_armed_locked(wait)) {
		if (give_up)
			withdraw_locked(once, wait);
	} else if (give_up) {
		code = begin(once, wait->waiter);
	} else {
		code = begin_or_wait_locked(once, wait->waiter);
		if (code == -EAGAIN)
			wait_arm_locked(&once->waiters, wait, false);
	}
	waiters_unlock(&once->waiters);
	return code == -EAGAIN && give_up ? give_up : code;
}

static const struct wait_verb verb = WAIT_VERB(begin_step, ONCE, skua_once, 0);

#undef skua_once_begin
int skua_once_begin(struct skua_once *once, uint64_t deadline_ns)
{
	int code;

	if (skua_once_is_done(once))
		return 0;
	code = once ? await_allowed() : -EINVAL;
	if (code)
		return code;
	code = begin(once, await_self());
	return code == -EAGAIN ? await(&verb, once, 0, deadline_ns) : code;
}

int skua_once_begin_poll(struct skua_task *self, struct skua_once *once,
			 struct skua_wait *wait, uint64_t deadline_ns)
{
	int code = once ? await_may_poll(self, wait) : -EINVAL;

	if (code)
		return code;
	if (!await_armed(wait)) {
		code = begin(once, (uintptr_t)self);
		if (code != -EAGAIN)
			return code;
	}
	return await_poll(self, wait, &verb, once, 0, deadline_ns);
}

int skua_once_begin_try(struct skua_once *once)
{
	return once ? begin(once, await_self()) : -EINVAL;
}

/* Choose the waiters that proceed: all, or the first one, which becomes the
 * initialiser. Return: true if there is a new initialiser. */
static bool choose(struct skua_once *once, bool done, struct wait_chain *chain)
{
	struct skua_wait *first;
	bool passed_on;

	waiters_lock(&once->waiters);
	first = once->waiters.first;
	passed_on = first && !done;
	if (passed_on) {
		first->code = 1;
		wait_choose_locked(&once->waiters, first, chain);
		/* Relaxed: the grant tells the new initialiser what the caller
		 * did; others read nothing but that there is one. */
		atomic_store_relaxed(
			word_of(once),
			first->waiter | BUSY |
				(once->waiters.first ? WAITERS : 0));
	} else {
		for (; first; first = once->waiters.first) {
			first->code = 0;
			wait_choose_locked(&once->waiters, first, chain);
		}
		/* Relaxed: under the list lock. */
		atomic_fetch_and_relaxed(word_of(once), ~WAITERS);
	}
	waiters_unlock(&once->waiters);
	return passed_on;
}

static void finish(struct skua_once *once, uintptr_t self, bool done)
{
	struct wait_chain chain = { NULL, NULL };
	uint64_t word = self | BUSY;

	/* Release: what the initialisation did. Pairs with begin() and
	 * skua_once_is_done(). The loop repeats when waiters came. */
	while (!atomic_cas_release(word_of(once), &word, done ? DONE : NEW)) {
		if (choose(once, done, &chain))
			break;
		word = self | BUSY;
	}
	wait_grant(&chain);
}

int skua_once_end(struct skua_once *once, bool done)
{
	uintptr_t self = await_self();

	if (!once)
		return -EINVAL;
	/* Relaxed: only the caller makes this true or false. */
	if (!initialises(atomic_load_relaxed(word_of(once)), self))
		return -EPERM;
	finish(once, self, done);
	return 0;
}
