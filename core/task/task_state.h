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
 * A task that is ACTIVE or SCHEDULED is in a queue or being polled; the start
 * of a poll and a yield do not change that. SCHEDULED asks for a poll that has
 * yet to begin. A thread that wakes the task sets it, and the next poll clears
 * it when it begins. If it is set during a poll that ends as pending, the task
 * is queued. A task that is IDLE or WAITING is neither ACTIVE, SCHEDULED nor
 * COMPLETE; a WAITING task has references. The thread that makes a WAITING task
 * ACTIVE (a wake by value) or SCHEDULED (any other wake, and a cancel) queues
 * it. No other thread does, so that a task is in one queue at most.
 *
 * *References* count the holders that may still access the task: two are the
 * scheduler's, from spawn to COMPLETE, and each waker has one. The second one
 * of the scheduler is the *spare* reference: a poll may give it away, as a
 * waker, without an operation on the word. The operation that ends the poll
 * replaces it. A yield has no such operation, and needs one of its own then.
 *
 * The task has ended when it is COMPLETE and the last reference is gone. The
 * thread that drops the last reference acts for the end, and does not access
 * the task after that, except to release it. The end belongs to one party:
 *
 *	CLAIMED               the party has the right to join or detach
 *	one of TASK_END_MASK  the end field is set, and the bit says how to act
 *
 * The party sets CLAIMED first, then writes the end field, and then sets the
 * field's bit. If the task has ended before the bit is set, the thread that
 * sets the bit sees this, and acts itself.
 *
 * A join can be withdrawn: its bit and its claim are removed, and WITHDRAWN
 * stays until the task is IDLE. Then the end field may change while the last
 * reference is dropped, and the same bits may return with another field. So the
 * thread that drops the last reference of such a task does it in two steps.
 * After the first step the task is COMPLETE and ENDING, and keeps one
 * reference: from then on no join can be withdrawn, and the field stays as it
 * is. The second step drops that reference.
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
#define TASK_END_GROUP  (UINT64_C(1) << 7) /* leave the group */
#define TASK_CANCELLED  (UINT64_C(1) << 8)
#define TASK_WITHDRAWN  (UINT64_C(1) << 9)  /* a join was withdrawn */
#define TASK_ENDING     (UINT64_C(1) << 10) /* the end field is being read */
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

/* task_state_spawned - return true if the task was spawned, and did not become
 * IDLE again since */
static inline bool task_state_spawned(uint64_t state)
{
	return (state & TASK_COMPLETE) || task_state_references(state) != 0;
}

/* The references of a task that was just spawned. The scheduler holds both: its
 * own and the spare one. */
#define TASK_SPAWN_REFERENCES UINT64_C(2)

/**
 * task_state_transition_to_spawned - IDLE to ACTIVE
 *
 * No read-modify-write: until a task is spawned, it belongs to its spawner
 * alone.
 *
 * Return: 0; -EALREADY: it is spawned already.
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

/**
 * task_state_transition_to_member - claim an IDLE task for a group, before its spawn
 *
 * The caller then writes the end field, whose bit this sets. Return: 0; -EALREADY: the
 * task is spawned, or has a claim. No read-modify-write, as for the spawn.
 */
static inline int task_state_transition_to_member(atomic_u64 *state)
{
	/* Relaxed, both: the caller owns the task; the queue publishes it. */
	uint64_t old = atomic_load_relaxed(state);

	if (task_state_spawned(old) || (old & TASK_CLAIMED))
		return -EALREADY;
	atomic_store_relaxed(state, old | TASK_CLAIMED | TASK_END_GROUP);
	return 0;
}

/* task_state_transition_to_unspawned - undo a spawn that was refused */
static inline void task_state_transition_to_unspawned(atomic_u64 *state)
{
	/* Relaxed: no other thread knows the task yet. */
	uint64_t old = atomic_load_relaxed(state);

	atomic_store_relaxed(state,
			     (old & ~TASK_ACTIVE) -
				     TASK_SPAWN_REFERENCES * TASK_REFERENCE);
}

/* task_state_transition_to_running - begin a poll: make ACTIVE, and clear
 * SCHEDULED; called by the worker that took the task from a queue */
static inline void task_state_transition_to_running(atomic_u64 *state)
{
	/* Relaxed: the queue handed over all that the pusher knew. A thread
	 * that sets SCHEDULED later asks for another poll. */
	uint64_t old = atomic_load_relaxed(state);

	assert(old & (TASK_SCHEDULED | TASK_ACTIVE));
	if (!(old & TASK_SCHEDULED))
		return; /* already ACTIVE, and not woken since */
	/*
	 * Acquire: the writes of a waker that found the task in a queue, and so
	 * did not queue it. Pairs with the releases in
	 * task_state_transition_to_woken() and
	 * task_state_transition_to_cancelled(), and in
	 * task_state_transition_to_woken_by_value(). Release: not needed,
	 * because wakers rely on nothing that it publishes. An acquire would
	 * do, and costs the same.
	 */
	atomic_fetch_xor_acq_rel(state, TASK_SCHEDULED | (~old & TASK_ACTIVE));
}

/**
 * task_state_transition_to_waiting - ACTIVE to WAITING: the poll is pending
 * @spare: true if the spare reference is still there
 *
 * Return: true if the task waits. Another worker may then poll it, and it may
 * be gone. If it was woken meanwhile, the result is false: it is SCHEDULED, and
 * the caller must queue it.
 */
static inline bool task_state_transition_to_waiting(atomic_u64 *state,
						    bool spare)
{
	uint64_t references = spare ? 0 : TASK_REFERENCE;

	/* Release: the poll's writes, for the next poll. Acquire: not needed.
	 * Pairs with the acquires in task_state_transition_to_woken(),
	 * task_state_transition_to_woken_by_value() and
	 * task_state_transition_to_cancelled(), whose caller queues the task. */
	return !(atomic_fetch_add_release(state, references - TASK_ACTIVE) &
		 TASK_SCHEDULED);
}

/**
 * task_state_transition_to_woken - make SCHEDULED. Threads: any
 * @and: more bits to set: 0 or TASK_CANCELLED
 *
 * Always a read-modify-write, also if the task is SCHEDULED already: the next
 * poll must see the caller's writes.
 *
 * Return: true if the caller must queue the task.
 */
static inline bool task_state_transition_to_woken(atomic_u64 *state,
						  uint64_t and)
{
	/* Release: the caller's writes; pairs with the acquire in
	 * task_state_transition_to_running(). Acquire: the last poll's writes;
	 * pairs with the release in task_state_transition_to_waiting(). */
	uint64_t old = atomic_fetch_or_acq_rel(state, TASK_SCHEDULED | and);

	return !(old & (TASK_SCHEDULED | TASK_ACTIVE | TASK_COMPLETE));
}

/**
 * task_state_transition_to_woken_by_value - make SCHEDULED, and give one
 * reference of the caller back, in one step
 * @queue: receives true if the caller must queue the task
 *
 * A WAITING task becomes ACTIVE instead, which saves its poll an operation.
 * Until the task is COMPLETE the scheduler has a reference as well, so that
 * this one is not the last.
 *
 * Return: false if the task is COMPLETE: nothing was done.
 */
static inline bool task_state_transition_to_woken_by_value(atomic_u64 *state,
							   bool *queue)
{
	uint64_t old = atomic_load_relaxed(state);
	uint64_t bit;

	/* Release and acquire: as in task_state_transition_to_woken() and
	 * task_state_transition_to_dropped(). The loop repeats when another
	 * thread changed the state. */
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
 * task_state_transition_to_cancelled - set CANCELLED, and make SCHEDULED
 * @wake: receives true if the caller must queue the task
 *
 * The caller may have no reference: a join at the same time may make the task
 * IDLE at any moment.
 *
 * Return: 0; -EINVAL (not spawned); -EALREADY (COMPLETE).
 */
static inline int task_state_transition_to_cancelled(atomic_u64 *state,
						     bool *wake)
{
	uint64_t old = atomic_load_relaxed(state);

	/* Release and acquire: as in task_state_transition_to_woken(). The loop
	 * repeats when another thread changed the state. */
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

/* task_state_add_references - add @count references; the caller holds another one */
static inline void task_state_add_references(atomic_u64 *state, uint64_t count)
{
	/* Relaxed: the new reference is published by the thread that passes it on. */
	atomic_fetch_add_relaxed(state, count * TASK_REFERENCE);
}

/* task_state_add_reference - add one */
static inline void task_state_add_reference(atomic_u64 *state)
{
	task_state_add_references(state, 1);
}

/* task_state_drop_polled - drop @count references to a task that the caller polls: the
 * scheduler's references are there as well, so that the last one is not dropped */
static inline void task_state_drop_polled(atomic_u64 *state, uint64_t count)
{
	/* Release: all that the caller did with the task. Like the end of the poll, it
	 * pairs with task_state_transition_to_dropped(). */
	atomic_fetch_sub_release(state, count * TASK_REFERENCE);
}

/* The references that a holder gives back. If @complete is set, the scheduler's
 * own is among them, and the task becomes COMPLETE in the same step. */
struct task_state_drop {
	uint64_t references;
	bool complete;
};

/* task_state_less - return the state that @old becomes by @drop */
static inline uint64_t task_state_less(uint64_t old,
				       struct task_state_drop drop)
{
	assert(task_state_references(old) >= drop.references);
	if (drop.complete)
		old ^= TASK_ACTIVE | TASK_COMPLETE;
	return old - drop.references * TASK_REFERENCE;
}

/**
 * task_state_transition_to_dropped - give references back, if the state is @old
 * @old: the state that the caller saw last; receives the newer state if it
 *       changed
 *
 * The caller must copy the end field after it has read @old and before this
 * call: after a success that leaves the task ended, the task may be gone as
 * soon as a joiner reads its state.
 *
 * Return: true if the references are given back.
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
 * task_state_transition_to_ending - the same for a task that is WITHDRAWN: keep
 * the last reference if the task ends and its end field is set
 * @old: as in task_state_transition_to_dropped(); after a success, the state
 *       that the task has now
 *
 * If the new state has TASK_ENDING, the caller reads the end field, and then
 * calls task_state_transition_to_told().
 *
 * Return: true if the references are given back, except the one that is kept.
 */
static inline bool task_state_transition_to_ending(atomic_u64 *state,
						   uint64_t *old,
						   struct task_state_drop drop)
{
	uint64_t next = task_state_less(*old, drop);

	if (task_state_ended(next) && (next & TASK_END_MASK))
		next = (next | TASK_ENDING) + TASK_REFERENCE;
	/* Release: as in task_state_transition_to_dropped(). Acquire: the end
	 * field, also if it changed and the state did not. Pairs with
	 * task_state_transition_to_ended_by(). */
	if (!atomic_cas_acq_rel(state, old, next))
		return false;
	*old = next;
	return true;
}

/* task_state_transition_to_told - ENDING to ended: drop the last reference; the
 * task may be gone afterwards */
static inline void task_state_transition_to_told(atomic_u64 *state)
{
	/* Release: the read of the end field, and all that the holders did.
	 * Pairs with the acquires of joiners, as in skua_task_join_poll(). */
	atomic_fetch_sub_release(state, TASK_ENDING + TASK_REFERENCE);
}

/**
 * task_state_transition_to_withdrawn - withdraw a join
 * @bit: the bit of the join, which the caller has set
 *
 * Return: true if the join is withdrawn. False if the task has ended, or is
 * ENDING: the joiner will be woken, or was.
 */
static inline bool task_state_transition_to_withdrawn(atomic_u64 *state,
						      uint64_t bit)
{
	/* Relaxed: the compare-exchange decides. */
	uint64_t old = atomic_load_relaxed(state);

	/* Relaxed: the operation that set the caller's bit released its write
	 * of the end field, and read-modify-writes continue that release. The
	 * next party that claims acquires it in
	 * task_state_transition_to_claimed(). The loop repeats when another
	 * thread changed the state. */
	do {
		assert(old & bit);
		if (task_state_ended(old) || (old & TASK_ENDING))
			return false;
	} while (!atomic_cas_relaxed(
		state, &old, (old & ~(bit | TASK_CLAIMED)) | TASK_WITHDRAWN));
	return true;
}

/**
 * task_state_transition_to_joined - ended to IDLE, if the end is not claimed
 *
 * Does in one step the claim, the end of the task and its way back to IDLE, for
 * a join that comes after the end.
 *
 * Return: true if the task is joined. False if it has not ended, or if another
 * party claimed it: the caller then tries to claim it.
 */
static inline bool task_state_transition_to_joined(atomic_u64 *state)
{
	/* Relaxed: the compare-exchange decides. */
	uint64_t old = atomic_load_relaxed(state);

	if (!task_state_ended(old) || (old & TASK_CLAIMED))
		return false;
	/* Acquire: all that the task did. Pairs with
	 * task_state_transition_to_dropped() and
	 * task_state_transition_to_ending(). Release: not needed. */
	return atomic_cas_acq_rel(state, &old, TASK_IDLE);
}

/**
 * task_state_transition_to_claimed - take the right to join or detach
 * @spawned: true: refuse a task that is not spawned
 *
 * Return: 0; -EINVAL (not spawned); -EALREADY (another party has the right).
 */
static inline int task_state_transition_to_claimed(atomic_u64 *state,
						   bool spawned)
{
	/* Relaxed: the compare-exchange decides, and acquires the end field as
	 * a withdrawn join wrote it. Pairs with that join's
	 * task_state_transition_to_ended_by(). The end of the task is acquired
	 * later, by the caller's task_state_transition_to_ended_by(). The loop
	 * repeats when another thread changed the state. */
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
 * task_state_transition_to_ended_by - set the bit that says that the end field
 * is set
 * @bit: one of TASK_END_MASK; the caller holds the claim
 *
 * Return: true if the task has yet to end. False if it had ended: the caller
 * must act for its end.
 */
static inline bool task_state_transition_to_ended_by(atomic_u64 *state,
						     uint64_t bit)
{
	/* An addition, which is one instruction: only the holder of the claim
	 * sets the bit, so it is not set yet. Release: the end field. Acquire:
	 * all that the task did. Both pair with
	 * task_state_transition_to_dropped(). */
	return !task_state_ended(atomic_fetch_add_acq_rel(state, bit));
}

/* task_state_transition_to_idle - ended to IDLE, by the joiner */
static inline void task_state_transition_to_idle(atomic_u64 *state)
{
	/* Relaxed: the task belongs to the joiner again. */
	atomic_store_relaxed(state, TASK_IDLE);
}

#endif
