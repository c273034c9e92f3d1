/* SPDX-License-Identifier: MIT */
/**
 * wait.h - a wait, the list of those that wait for an object, and a grant
 *
 *	IDLE --arm--> ARMED --choose--> CHOSEN --grant--> GRANTED --take--> IDLE
 *	              ARMED --withdraw--> IDLE
 *
 * The *waiter* is a task or a thread. The *grantor* is the thread that gives what
 * the waiter waits for. Arming, choosing and withdrawing happen under the lock
 * of the object's list, so that a wait is either chosen or withdrawn. A grantor
 * chooses waits under the lock, gives up the object, and only then grants:
 * after that, neither the waits nor the object may be accessed, because the
 * waiter may free both. WAIT.md has the rules, cited as N1 to N5, and the
 * argument.
 */
#ifndef SKUA_CORE_WAIT_WAIT_H
#define SKUA_CORE_WAIT_WAIT_H

#include <stdalign.h>

#include "core/base/atomic.h"
#include "skua/wait.h"

enum wait_phase { WAIT_IDLE, WAIT_ARMED, WAIT_CHOSEN, WAIT_GRANTED };

/* A select has a wait of its own, which is in no list, and one for each of its cases. The
 * phase of its own wait is WAIT_IDLE or WAIT_ARMED, plus WAIT_TOLD for each grantor that
 * is done with a case's wait and with the select, and that the select has not counted. */
#define WAIT_TOLD 4u

/* Bit of skua_wait.waiter: the rest is the address of a struct wait_thread, not of
 * a task. No address has it. The low bits are 0, and free for flags. */
#define WAIT_THREAD    (UINT64_C(1) << 63)
#define WAIT_FREE_BITS UINT64_C(7)

/* A thread as a waiter, and as the holder of a lock. Its address identifies it,
 * also in the child of a fork(), where the thread that forked goes on. */
struct wait_thread {
	alignas(8) uint32_t id; /* of the kernel, for tools; 0: not read yet */
	struct skua_wait *wait; /* for tools: in which it sleeps; NULL: none */
};

/* Initial-exec, like current_worker. */
extern _Thread_local struct wait_thread wait_thread
	__attribute__((visibility("hidden"), tls_model("initial-exec")));

/* wait_thread_here - return the calling thread, with its id */
struct wait_thread *wait_thread_here(void);

/* wait_by_thread - is the waiter a thread? It may have been a task: in the child of a fork()
 * in a poll, the thread goes on. */
bool wait_by_thread(const struct skua_wait *wait);

/*
 * The phase. Writers: the waiter, to IDLE and, under the list lock, to ARMED; a
 * thread with the list lock, to CHOSEN; the grantor, from CHOSEN to GRANTED,
 * which is its last access to the wait. A thread that waits sleeps on this word.
 * Of the wait of a select: the waiter; grantors only add to it.
 */
static inline atomic_u32 *wait_phase(struct skua_wait *wait)
{
	return (atomic_u32 *)&wait->phase;
}

/* wait_idle - is the wait not in use? Called by its waiter */
static inline bool wait_idle(struct skua_wait *wait)
{
	/* Relaxed: only the waiter changes that. */
	return atomic_load_relaxed(wait_phase(wait)) == WAIT_IDLE;
}

/* wait_armed_locked - is the wait, which is idle or armed, in the list? */
static inline bool wait_armed_locked(struct skua_wait *wait)
{
	/* Relaxed: under the list lock. */
	return atomic_load_relaxed(wait_phase(wait)) == WAIT_ARMED;
}

static inline atomic_u32 *waiters_word(struct skua_waiters *waiters)
{
	return (atomic_u32 *)&waiters->lock;
}

/* States of the list lock: threads sleep on it while it is CONTENDED. */
enum { WAITERS_FREE, WAITERS_HELD, WAITERS_CONTENDED };

static inline bool waiters_try_lock(atomic_u32 *word)
{
	uint32_t state = WAITERS_FREE;

	/* Acquire: what earlier holders wrote. Pairs with waiters_unlock(). */
	return atomic_cas_acquire(word, &state, WAITERS_HELD);
}

/* waiters_lock_contended - take the lock after waiters_try_lock() has failed */
void waiters_lock_contended(atomic_u32 *word);

/* waiters_wake_one - wake a sleeper; uses only the address of the word */
void waiters_wake_one(atomic_u32 *word);

/* waiters_lock, waiters_unlock - the list lock. Held for tens of nanoseconds: in
 * a wake-up of n waiters, for a few nanoseconds more each; in core/channel/, also
 * while items are copied. The unlock is the last access to the list. */
static inline void waiters_lock(struct skua_waiters *waiters)
{
	if (!waiters_try_lock(waiters_word(waiters)))
		waiters_lock_contended(waiters_word(waiters));
}

static inline void waiters_unlock(struct skua_waiters *waiters)
{
	/* Release: what the holder wrote. Pairs with waiters_try_lock() and
	 * waiters_lock_contended(). The memory may be gone afterwards. */
	if (__builtin_expect(atomic_exchange_release(waiters_word(waiters),
						     WAITERS_FREE) ==
				     WAITERS_CONTENDED,
			     false))
		waiters_wake_one(waiters_word(waiters));
}

/* The waits that a grantor has chosen, in the order in which they are granted. */
struct wait_chain {
	struct skua_wait *first, *last;
};

/**
 * wait_arm_locked - put a wait into a list
 * @first: true: before all others, not after them
 *
 * Takes a reference of a task that waits. The caller polls that task, or is the
 * thread that waits.
 */
void wait_arm_locked(struct skua_waiters *waiters, struct skua_wait *wait,
		     bool first);

/* wait_withdraw_locked - take an armed wait out of its list; by its waiter */
void wait_withdraw_locked(struct skua_waiters *waiters, struct skua_wait *wait);

/*
 * A select takes the references for the waits of all its cases in one step, and gives back
 * in one step those that are left (N4). Its own wait counts the references that no wait of a
 * case holds. By its waiter:
 */

/* wait_select_begin - take references for the waits of @cases cases */
void wait_select_begin(struct skua_wait *select, uint32_t cases);

/* wait_select_end - give back the references that no wait holds, when no wait is armed any
 * more */
void wait_select_end(struct skua_wait *select);

/* wait_move_locked - move an armed wait to the end of another list, which has the same
 * lock */
void wait_move_locked(struct skua_waiters *from, struct skua_waiters *to,
		      struct skua_wait *wait);

/* wait_choose_locked - move an armed wait from its list to a chain */
void wait_choose_locked(struct skua_waiters *waiters, struct skua_wait *wait,
			struct wait_chain *chain);

/* wait_choose_all_locked - move all waits of a list to a chain */
void wait_choose_all_locked(struct skua_waiters *waiters,
			    struct wait_chain *chain);

/* wait_grant - grant the waits of a chain, and wake their waiters (N2). The
 * caller holds no list lock. */
void wait_grant(struct wait_chain *chain);

/*
 * An object with room for one wait has no list, and no lock: a word of the object says
 * whether the wait is there. One compare-exchange of that word chooses the wait or withdraws
 * it (N7). The functions below do the rest.
 */

/* wait_arm_alone - arm a wait, and take its reference, before the word says that it is there */
void wait_arm_alone(struct skua_wait *wait);

/* wait_list_locked - put a wait that was armed alone into a list, whose lock the caller holds;
 * @first as in wait_arm_locked() */
void wait_list_locked(struct skua_waiters *waiters, struct skua_wait *wait,
		      bool first);

/* wait_withdraw_alone - undo wait_arm_alone(), when the word says that the wait is not there */
void wait_withdraw_alone(struct skua_wait *wait);

/* wait_choose_alone - add a wait to a chain, when the word says that the caller has chosen
 * it. @given: of the wait, for its step */
void wait_choose_alone(struct skua_wait *wait, uint8_t given,
		       struct wait_chain *chain);

/* wait_check_taken - in a debug build, end the program if nobody grants a wait that was taken from
 * the word of its object: then the object was freed or initialised again. A grantor that has
 * a CPU grants within some instructions. Called by the waiter, before wait_expect_grant() */
void wait_check_taken(const struct skua_wait *wait);

/* wait_expect_grant - called by the waiter if the word says that the wait was chosen: it is
 * granted in a moment, or is already */
void wait_expect_grant(struct skua_wait *wait);

#endif
