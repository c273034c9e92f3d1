/* SPDX-License-Identifier: MIT */
/**
 * pi_lock.h - a lock whose holder inherits the priority of the threads that wait
 *
 *	free --take, try---> held ---------release---> free
 *	held ----take----> held, awaited --release---> held by the first waiter
 *
 * The word is the one that the kernel defines for FUTEX_LOCK_PI: 0, or the
 * holder's thread id, with FUTEX_WAITERS if threads wait. A release hands the
 * lock to the waiting thread of the highest priority. So a thread that takes
 * the lock again and again locks no other thread out.
 *
 * Rejected: a pthread mutex with PTHREAD_PRIO_INHERIT, which has the same word.
 * It also keeps a list of the locks that a thread holds, and adding and
 * cancelling a timer took 1.2 times as long.
 */
#ifndef SKUA_CORE_OS_PI_LOCK_H
#define SKUA_CORE_OS_PI_LOCK_H

#include "core/base/atomic.h"

struct pi_lock {
	/* 0: free. Otherwise the holder's thread id; FUTEX_WAITERS: threads
	 * wait. Writers: the thread that takes or releases the lock; the
	 * kernel, for waiters. */
	atomic_u32 word;
};

static inline void pi_lock_init(struct pi_lock *lock)
{
	atomic_init(&lock->word, 0);
}

#ifdef SKUA_EXPLORE

/* The explorer's mutex uses the first word only. */
#define pi_lock_take(lock)                            \
	explore_mutex_lock((pthread_mutex_t *)(lock), \
			   EXPLORE_SITE("pi_lock_take"))
#define pi_lock_try(lock)                                 \
	(explore_mutex_trylock((pthread_mutex_t *)(lock), \
			       EXPLORE_SITE("pi_lock_try")) == 0)
#define pi_lock_read_thread() ((void)0)
#define pi_lock_release(lock)                           \
	explore_mutex_unlock((pthread_mutex_t *)(lock), \
			     EXPLORE_SITE("pi_lock_release"))

#else

#include "core/os/process_generation.h"

/* The calling thread's id, and the generation of the process that it is valid
 * in: a forked child has a copy. */
struct pi_lock_thread {
	uint32_t generation;
	uint32_t id;
};

extern _Thread_local struct pi_lock_thread pi_lock_thread
	__attribute__((visibility("hidden"), tls_model("initial-exec")));

/* Slow paths. A worker calls the first one before it polls a task. */
void pi_lock_read_thread(void);
void pi_lock_await(struct pi_lock *lock);
void pi_lock_hand_over(struct pi_lock *lock);

/* pi_lock_try - take the lock if it is free. Return: did the caller take it? */
static inline bool pi_lock_try(struct pi_lock *lock)
{
	uint32_t free = 0;

	/* A process with a runtime has a generation other than 0. */
	if (pi_lock_thread.generation != process_generation())
		pi_lock_read_thread();
	/* Acquire: what earlier holders wrote. Pairs with pi_lock_release(). */
	return atomic_cas_acquire(&lock->word, &free, pi_lock_thread.id);
}

/* pi_lock_take - take the lock; sleep while another thread holds it */
static inline void pi_lock_take(struct pi_lock *lock)
{
	if (!pi_lock_try(lock))
		pi_lock_await(lock);
}

/* pi_lock_release - release the lock, by its holder */
static inline void pi_lock_release(struct pi_lock *lock)
{
	uint32_t held = pi_lock_thread.id;

	/* Release: what the holder wrote. Pairs with pi_lock_try(). Fails if
	 * threads wait. */
	if (!atomic_cas_release(&lock->word, &held, 0))
		pi_lock_hand_over(lock);
}

#endif
#endif
