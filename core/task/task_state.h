/* SPDX-License-Identifier: MIT */
/**
 * task_state.h - the state word of a task and its transitions
 *
 *	[ references:48 | bits:16 ]
 *
 *	      spawn                 complete
 *	IDLE -------> ACTIVE --------------------> COMPLETE
 *	 ^            ^    |                           |
 *	 |      woken |    | to_waiting                |
 *	 |            WAITING                          |
 *	 '----------- ended, or joined at once --------'
 *
 * A task that is ACTIVE or SCHEDULED is in a queue or being polled: neither the
 * begin of a poll nor a yield changes that. SCHEDULED asks for a poll
 * that has yet to begin: a thread that wakes the task sets it, and the poll that is due
 * clears it; if it comes during a poll that ends as pending, the task is queued. IDLE
 * and WAITING have none of the bits; a WAITING task has references. The thread that
 * makes a WAITING task ACTIVE (a wake by value) or SCHEDULED (any other, and a cancel)
 * queues it, and no other does, so that a task is in one queue at most.
 *
 * *References* are what may still touch the task: two for the scheduler, from
 * spawn to COMPLETE, and one for each waker. The second of the scheduler's is
 * *spare*: a poll may give it away, as a waker, without an operation on the
 * word. It is made up for in the operation that ends the poll, or, if that is a
 * yield, which needs none, in one of its own. The task has
 * ended when it is COMPLETE and the last reference is gone; the thread that drops that
 * one acts for its end, and touches the task no more. Its end belongs to one party:
 *
 *	CLAIMED    somebody has the right to join or detach, nobody else
 *	one of TASK_END_MASK  the task's end field is set, and says what to do
 *
 * The claim comes first, then the field is written, then its bit says so. If
 * the bit comes after the end, the thread that sets it finds the task ended, and acts
 * itself.
 *
 * A join can be withdrawn: its bit and its claim go, and WITHDRAWN stays until the
 * task is IDLE. Then the end field may change while the last reference is dropped,
 * and the same bits may be there again with another field. So the thread that drops the
 * last reference of such a task does it in two steps: with the first the task is
 * COMPLETE and ENDING, and keeps a reference: from then on no join is withdrawn, and
 * the field stays as it is; the second drops that reference.
 */
#ifndef SKUA_CORE_TASK_TASK_STATE_H
#define SKUA_CORE_TASK_TASK_STATE_H

#include <assert.h>
#include <errno.h>

#include "core/base/atomic.h"

#define TASK_IDLE       UINT64_C(0)
#define TASK_SCHEDULED  (UINT64_C(1) << 0)
#define TASK_ACTIVE     (UINT64_C(1) << 1)
#define TASK_COMPLETE   (UINT64_C(1) << 2)
#define TASK_CLAIMED    (UINT64_C(1) << 3)
#define TASK_END_THREAD (UINT64_C(1) << 4) /* a thread joins: wake it */
#define TASK_END_TASK   (UINT64_C(1) << 5) /* a task joins: wake it */
#define TASK_END_DETACH (UINT64_C(1) << 6) /* call the release function */
#define TASK_END_GROUP  (UINT64_C(1) << 7) /* tell the group */
#define TASK_CANCELLED  (UINT64_C(1) << 8)
#define TASK_WITHDRAWN  (UINT64_C(1) << 9)  /* a join of it was given up */
#define TASK_ENDING     (UINT64_C(1) << 10) /* its end is being told */
#define TASK_REFERENCE  (UINT64_C(1) << 16)

#define TASK_END_MASK \
	(TASK_END_THREAD | TASK_END_TASK | TASK_END_DETACH | TASK_END_GROUP)

static inline uint64_t task_state_references(uint64_t state)
{
	return state / TASK_REFERENCE;
}

static inline bool task_state_ended(uint64_t state)
{
	return (state & TASK_COMPLETE) && task_state_references(state) == 0;
}

/* task_state_spawned - spawned, and its end not yet taken note of? */
static inline bool task_state_spawned(uint64_t state)
{
	return (state & TASK_COMPLETE) || task_state_references(state) != 0;
}

/* The references of a task that is spawned: the scheduler's own, and the spare one. */
#define TASK_SPAWN_REFERENCES UINT64_C(2)

/**
 * task_state_transition_to_spawned - IDLE to ACTIVE
 *
 * Return: 0, or -EALREADY. No read-modify-write: until a task is spawned it
 * belongs to its spawner alone.
 */
static inline int task_state_transition_to_spawned(atomic_u64 *state)
{
	/* Relaxed: the caller owns the task; the queue publishes it. */
	uint64_t old = atomic_load_relaxed(state);

	if (task_state_spawned(old))
		return -EALREADY;
	atomic_store_relaxed(state,
			     (old | TASK_ACTIVE) +
				     TASK_SPAWN_REFERENCES * TASK_REFERENCE);
	return 0;
}

/* task_state_transition_to_unspawned - the spawn was refused after all */
static inline void task_state_transition_to_unspawned(atomic_u64 *state)
{
	/* Relaxed: nobody else knows the task yet. */
	uint64_t old = atomic_load_relaxed(state);

	atomic_store_relaxed(state,
			     (old & ~TASK_ACTIVE) -
				     TASK_SPAWN_REFERENCES * TASK_REFERENCE);
}

/* task_state_transition_to_running - by the worker that took it from a queue:
 * it is ACTIVE, and SCHEDULED no more */
static inline void task_state_transition_to_running(atomic_u64 *state)
{
	/* Relaxed: the queue handed on what its pusher knew; and a thread that sets
	 * SCHEDULED later asks for another poll. */
	uint64_t old = atomic_load_relaxed(state);

	assert(old & (TASK_SCHEDULED | TASK_ACTIVE));
	if (!(old & TASK_SCHEDULED))
		return; /* spawned, or has yielded, and nobody woke it since */
	/*
	 * Acquire: what a waker wrote before it found the task in a queue
	 * already, and so did not queue it. Pairs with the releases in
	 * task_state_transition_to_woken() and its like. Release: wakers
	 * rely on nothing that it publishes; an acquire would do, and costs
	 * the same.
	 */
	atomic_fetch_xor_acq_rel(state, TASK_SCHEDULED | (~old & TASK_ACTIVE));
}

/**
 * task_state_transition_to_waiting - ACTIVE to WAITING: the poll is pending
 * @spare: the spare reference is still there
 *
 * Return: false if it was woken meanwhile: it is SCHEDULED, and the caller
 * queues it. After true it may be polled elsewhere, and be gone.
 */
static inline bool task_state_transition_to_waiting(atomic_u64 *state,
						    bool spare)
{
	uint64_t references = spare ? 0 : TASK_REFERENCE;

	/* Release: what the poll wrote, to the next one. Acquire: not needed.
	 * Pairs with the acquires in task_state_transition_to_woken() and its
	 * like, whose caller queues the task. */
	return !(atomic_fetch_add_release(state, references - TASK_ACTIVE) &
		 TASK_SCHEDULED);
}

/**
 * task_state_transition_to_woken - make SCHEDULED; by any thread
 * @and: further bits to set: 0 or TASK_CANCELLED
 *
 * Return: true if the caller has to queue the task. Always a read-modify-write,
 * also when the task is SCHEDULED already: the poll to come has to see what
 * the caller wrote.
 */
static inline bool task_state_transition_to_woken(atomic_u64 *state,
						  uint64_t and)
{
	/* Release: what the caller wrote; pairs with the acquire in
	 * task_state_transition_to_running(). Acquire: what the last poll
	 * wrote; pairs with the release in
	 * task_state_transition_to_waiting(). */
	uint64_t old = atomic_fetch_or_acq_rel(state, TASK_SCHEDULED | and);

	return !(old & (TASK_SCHEDULED | TASK_ACTIVE | TASK_COMPLETE));
}

/**
 * task_state_transition_to_woken_by_value - the same, by the holder of a reference,
 * which gives it back in the same step
 * @queue: receives whether the caller has to queue the task
 *
 * Here a WAITING task becomes ACTIVE, which spares its poll an operation.
 * Return: false if the task is COMPLETE: nothing was done. Until then the
 * scheduler has a reference as well, so that this one is not the last.
 */
static inline bool task_state_transition_to_woken_by_value(atomic_u64 *state,
							   bool *queue)
{
	uint64_t old = atomic_load_relaxed(state);
	uint64_t bit;

	/* Release and acquire: as in task_state_transition_to_woken(), and in
	 * task_state_transition_to_dropped(). A further round means that the
	 * task moved on. */
	do {
		if (old & TASK_COMPLETE)
			return false;
		assert(task_state_references(old) > 1);
		*queue = !(old & (TASK_SCHEDULED | TASK_ACTIVE));
		bit = *queue ? TASK_ACTIVE : TASK_SCHEDULED;
	} while (
		!atomic_cas_acq_rel(state, &old, (old | bit) - TASK_REFERENCE));
	return true;
}

/**
 * task_state_transition_to_cancelled - mark, and make SCHEDULED
 * @wake: receives whether the caller has to queue the task
 *
 * By somebody who may have no reference: beside a join the task may become
 * IDLE at any time. Return: 0; -EINVAL (not spawned); -EALREADY (COMPLETE).
 */
static inline int task_state_transition_to_cancelled(atomic_u64 *state,
						     bool *wake)
{
	uint64_t old = atomic_load_relaxed(state);

	/* Release and acquire: as in task_state_transition_to_woken(). A
	 * further round means that the task moved on. */
	do {
		if (!task_state_spawned(old))
			return -EINVAL;
		if (old & TASK_COMPLETE)
			return -EALREADY;
	} while (!atomic_cas_acq_rel(state, &old,
				     old | TASK_SCHEDULED | TASK_CANCELLED));
	*wake = !(old & (TASK_SCHEDULED | TASK_ACTIVE));
	return 0;
}

/* task_state_add_reference - by the holder of another one */
static inline void task_state_add_reference(atomic_u64 *state)
{
	/* Relaxed: the new reference is published by the thread that passes it on. */
	atomic_fetch_add_relaxed(state, TASK_REFERENCE);
}

/* The reference that a holder gives back; if complete is set, the scheduler's, which
 * makes the task COMPLETE with it. */
struct task_state_drop {
	uint64_t references;
	bool complete;
};

/* task_state_less - the state @old after @drop */
static inline uint64_t task_state_less(uint64_t old,
				       struct task_state_drop drop)
{
	assert(task_state_references(old) >= drop.references);
	if (drop.complete)
		old ^= TASK_ACTIVE | TASK_COMPLETE;
	return old - drop.references * TASK_REFERENCE;
}

/**
 * task_state_transition_to_dropped - give references back, if nothing changed
 * @old: what the caller saw last; receives the newer state if it changed
 *
 * The caller copies the end field between its look at the state and this call:
 * after a success that leaves the task ended, the task may be gone as soon as
 * a joiner looks at it.
 */
static inline bool task_state_transition_to_dropped(atomic_u64 *state,
						    uint64_t *old,
						    struct task_state_drop drop)
{
	/*
	 * Release: all that the holder did with the task. Acquire: the end
	 * field, and all that the other holders did. Both pair with each other
	 * and with task_state_transition_to_ended_by().
	 */
	return atomic_cas_acq_rel(state, old, task_state_less(*old, drop));
}

/**
 * task_state_transition_to_ending - the same for a task with a join that was
 * withdrawn: keep the last reference if it is COMPLETE without it
 * @old: as above; after a success the state that the task has now
 *
 * If that has TASK_ENDING, the caller reads the end field, and then calls
 * task_state_transition_to_told().
 */
static inline bool task_state_transition_to_ending(atomic_u64 *state,
						   uint64_t *old,
						   struct task_state_drop drop)
{
	uint64_t next = task_state_less(*old, drop);

	if (task_state_ended(next) && (next & TASK_END_MASK))
		next = (next | TASK_ENDING) + TASK_REFERENCE;
	/* Release: as in task_state_transition_to_dropped(). Acquire: the end
	 * field, also if the state is the same and the field is not. Pairs with
	 * task_state_transition_to_ended_by(). */
	if (!atomic_cas_acq_rel(state, old, next))
		return false;
	*old = next;
	return true;
}

/* task_state_transition_to_told - ENDING to ended; the task may be gone */
static inline void task_state_transition_to_told(atomic_u64 *state)
{
	/* Release: the look at the end field, and all that the holders did.
	 * Pairs with the acquires of those that join. */
	atomic_fetch_sub_release(state, TASK_ENDING + TASK_REFERENCE);
}

/**
 * task_state_transition_to_withdrawn - give a join up
 * @bit: of the join, which the caller has set
 *
 * Return: false if the task has ended, or is ENDING: the joiner is told, or was.
 */
static inline bool task_state_transition_to_withdrawn(atomic_u64 *state,
						      uint64_t bit)
{
	/* Relaxed: the compare-exchange decides. */
	uint64_t old = atomic_load_relaxed(state);

	/* Relaxed: the caller's bit released what it wrote to the end field,
	 * and read-modify-writes go on with that release: the next one with a
	 * claim acquires it in task_state_transition_to_claimed(). A further
	 * round means that the task moved on. */
	do {
		assert(old & bit);
		if (task_state_ended(old) || (old & TASK_ENDING))
			return false;
	} while (!atomic_cas_relaxed(
		state, &old, (old & ~(bit | TASK_CLAIMED)) | TASK_WITHDRAWN));
	return true;
}

/**
 * task_state_transition_to_joined - ended to IDLE, if nobody has a claim
 *
 * A claim, the end and the way back to IDLE in one step, for a join that comes
 * late. Return: false, also if somebody else was faster: claim it then.
 */
static inline bool task_state_transition_to_joined(atomic_u64 *state)
{
	/* Relaxed: the compare-exchange decides. */
	uint64_t old = atomic_load_relaxed(state);

	if (!task_state_ended(old) || (old & TASK_CLAIMED))
		return false;
	/* Acquire: all that the task did. Pairs with
	 * task_state_transition_to_dropped(). Release: not needed. */
	return atomic_cas_acq_rel(state, &old, TASK_IDLE);
}

/**
 * task_state_transition_to_claimed - take the right to join or detach
 * @spawned: refuse a task that was never spawned
 *
 * Return: 0; -EINVAL (never spawned); -EALREADY (somebody else has it).
 */
static inline int task_state_transition_to_claimed(atomic_u64 *state,
						   bool spawned)
{
	/* Relaxed: the compare-exchange decides. Acquire, of that: what a join
	 * that was withdrawn wrote to the end field. Pairs with its
	 * task_state_transition_to_ended_by(). The end of the task is acquired
	 * by task_state_transition_to_ended_by(). A further round means that
	 * the task moved on, or that somebody else was faster. */
	uint64_t old = atomic_load_relaxed(state);

	do {
		if (spawned && !task_state_spawned(old))
			return -EINVAL;
		if (old & TASK_CLAIMED)
			return -EALREADY;
	} while (!atomic_cas_acquire(state, &old, old | TASK_CLAIMED));
	return 0;
}

/**
 * task_state_transition_to_ended_by - say that the end field is set
 * @bit: one of TASK_END_MASK; the caller holds the claim
 *
 * Return: false if the task had ended by then: the caller acts for its end.
 */
static inline bool task_state_transition_to_ended_by(atomic_u64 *state,
						     uint64_t bit)
{
	/* An addition, which is one instruction: without a claim nobody sets the bit.
	 * Release: the field. Acquire: all that the task did. Both pair with
	 * task_state_transition_to_dropped(). */
	return !task_state_ended(atomic_fetch_add_acq_rel(state, bit));
}

/* task_state_transition_to_idle - ended to IDLE, by the joiner */
static inline void task_state_transition_to_idle(atomic_u64 *state)
{
	/* Relaxed: the task is the joiner's again. */
	atomic_store_relaxed(state, TASK_IDLE);
}

#endif
