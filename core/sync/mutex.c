/* SPDX-License-Identifier: MIT */
/**
 * mutex.c - mutual exclusion between tasks, fibers and threads
 *
 *	word: [ holder:61 | STARVING | WOKEN | WAITERS ]
 *
 * The holder is the address of a task, or of a struct wait_thread with its bit;
 * 0: the mutex is free. WAITERS: the list of waiters is not empty. It may be set
 * in a free mutex, which any caller takes (barging): a mutex that is handed over
 * at each unlock stands still until the next holder runs.
 *
 * An unlock wakes the first waiter and sets WOKEN. The woken waiter clears it,
 * and tries to take the mutex. Until then, further unlocks wake nobody. If the
 * waiter finds the mutex held, it waits again, before all others. If it has
 * waited for STARVING_NS by then, it sets STARVING. While this bit is set, an
 * unlock hands the mutex to the first waiter (the rule of Go's sync.Mutex).
 *
 * Transitions: lock and unlock are one compare-exchange while there are no
 * waiters, or a woken one is on its way: a worker that locks a mutex again and
 * again finds a woken waiter most of the time. All others happen under the list
 * lock, except that the last step of an unlock that does not hand over is a
 * compare-exchange outside it (N2): another thread may then take the mutex,
 * unlock it and free it.
 *
 * Invariants:
 *   M1  WAITERS, WOKEN and STARVING change only under the list lock, or by the
 *       compare-exchange that takes or frees the mutex
 *   M2  whenever no thread holds the list lock: the list is empty if and only if
 *       WAITERS is clear
 *   M3  a free mutex with WAITERS has WOKEN: a waiter is on its way to take it,
 *       or to wake another one through the mutex's holder
 *   M4  a mutex with STARVING is held, and has WAITERS, but not WOKEN: the waiter
 *       that sets STARVING was the woken one
 */
#include "core/sync/mutex.h"

#include <assert.h>
#include <errno.h>

#include "core/base/clock.h"
#include "core/base/hot.h"
#include "core/sync/verbs.h"

#define WAITERS  UINT64_C(1)
#define WOKEN    UINT64_C(2)
#define STARVING UINT64_C(4)
#define FLAGS    WAIT_FREE_BITS

/* For how long a waiter may lose the mutex to others before it is handed over. */
#ifndef STARVING_NS
#define STARVING_NS 1000000u
#endif

/* How often a lock looks at a held mutex before it waits: less than 1 us. A guess, which the
 * workload mutex_contended retunes. Rejected: fewer looks, after 1, 2, 4 and 8 pauses, or none.
 * An operation of mutex_contended then took 10.5 ns on two workers, as on one, instead of 12 to
 * 24 ns. But two fibers that hold the mutex for 200 ns, and leave it for 200 ns, took 460 ns for
 * an operation instead of 300 ns: a fiber that stops looking is woken on the worker of the other
 * fiber, which has the mutex to itself until another worker steals the woken one, 100 us later.
 * Where looks are quicker, because the cache line comes sooner, 16 looks are too few for such
 * holds, too: 475 ns. */
#ifndef SPINS
#define SPINS 16
#endif

_Static_assert(WAIT_FREE_BITS == (WAITERS | WOKEN | STARVING), "the low bits");

static atomic_u64 *word_of(struct skua_mutex *mutex)
{
	return (atomic_u64 *)&mutex->word;
}

static uint64_t holder(uint64_t word)
{
	return word & ~FLAGS;
}

/* Take the mutex if it is free. */
static bool take(struct skua_mutex *mutex, uint64_t self)
{
	/* Relaxed: the compare-exchange decides. Rejected: to guess 0 instead of
	 * loading the word. While a waiter is on its way, the wrong guess costs 5 ns;
	 * without waiters, the load costs nothing. */
	uint64_t word = atomic_load_relaxed(word_of(mutex));

	/* Acquire: what earlier holders wrote. Pairs with the releases in
	 * skua_mutex_unlock() and mutex_unlock(). The loop repeats when another
	 * thread changed the word. */
	while (!holder(word)) {
		if (atomic_cas_acquire(word_of(mutex), &word, self | word))
			return true;
	}
	return false;
}

/* The holder may unlock on another CPU before the caller could have slept and
 * been woken. If others wait already, the caller would be no faster. */
static bool take_soon(struct skua_mutex *mutex, uint64_t self)
{
	for (int i = 0; i < SPINS; i++) {
		/* Relaxed: take() decides. */
		uint64_t word = atomic_load_relaxed(word_of(mutex));

		if (!holder(word) && take(mutex, self))
			return true;
		if ((word & FLAGS) || holder(word) == self)
			return false;
		cpu_relax();
	}
	return false;
}

/* ---- lock ------------------------------------------------------------------- */

static bool starves(const struct skua_wait *wait)
{
	return clock_now_ns() - wait->since_ns >= STARVING_NS;
}

/* Take the mutex, or note in its word that there are waiters. @woken: an unlock
 * has woken the caller. Return: did the caller take it? */
static bool contend_locked(struct skua_mutex *mutex, struct skua_wait *wait,
			   bool woken, bool arms)
{
	uint64_t clears = woken ? WOKEN : 0;
	uint64_t sets = arms ? WAITERS : 0;
	/* Relaxed: the compare-exchange decides. */
	uint64_t word = atomic_load_relaxed(word_of(mutex));
	uint64_t next;

	if (woken && arms && starves(wait))
		sets |= STARVING;
	/* Acquire: as in take(). The loop repeats when another thread took or
	 * freed the mutex. */
	do {
		next = word & ~clears;
		next |= holder(word) ? sets : wait->waiter;
	} while (!atomic_cas_acquire(word_of(mutex), &word, next));
	return !holder(word);
}

static void withdraw_locked(struct skua_mutex *mutex, struct skua_wait *wait)
{
	wait_withdraw_locked(&mutex->waiters, wait);
	/* Relaxed: without waiters the bits mean nothing (M2). */
	if (!mutex->waiters.first)
		atomic_fetch_and_relaxed(word_of(mutex), ~(WAITERS | STARVING));
}

int mutex_step(struct skua_wait *wait, void *object, bool granted, int give_up)
{
	struct skua_mutex *mutex = object;
	bool armed;
	int code;

	if (granted && wait->given)
		return 0; /* handed over */
	if (!await_enter(&mutex->waiters, wait, mutex, &code))
		return code;
	armed = wait_armed_locked(wait);
	if (armed && give_up) {
		withdraw_locked(mutex, wait);
		code = give_up;
	} else if (armed) {
		code = -EAGAIN;
	} else if (contend_locked(mutex, wait, granted, !give_up)) {
		code = 0;
	} else if (give_up) {
		code = give_up; /* the holder wakes the next one (M3) */
	} else {
		if (!granted)
			wait->since_ns = clock_now_ns();
		wait_arm_locked(&mutex->waiters, wait, granted);
		code = -EAGAIN;
	}
	waiters_unlock(&mutex->waiters);
	return code;
}

/* The caller was woken, or is the holder: either way another waiter comes next. */
static void wake_next(struct skua_wait *wait, void *object)
{
	if (mutex_step(wait, object, true, -ECANCELED) == 0)
		mutex_unlock(object, wait->waiter);
}

const struct wait_verb mutex_verb =
	WAIT_VERB_GIVES(mutex_step, MUTEX, skua_mutex, 0, wake_next);

bool mutex_held_by(struct skua_mutex *mutex, uintptr_t waiter)
{
	/* Relaxed: only @waiter itself makes this true or false. */
	return holder(atomic_load_relaxed(word_of(mutex))) == waiter;
}

static __attribute__((noinline)) int lock_slowly(struct skua_mutex *mutex,
						 uint64_t deadline_ns)
{
	int code = mutex ? await_allowed() : -EINVAL;
	uintptr_t self;

	if (code)
		return code;
	self = await_self();
	if (take(mutex, self))
		return 0;
	if (mutex_held_by(mutex, self))
		return -EDEADLK;
	if (take_soon(mutex, self))
		return 0;
	return await(&mutex_verb, mutex, 0, deadline_ns);
}

HOT int skua_mutex_lock(struct skua_mutex *mutex, uint64_t deadline_ns)
{
	/* A path that calls no function, and so saves no registers. */
	uintptr_t self = await_self_as_fiber();

	if (mutex && self && take(mutex, self))
		return 0;
	return lock_slowly(mutex, deadline_ns);
}

int skua_mutex_lock_poll(struct skua_task *self, struct skua_mutex *mutex,
			 struct skua_wait *wait, uint64_t deadline_ns)
{
	int code = mutex ? await_may_poll(self, wait) : -EINVAL;

	if (code)
		return code;
	if (!await_armed(wait)) {
		if (take(mutex, (uintptr_t)self))
			return 0;
		if (mutex_held_by(mutex, (uintptr_t)self))
			return -EDEADLK;
	}
	return await_poll(self, wait, &mutex_verb, mutex, 0, deadline_ns);
}

int skua_mutex_lock_try(struct skua_mutex *mutex)
{
	uintptr_t self = await_self();

	if (!mutex)
		return -EINVAL;
	if (take(mutex, self))
		return 0;
	return mutex_held_by(mutex, self) ? -EDEADLK : -EAGAIN;
}

/* ---- unlock ----------------------------------------------------------------- */

/* Make the first waiter the holder (M4). */
static void hand_over_locked(struct skua_mutex *mutex, struct wait_chain *chain)
{
	struct skua_wait *wait = mutex->waiters.first;
	uint64_t word = wait->waiter;

	wait->given = true;
	wait_choose_locked(&mutex->waiters, wait, chain);
	if (mutex->waiters.first)
		word |= WAITERS;
	if (mutex->waiters.first && starves(mutex->waiters.first))
		word |= STARVING;
	/* Relaxed: the grant tells the new holder what the caller wrote; it tells
	 * later ones by its unlock. */
	atomic_store_relaxed(word_of(mutex), word);
}

/* Choose the waiter to wake. */
static void wake_locked(struct skua_mutex *mutex, struct wait_chain *chain)
{
	wait_choose_locked(&mutex->waiters, mutex->waiters.first, chain);
	/* Relaxed, both: M1. */
	atomic_fetch_or_relaxed(word_of(mutex), WOKEN);
	if (!mutex->waiters.first)
		atomic_fetch_and_relaxed(word_of(mutex), ~WAITERS);
}

/* Choose what becomes of the waiters, before the mutex is unlocked. Return:
 * true if the mutex is handed over, and no longer the caller's. */
static bool choose(struct skua_mutex *mutex, struct wait_chain *chain)
{
	bool handed = false;

	waiters_lock(&mutex->waiters);
	if (mutex->waiters.first) {
		/* Relaxed: M1. */
		handed = atomic_load_relaxed(word_of(mutex)) & STARVING;
		if (handed)
			hand_over_locked(mutex, chain);
		else
			wake_locked(mutex, chain);
	}
	waiters_unlock(&mutex->waiters);
	return handed;
}

/* Must the holder choose a waiter before it frees the mutex? (M3, M4) */
static bool has_to_choose(uint64_t word)
{
	return (word & (WAITERS | WOKEN)) == WAITERS;
}

HOT void mutex_unlock(struct skua_mutex *mutex, uintptr_t self)
{
	struct wait_chain chain = { NULL, NULL };
	/* Relaxed: the compare-exchange decides. */
	uint64_t word = atomic_load_relaxed(word_of(mutex));

	(void)self;
	/* The loop repeats when a waiter came, left or was chosen. */
	for (;;) {
		assert(holder(word) == self);
		if (has_to_choose(word)) {
			if (choose(mutex, &chain))
				break;
			word = atomic_load_relaxed(word_of(mutex));
		} else if (atomic_cas_release(word_of(mutex), &word,
					      word & FLAGS)) {
			/* Release: what the holder wrote. Pairs with take() and
			 * contend_locked(). The mutex may be gone (N2). */
			break;
		}
	}
	wait_grant(&chain);
}

static __attribute__((noinline)) int unlock_slowly(struct skua_mutex *mutex)
{
	uintptr_t self = await_self();

	if (!mutex)
		return -EINVAL;
	if (!mutex_held_by(mutex, self))
		return -EPERM;
	mutex_unlock(mutex, self);
	return 0;
}

HOT int skua_mutex_unlock(struct skua_mutex *mutex)
{
	uintptr_t self = await_self_as_task(); /* no call: as above */
	uint64_t word, flags;

	if (!mutex || !self)
		return unlock_slowly(mutex);
	/* Relaxed: the compare-exchange decides. */
	word = atomic_load_relaxed(word_of(mutex));
	flags = word ^ self; /* more than FLAGS: the caller is not the holder */
	/* Release: as in mutex_unlock(). */
	if (flags <= FLAGS && !has_to_choose(flags) &&
	    atomic_cas_release(word_of(mutex), &word, flags))
		return 0;
	return unlock_slowly(mutex);
}

int skua_mutex_destroy(struct skua_mutex *mutex)
{
	if (!mutex)
		return -EINVAL;
	/* Acquire: what the last holder wrote, for the thread that frees it. */
	return atomic_load_acquire(word_of(mutex)) ? -EBUSY : 0;
}
