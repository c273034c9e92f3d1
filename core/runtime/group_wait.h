/* SPDX-License-Identifier: MIT */
/**
 * group_wait.h - the wait for a group: claim, arm, withdraw, end
 *
 *	free --claim--> claimed --arm--> armed --withdraw--> free
 *	                                 armed --last member--> told --end--> free
 *	                                                        told --put back--> free
 *
 * group.h describes the words. The one party that has claimed the right to wait writes the
 * waiter field, and arms its wait with the bit of its kind. It ends the wait when the last
 * member has told it, or if there is no member when it arms. A select that takes another
 * case puts the right back, even if all members have ended: the group is then as if nobody
 * had waited for it.
 */
#ifndef SKUA_CORE_RUNTIME_GROUP_WAIT_H
#define SKUA_CORE_RUNTIME_GROUP_WAIT_H

#include <errno.h>

#include "core/runtime/runtime.h"
#include "core/task/group.h"

static inline const struct skua_allocator *
group_allocator(const struct skua_group *group)
{
	return group->runtime->config.allocator;
}

static inline _Atomic(struct skua_group *) *
group_first_child(const struct skua_group *group)
{
	return (_Atomic(struct skua_group *) *)&group->first_child;
}

/* group_wait_claim - claim the right to wait. Return: false if another thread or task has
 * it. */
static inline bool group_wait_claim(struct skua_group *group)
{
	/* Acquire: the waiter field as a withdrawn wait left it. Pairs with the
	 * release in the group_wait_arm() of that wait, whose release sequence
	 * group_wait_withdraw() continued; and with the last member, which has read
	 * the field, in leave_by(), whose release sequence
	 * group_wait_put_back() continued. */
	return !(atomic_fetch_or_acquire(group_state(group), GROUP_CLAIMED) &
		 GROUP_CLAIMED);
}

/* group_wait_claim_ended - claim the right to wait for a group whose members have ended.
 * Return: 0; -EAGAIN (they have not); -EALREADY. */
static inline int group_wait_claim_ended(struct skua_group *group)
{
	/* Relaxed: a first guess, which the compare-exchange verifies. */
	uint64_t state = atomic_load_relaxed(group_state(group));

	/* Acquire: everything that the members did. Pairs with group_leave(). The
	 * loop repeats when a member or a waiter came or went. */
	do {
		if (state & GROUP_CLAIMED)
			return -EALREADY;
		if (!group_ended(state))
			return -EAGAIN;
	} while (!atomic_cas_acquire(group_state(group), &state,
				     state | GROUP_CLAIMED));
	return 0;
}

/* group_wait_arm - set the bit which tells that the waiter field is set. Return: false if
 * all members have ended: the caller ends the wait. */
static inline bool group_wait_arm(struct skua_group *group, uint64_t bit)
{
	/* Release: the waiter field. Acquire: everything that the members did.
	 * Both pair with group_leave(). */
	return !group_ended(atomic_fetch_or_acq_rel(group_state(group), bit));
}

/* group_wait_withdraw - withdraw a wait that is armed. Return: false if all members have
 * ended: then the last one wakes the waiter, or has done so. */
static inline bool group_wait_withdraw(struct skua_group *group, uint64_t bit)
{
	/* Relaxed: a first guess, which the compare-exchange verifies. */
	uint64_t state = atomic_load_relaxed(group_state(group));

	/* Relaxed: group_wait_arm() released the waiter field, and this
	 * read-modify-write continues its release sequence: the next
	 * group_wait_claim() acquires the field. The loop repeats when a member
	 * came or went. */
	do {
		if (group_ended(state))
			return false;
	} while (!atomic_cas_relaxed(group_state(group), &state,
				     state & ~(bit | GROUP_CLAIMED)));
	return true;
}

/* group_wait_told - has the last member read the waiter field? By the waiter, of a wait that
 * it has armed. */
static inline bool group_wait_told(struct skua_group *group)
{
	/* Acquire: everything that the members did. Pairs with
	 * group_leave(). */
	return atomic_load_acquire(group_state(group)) & GROUP_TOLD;
}

/* group_wait_put_back - give up a wait of which the last member has told the caller */
static inline void group_wait_put_back(struct skua_group *group, uint64_t bit)
{
	/* Relaxed: the next party that waits acquires what the members did in
	 * group_wait_claim(), group_wait_claim_ended() or group_wait_arm(), as this
	 * read-modify-write continues their release sequence. */
	atomic_fetch_and_relaxed(group_state(group),
				 ~(bit | GROUP_CLAIMED | GROUP_TOLD));
}

/**
 * group_wait_end - return the group to its first state
 *
 * All members have ended, and the caller has acquired their writes. A cancel that runs
 * meanwhile reads only the state. The group may be gone afterwards.
 *
 * Threads: the party that has claimed the right to wait. Blocks: for the lock of nested
 * groups. Frees the slots of members.
 */
void group_wait_end(struct skua_group *group);

#endif
