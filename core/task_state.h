/* SPDX-License-Identifier: MIT */
/**
 * task_state.h - the state word of a task and its transitions (L1)
 *
 *	        spawn              to_running
 *	IDLE ----------> SCHEDULED -----------> RUNNING
 *	 ^                    ^                  |   |
 *	 |                    '------------------'   | to_complete
 *	 |                         to_scheduled      v
 *	 '---------------------------------------- COMPLETE
 *	                   joined
 *
 * Beside these four, bits say how the task ends. Its end belongs to one party:
 *
 *	CLAIMED       somebody has the right to join or detach, nobody else
 *	JOIN_WAITING  the task's joiner field is set: wake it
 *	DETACHED      the task's release field is set: call it
 *
 * The claim comes first, then the field is written, then the second bit says
 * so. Who moves a task to COMPLETE acts on the second bit; if the bit comes
 * later, whoever sets it finds COMPLETE and acts itself. After COMPLETE the
 * worker does not touch the task but to release a detached one.
 */
#ifndef SKUA_CORE_TASK_STATE_H
#define SKUA_CORE_TASK_STATE_H

#include <errno.h>

#include "core/atomic.h"

#define TASK_IDLE         UINT64_C(0)
#define TASK_SCHEDULED    (UINT64_C(1) << 0)
#define TASK_RUNNING      (UINT64_C(1) << 1)
#define TASK_COMPLETE     (UINT64_C(1) << 2)
#define TASK_CLAIMED      (UINT64_C(1) << 3)
#define TASK_JOIN_WAITING (UINT64_C(1) << 4)
#define TASK_DETACHED     (UINT64_C(1) << 5)

#define TASK_LIFE (TASK_SCHEDULED | TASK_RUNNING | TASK_COMPLETE)

/**
 * task_state_transition_to_spawned - IDLE to SCHEDULED
 *
 * Return: 0, or -EALREADY. No read-modify-write: until a task is spawned it
 * belongs to its spawner alone.
 */
static inline int task_state_transition_to_spawned(atomic_u64 *state)
{
	/* Relaxed: the caller owns the task; the queue publishes it. */
	uint64_t old = atomic_load_relaxed(state);

	if (old & TASK_LIFE)
		return -EALREADY;
	atomic_store_relaxed(state, old | TASK_SCHEDULED);
	return 0;
}

/* task_state_transition_to_unspawned - the spawn was refused after all */
static inline void task_state_transition_to_unspawned(atomic_u64 *state)
{
	/* Relaxed: as above. */
	atomic_store_relaxed(state,
			     atomic_load_relaxed(state) & ~TASK_SCHEDULED);
}

/* task_state_transition_to_running - SCHEDULED to RUNNING, by its worker */
static inline void task_state_transition_to_running(atomic_u64 *state)
{
	/* Relaxed: the queue handed the task over and ordered it. A
	 * read-modify-write, because others may set the waiting bits. */
	atomic_fetch_xor_relaxed(state, TASK_SCHEDULED | TASK_RUNNING);
}

/* task_state_transition_to_scheduled - RUNNING to SCHEDULED: it yields */
static inline void task_state_transition_to_scheduled(atomic_u64 *state)
{
	/* Relaxed: the queue hands the task on. */
	atomic_fetch_xor_relaxed(state, TASK_SCHEDULED | TASK_RUNNING);
}

/**
 * task_state_transition_to_complete - RUNNING to COMPLETE, if nothing changed
 * @old: what the caller saw last; receives the newer state if it changed
 *
 * The caller copies what it needs from the task between its look at the state
 * and this call: after a success the task may be gone. Return: done?
 */
static inline bool task_state_transition_to_complete(atomic_u64 *state,
						     uint64_t *old)
{
	uint64_t done = *old ^ (TASK_RUNNING | TASK_COMPLETE);

	/*
	 * Release: all that the task wrote. Acquire: the joiner or release
	 * field. Both pair with task_state_transition_to_ended_by().
	 */
	return atomic_cas_acq_rel(state, old, done);
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
	/* Relaxed, both: decide nothing but who may go on; the end of the task
	 * is acquired by task_state_transition_to_ended_by(). A further round
	 * means that the task moved on, or that somebody else was faster. */
	uint64_t old = atomic_load_relaxed(state);

	do {
		if (spawned && !(old & TASK_LIFE))
			return -EINVAL;
		if (old & TASK_CLAIMED)
			return -EALREADY;
	} while (!atomic_cas_relaxed(state, &old, old | TASK_CLAIMED));
	return 0;
}

/**
 * task_state_transition_to_ended_by - say that the field of @bit is set
 * @bit: TASK_JOIN_WAITING or TASK_DETACHED; the caller holds the claim
 *
 * Return: false if the task was complete by then: the caller ends it.
 */
static inline bool task_state_transition_to_ended_by(atomic_u64 *state,
						     uint64_t bit)
{
	/* Release: the field. Acquire: all that the task wrote. Both pair with
	 * task_state_transition_to_complete(). */
	return !(atomic_fetch_or_acq_rel(state, bit) & TASK_COMPLETE);
}

/* task_state_transition_to_joined - COMPLETE to IDLE, by the joiner */
static inline void task_state_transition_to_joined(atomic_u64 *state)
{
	/* Relaxed: the task is the joiner's again. */
	atomic_store_relaxed(state, TASK_IDLE);
}

#endif
