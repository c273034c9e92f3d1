/* SPDX-License-Identifier: MIT */
/**
 * rwlock.c - many readers, or one writer
 *
 *	word: [ readers:62 | WRITER | WAITERS ]
 *
 * WAITERS: the list is not empty, and only an unlock admits further holders.
 * Locks and unlocks without waiters are one compare-exchange, as are unlocks of
 * readers that are not the last one. All others happen under the list lock. The
 * unlock that frees a lock with waiters admits the first writer, or all readers
 * before the first writer: it writes down that they hold the lock, and grants
 * only then. So the lock is never free while tasks wait for it.
 *
 * Invariants: L1: WAITERS is set and cleared under the list lock. Whenever no
 * thread holds it, WAITERS is set if and only if the list is not empty. L2:
 * while it is set, the only change outside the list lock is that a reader that
 * is not the last one leaves.
 */
#include <errno.h>

#include "core/base/hot.h"
#include "core/sync/verbs.h"
#include "skua/sync.h"

#define WAITERS UINT64_C(1)
#define WRITER  UINT64_C(2)
#define READER  UINT64_C(4)

/* Amounts of a wait. */
enum { READS, WRITES };

static atomic_u64 *word_of(const struct skua_rwlock *lock)
{
	return (atomic_u64 *)&lock->word;
}

/* The writer, as a waiter; 0: none. Writers: the writer; the thread that admits
 * it, under the list lock. Readers: any; only the writer itself finds itself
 * there. */
static atomic_u64 *writer_of(const struct skua_rwlock *lock)
{
	return (atomic_u64 *)&lock->writer;
}

static bool writes(const struct skua_rwlock *lock, uintptr_t self)
{
	/* Relaxed: only @self makes this true or false. */
	return atomic_load_relaxed(writer_of(lock)) == self;
}

static uint64_t readers(uint64_t word)
{
	return word / READER;
}

/* ---- lock ------------------------------------------------------------------- */

static bool take_read(struct skua_rwlock *lock)
{
	/* Relaxed: the compare-exchange decides. Rejected: to guess 0 instead of
	 * loading the word. While others read, the wrong guess costs 5 ns; without
	 * them, the load costs nothing. */
	uint64_t word = atomic_load_relaxed(word_of(lock));

	/* Acquire: what the last writer did. Pairs with the releases in
	 * leave() and admit_locked(). The loop repeats when another thread
	 * changed the word. */
	do {
		if (word & (WRITER | WAITERS))
			return false;
	} while (!atomic_cas_acquire(word_of(lock), &word, word + READER));
	return true;
}

static bool take_write(struct skua_rwlock *lock, uintptr_t self)
{
	uint64_t word = 0;

	/* Acquire: what all earlier holders did; as in take_read(). */
	if (!atomic_cas_acquire(word_of(lock), &word, WRITER))
		return false;
	/* Relaxed: see writer_of(). */
	atomic_store_relaxed(writer_of(lock), self);
	return true;
}

static bool take(struct skua_rwlock *lock, uint64_t how, uintptr_t self)
{
	return how == READS ? take_read(lock) : take_write(lock, self);
}

/* Must a caller wait that does not find other waiters? */
static bool excludes(uint64_t word, uint64_t how)
{
	return (word & WRITER) || (how == WRITES && readers(word) > 0);
}

/* Take the lock, or say in its word that there are waiters. Return: did the
 * caller take it? */
static bool take_or_wait_locked(struct skua_rwlock *lock,
				const struct skua_wait *wait)
{
	uint64_t word;

	for (;;) {
		if (take(lock, wait->amount, wait->waiter))
			return true;
		/* Relaxed, both: the list lock orders the list. The
		 * compare-exchange fails when a holder came or left. */
		word = atomic_load_relaxed(word_of(lock));
		if ((word & WAITERS) ||
		    (excludes(word, wait->amount) &&
		     atomic_cas_relaxed(word_of(lock), &word, word | WAITERS)))
			return false;
	}
}

/* ---- admission ------------------------------------------------------------ */

/*
 * Admit the waiters that come next, if there are any: the first writer if nobody
 * else holds the lock, or all readers before the first writer.
 * @word: the word, without the holder that leaves
 * @change: what leaving changes in the word
 */
static void admit_locked(struct skua_rwlock *lock, uint64_t word,
			 uint64_t change, struct wait_chain *chain)
{
	struct skua_waiters *waiters = &lock->waiters;
	struct skua_wait *first = waiters->first;

	if (first && first->amount == WRITES && !excludes(word, WRITES)) {
		/* Relaxed: see writer_of(). */
		atomic_store_relaxed(writer_of(lock), first->waiter);
		wait_choose_locked(waiters, first, chain);
		word |= WRITER;
		change += WRITER;
	}
	while ((first = waiters->first) && first->amount == READS &&
	       !excludes(word, READS)) {
		wait_choose_locked(waiters, first, chain);
		change += READER;
	}
	/* Release: what the holder that leaves did. Acquire: what readers did
	 * that left before. Pairs with leave(), take_read() and take_write(),
	 * by way of later holders. Relaxed, the second: under the list lock. */
	atomic_fetch_add_acq_rel(word_of(lock), change);
	if (!waiters->first)
		atomic_fetch_and_relaxed(word_of(lock), ~WAITERS);
}

/* Leave the lock, if no waiter has to be admitted. Return: true if the caller has
 * left; the lock may be gone then. */
static HOT bool leave(struct skua_rwlock *lock, uint64_t holds,
		      uint64_t becomes)
{
	/* Relaxed: the compare-exchange decides. */
	uint64_t word = atomic_load_relaxed(word_of(lock));

	/* Release: what the holder did. Pairs with take_read(), take_write() and
	 * admit_locked(), also by way of the readers that leave later: each is a
	 * read-modify-write. The loop repeats when another thread changed the
	 * word. */
	do {
		if ((word & WAITERS) && (holds != READER || readers(word) == 1))
			return false;
	} while (!atomic_cas_release(word_of(lock), &word,
				     word - holds + becomes));
	return true;
}

/* Leave a lock with waiters, and admit those that come next. */
static void leave_locked(struct skua_rwlock *lock, uint64_t holds,
			 uint64_t becomes, struct wait_chain *chain)
{
	/* Further readers may have been admitted since the caller saw that it
	 * is the last one. Then it is not. */
	if (leave(lock, holds, becomes))
		return;
	/* Relaxed: the caller is the only holder, and has seen it: from now on
	 * only it can change the word (L2). */
	admit_locked(lock, atomic_load_relaxed(word_of(lock)) - holds + becomes,
		     becomes - holds, chain);
}

static __attribute__((noinline)) void unlock(struct skua_rwlock *lock,
					     uint64_t holds, uint64_t becomes)
{
	struct wait_chain chain = { NULL, NULL };
	bool left = false;

	/* The loop repeats when the waiters gave up. */
	while (!left && !leave(lock, holds, becomes)) {
		waiters_lock(&lock->waiters);
		left = lock->waiters.first != NULL;
		if (left)
			leave_locked(lock, holds, becomes, &chain);
		waiters_unlock(&lock->waiters);
	}
	wait_grant(&chain);
}

static int write_unlock(struct skua_rwlock *lock, uint64_t becomes)
{
	if (!lock)
		return -EINVAL;
	if (!writes(lock, await_self()))
		return -EPERM;
	/* Relaxed: see writer_of(). */
	atomic_store_relaxed(writer_of(lock), 0);
	unlock(lock, WRITER, becomes);
	return 0;
}

int skua_rwlock_write_unlock(struct skua_rwlock *lock)
{
	return write_unlock(lock, 0);
}

int skua_rwlock_downgrade(struct skua_rwlock *lock)
{
	return write_unlock(lock, READER);
}

int skua_rwlock_read_unlock(struct skua_rwlock *lock)
{
	uint64_t word;

	if (!lock)
		return -EINVAL;
	/* Relaxed: the compare-exchange decides. A reader sees at least itself. */
	word = atomic_load_relaxed(word_of(lock));
	if (readers(word) == 0)
		return -EPERM;
	/* Release: as in leave(). */
	if (!(word & WAITERS) &&
	    atomic_cas_release(word_of(lock), &word, word - READER))
		return 0;
	unlock(lock, READER, 0);
	return 0;
}

/* ---- waits ------------------------------------------------------------------ */

static int lock_step(struct skua_wait *wait, void *object, bool granted,
		     int give_up)
{
	struct skua_rwlock *lock = object;
	struct wait_chain chain = { NULL, NULL };
	int code;

	if (granted)
		return 0;
	if (!await_enter(&lock->waiters, wait, lock, &code))
		return code;
	code = give_up ? give_up : -EAGAIN;
	if (wait_armed_locked(wait)) {
		if (give_up) {
			wait_withdraw_locked(&lock->waiters, wait);
			/* Readers behind a writer may come next. Relaxed: the
			 * last holder needs the list lock to leave (L2). */
			admit_locked(lock, atomic_load_relaxed(word_of(lock)),
				     0, &chain);
		}
	} else if (give_up ? take(lock, wait->amount, wait->waiter)
			   : take_or_wait_locked(lock, wait)) {
		code = 0;
	} else if (!give_up) {
		wait_arm_locked(&lock->waiters, wait, false);
	}
	waiters_unlock(&lock->waiters);
	wait_grant(&chain);
	return code;
}

/* Leave the lock, which an unlock has admitted the wait to. */
static void give_back(struct skua_wait *wait, void *object)
{
	struct skua_rwlock *lock = object;

	if (wait->amount == READS) {
		unlock(lock, READER, 0);
		return;
	}
	/* Relaxed: see writer_of(). */
	atomic_store_relaxed(writer_of(lock), 0);
	unlock(lock, WRITER, 0);
}

const struct wait_verb rwlock_read_verb =
	WAIT_VERB_GIVES(lock_step, READ, skua_rwlock,
			offsetof(struct skua_rwlock, writer), give_back);
const struct wait_verb rwlock_write_verb =
	WAIT_VERB_GIVES(lock_step, WRITE, skua_rwlock,
			offsetof(struct skua_rwlock, writer), give_back);

static const struct wait_verb *verb_of(uint64_t how)
{
	return how == READS ? &rwlock_read_verb : &rwlock_write_verb;
}

static __attribute__((noinline)) int
lock_by_call(struct skua_rwlock *lock, uint64_t how, uint64_t deadline_ns)
{
	int code = lock ? await_allowed() : -EINVAL;
	uintptr_t self;

	if (code)
		return code;
	self = await_self();
	if (take(lock, how, self))
		return 0;
	if (writes(lock, self))
		return -EDEADLK;
	return await(verb_of(how), lock, how, deadline_ns);
}

static int lock_poll(struct skua_task *self, struct skua_rwlock *lock,
		     struct skua_wait *wait, uint64_t how, uint64_t deadline_ns)
{
	int code = lock ? await_may_poll(self, wait) : -EINVAL;

	if (code)
		return code;
	if (!await_armed(wait)) {
		if (take(lock, how, (uintptr_t)self))
			return 0;
		if (writes(lock, (uintptr_t)self))
			return -EDEADLK;
	}
	return await_poll(self, wait, verb_of(how), lock, how, deadline_ns);
}

static int lock_try(struct skua_rwlock *lock, uint64_t how)
{
	uintptr_t self = await_self();

	if (!lock)
		return -EINVAL;
	if (take(lock, how, self))
		return 0;
	return writes(lock, self) ? -EDEADLK : -EAGAIN;
}

int skua_rwlock_read(struct skua_rwlock *lock, uint64_t deadline_ns)
{
	/* A path without a call of a function. */
	if (lock && await_self_as_fiber() && take_read(lock))
		return 0;
	return lock_by_call(lock, READS, deadline_ns);
}

int skua_rwlock_read_poll(struct skua_task *self, struct skua_rwlock *lock,
			  struct skua_wait *wait, uint64_t deadline_ns)
{
	return lock_poll(self, lock, wait, READS, deadline_ns);
}

int skua_rwlock_read_try(struct skua_rwlock *lock)
{
	return lock_try(lock, READS);
}

int skua_rwlock_write(struct skua_rwlock *lock, uint64_t deadline_ns)
{
	return lock_by_call(lock, WRITES, deadline_ns);
}

int skua_rwlock_write_poll(struct skua_task *self, struct skua_rwlock *lock,
			   struct skua_wait *wait, uint64_t deadline_ns)
{
	return lock_poll(self, lock, wait, WRITES, deadline_ns);
}

int skua_rwlock_write_try(struct skua_rwlock *lock)
{
	return lock_try(lock, WRITES);
}

int skua_rwlock_destroy(struct skua_rwlock *lock)
{
	if (!lock)
		return -EINVAL;
	/* Acquire: what the last holder did, for the thread that frees it. */
	return atomic_load_acquire(word_of(lock)) ? -EBUSY : 0;
}
