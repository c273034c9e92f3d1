/* SPDX-License-Identifier: MIT */
/**
 * split_deque.h - the jobs that a thread has forked and not joined yet
 *
 * A stack of pointers. The owner forks and joins at its head, which it passes
 * down in its calls; the oldest jobs are public, and thieves take the oldest of
 * these. Forking and joining a private job is inlined (skua/fork.h).
 *
 *	0          tail           split            head
 *	|  stolen  |   public       |   private      |  free
 *	+----------+----------------+----------------+------
 *
 * Split and tail are one word. A thief raises tail by a compare-exchange of the whole;
 * the owner also lowers split by one, and raises it by an addition. So each of the two
 * either sees the other's step and fails, or has it counted in, and no fence is needed.
 * To fork or join a private job takes neither: the owner looks at its own copy of
 * split, and at @wanted, by which the thief that takes the last public job asks for
 * more.
 *
 * While nothing is public nothing is private either: the first job of all is
 * made public at once. Then every job that is left has been stolen, the owner's
 * split is at the end of memory and @wanted set, so that the next fork and the
 * next join take the long way. Where there are no thieves nothing is ever public:
 * split is at the beginning of memory, and @wanted stays 0.
 *
 * The slot of a stolen job says how it is with it:
 *
 *	job --steal--> TAKEN, thief --done--> NULL
 *	  \                |
 *	   `--- sleep ---> | AWAITED: the owner sleeps until it is woken
 *
 * Invariants (checked by tests/model/model_split_deque.c):
 *   J1  tail <= split; and split <= head while anything is public
 *   J2  the slot of a stolen job is its thief's. The thief reads it behind its claim,
 *       and writes NULL there when the job is done. The owner writes it again only
 *       behind that, as it joins the job first; until then it adds AWAITED, once, and
 *       nothing else
 *   J3  each job is run once: by the owner that finds it private, or by the
 *       thief that raises tail past it
 *   J4  while nothing is public, @wanted is set, or the thief of the last public
 *       job is about to set it
 *
 * Positions come back, and with them whole words: what a thief claims by a word
 * that is old is what is public now.
 *
 * van Dijk and van de Pol, "Lace: Non-blocking Split Deque for Work-Stealing",
 * MuCoCoS 2014. There the slots hold the jobs, and the owner writes split alone,
 * between fences.
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
	/* The part that the inlined functions use: split and wanted. Writers: owner
	 * (split, wanted = 0 or 1), thieves (wanted = 1). Reader of split: owner. */
	alignas(CACHE_PAIR) struct skua_forks inlined;
	/* Nothing is public, nor private. Owner alone. */
	bool all_stolen;
	/* Constant after init. */
	atomic_ptr *slots;

	/* [split:32 | tail:32]. Writers: owner (split), thieves (tail).
	 * Readers: both. Publishes the slots before split. */
	alignas(CACHE_PAIR) atomic_u64 shared;
};

/* The result of a steal; the others are set if @outcome is success. */
struct split_deque_steal {
	enum skua_steal outcome;
	struct skua_job *job;
	atomic_ptr *slot; /* to be given to split_deque_done() */
	bool more;        /* others are public still */
};

/**
 * split_deque_init - without any job
 * @slots: @count of them, zeroed
 * @thieves: whether there will be any
 */
void split_deque_init(struct split_deque *deque, atomic_ptr *slots,
		      size_t count, bool thieves);

/* split_deque_head_owner - where the first job goes while there is none */
static inline void **split_deque_head_owner(struct split_deque *deque)
{
	return (void **)deque->slots;
}

/* split_deque_publish_owner - what is left of a fork that found @wanted set; @head is
 * past the new job. Something is public afterwards that was not before. */
void split_deque_publish_owner(struct split_deque *deque, void **head);

/* split_deque_reclaim_owner - join a job that is not private; @slot is its own. Return:
 * is it the owner's again, to be run? If not, it was stolen. */
bool split_deque_reclaim_owner(struct split_deque *deque, atomic_ptr *slot);

/* split_deque_steal - take the oldest public job, for the thief of number @thief; if
 * none is left then, ask for more */
struct split_deque_steal split_deque_steal(struct split_deque *deque,
					   unsigned thief);

/**
 * split_deque_done - a thief has run a job: its last access to it, and to the slot
 *
 * Return: does the owner sleep until then?
 */
bool split_deque_done(atomic_ptr *slot);

/* split_deque_is_done_owner - is the thief done with the job of this slot? */
static inline bool split_deque_is_done_owner(const atomic_ptr *slot)
{
	/* Acquire: all that the job wrote. Pairs with split_deque_done(). */
	return atomic_load_acquire(slot) == NULL;
}

/* split_deque_thief_owner - the number of the thief that has the job of this slot; -1
 * if that is not known yet, or any more */
int split_deque_thief_owner(const atomic_ptr *slot);

/* split_deque_await_owner - ask its thief for a wake-up; false if the job is done */
bool split_deque_await_owner(atomic_ptr *slot);

/* split_deque_visible - is anything public? After a fence, or as a hint. */
bool split_deque_visible(const struct split_deque *deque);

#endif
