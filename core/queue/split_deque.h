/* SPDX-License-Identifier: MIT */
/**
 * split_deque.h - the jobs that a thread has forked and not joined yet
 *
 * A stack of pointers to jobs. The owner forks and joins at its head, which it
 * passes down in its calls. The oldest jobs are public, and thieves take the
 * oldest public job. The inline functions of skua/fork.h fork and join private
 * jobs.
 *
 *	0          tail           split            head
 *	|  stolen  |   public       |   private      |  free
 *	+----------+----------------+----------------+------
 *
 * Split and tail are one word. A thief raises tail by a compare-exchange of the
 * whole word. The owner lowers split by a compare-exchange, too, and raises it
 * by an addition. So each side either sees the other's step and fails, or
 * includes it, and no fence is needed. A fork or join of a private job does not
 * touch the word. The owner checks its own copy of split, and @wanted, which
 * the thief that takes the last public job sets to ask for more.
 *
 * When the last job that was not stolen is gone, the deque is in the state
 * all_stolen: the owner's split is at the end of memory, and @wanted is set, so
 * that the next fork and the next join take the slow path. That fork makes its
 * job public at once. Without thieves no job ever becomes public: split is at
 * the start of memory, and @wanted stays 0.
 *
 * The slot of a stolen job shows the state of the job:
 *
 *	job --steal--> TAKEN, thief --done--> NULL
 *	  \                |
 *	   `--- sleep ---> | AWAITED: the owner sleeps until it is woken
 *
 * Invariants (checked by tests/model/model_split_deque.c):
 *   J1  tail <= split; and split <= head while any job is public
 *   J2  the slot of a stolen job belongs to the thief. The thief reads it after
 *       its claim, and writes NULL there when the job is done. The owner writes
 *       a new job there only after that, because it joins the old job first.
 *       Until then it only adds AWAITED, once
 *   J3  each job is run once: by the owner, which finds it private or takes it
 *       back, or by the thief that raises tail past it
 *   J4  while no job is public, @wanted is set, or the thief of the last public
 *       job is about to set it
 *
 * Positions are used again, and the whole word may return to an earlier value.
 * A thief that claims by an old word claims a job that is public now.
 *
 * van Dijk and van de Pol, "Lace: Non-blocking Split Deque for Work-Stealing",
 * MuCoCoS 2014. There the slots hold the jobs themselves, and the owner writes
 * split alone, between fences.
 */
#ifndef SKUA_CORE_QUEUE_SPLIT_DEQUE_H
#define SKUA_CORE_QUEUE_SPLIT_DEQUE_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/atomic.h"
#include "skua/fork.h"
#include "skua/queue.h"

struct split_deque {
	/* The part that the inline functions use: split and wanted. Writers:
	 * owner (split; wanted = 0 or 1), thieves (wanted = 1). Reader: owner. */
	alignas(CACHE_PAIR) struct skua_forks inlined;
	/* No job is left that was not stolen. Owner only. */
	bool all_stolen;
	/* Constant after init. */
	atomic_ptr *slots;

	/* [split:32 | tail:32]. Writers: owner (split), thieves (tail).
	 * Readers: owner, thieves. Publishes the slots before split. */
	alignas(CACHE_PAIR) atomic_u64 shared;
};

/* The result of a steal; the other fields are set only if @outcome is success. */
struct split_deque_steal {
	enum skua_steal outcome;
	struct skua_job *job;
	atomic_ptr *slot; /* the thief passes it to split_deque_done() */
	bool more;        /* further jobs are still public */
};

/**
 * split_deque_init - make a deque without jobs
 * @slots: @count slots, zeroed, borrowed
 * @thieves: true if other threads will steal from it
 */
void split_deque_init(struct split_deque *deque, atomic_ptr *slots,
		      size_t count, bool thieves);

/* split_deque_head_owner - return the head of a deque without jobs */
static inline void **split_deque_head_owner(struct split_deque *deque)
{
	return (void **)deque->slots;
}

/* split_deque_publish_owner - slow path of a fork that found @wanted set; @head
 * is after the new job. Afterwards at least one more job is public. */
void split_deque_publish_owner(struct split_deque *deque, void **head);

/* split_deque_reclaim_owner - join the job of @slot, which is not private.
 * Return: true if the job was not stolen, and the caller must run it. */
bool split_deque_reclaim_owner(struct split_deque *deque, atomic_ptr *slot);

/* split_deque_steal - take the oldest public job, for thief number @thief. If
 * no public job is left then, ask the owner for more. */
struct split_deque_steal split_deque_steal(struct split_deque *deque,
					   unsigned thief);

/**
 * split_deque_done - note that a stolen job has run
 *
 * The thief must not access the job or the slot afterwards.
 *
 * Return: true if the owner has asked for a wake-up.
 */
bool split_deque_done(atomic_ptr *slot);

/* split_deque_is_done_owner - return true if the thief has run the job of this
 * slot */
static inline bool split_deque_is_done_owner(const atomic_ptr *slot)
{
	/* Acquire: all that the job wrote. Pairs with the release in
	 * split_deque_done(). */
	return atomic_load_acquire(slot) == NULL;
}

/* split_deque_thief_owner - return the number of the thief that has the job of
 * this slot; -1 if it is not known yet, or the job is done */
int split_deque_thief_owner(const atomic_ptr *slot);

/* split_deque_await_owner - ask the job's thief for a wake-up; false if the job
 * is done */
bool split_deque_await_owner(atomic_ptr *slot);

/* split_deque_visible - return true if a job is public; a hint, unless the
 * caller has fenced */
bool split_deque_visible(const struct split_deque *deque);

#endif
