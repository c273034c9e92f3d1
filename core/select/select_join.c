/* SPDX-License-Identifier: MIT */
/* select_join.c - see select_join.h */
#include "core/select/select_join.h"

#include <errno.h>

#include "core/loop/schedule.h"

_Static_assert(TASK_JOINER_TOLD == WAIT_TOLD, "the phase is a joiner");

/* Return the bit of a join by the waiter of @select. */
static uint64_t bit_of(const struct skua_wait *select)
{
	return wait_by_thread(select) ? TASK_END_THREAD : TASK_END_TASK;
}

int select_join_try(struct skua_task *task)
{
	uint64_t state;

	if (task_dead(task))
		return -EOWNERDEAD;
	if (task_state_transition_to_joined(task_state(task)))
		return 0;
	/* Relaxed: nothing follows from it. */
	state = atomic_load_relaxed(task_state(task));
	if (!task_state_spawned(state))
		return -EINVAL;
	return state & TASK_CLAIMED ? -EALREADY : -EAGAIN;
}

int select_join_arm(struct skua_task *task, struct skua_wait *select)
{
	uint64_t bit = bit_of(select);
	struct skua_task *self = (struct skua_task *)select->waiter;
	union skua_task_end end = { .task = self };
	int code;

	if (task_dead(task))
		return -EOWNERDEAD;
	if (task_state_transition_to_joined(task_state(task)))
		return 0;
	code = task_state_transition_to_claimed(task_state(task), true);
	if (code)
		return code;
	if (bit == TASK_END_THREAD)
		end.joiner = wait_phase(select);
	else
		/* For the thread that ends the task and wakes @self. */
		schedule_add_reference(self);
	task_end_write(task, end);
	if (task_state_transition_to_ended_by(task_state(task), bit))
		return -EAGAIN;
	if (bit == TASK_END_TASK)
		schedule_drop(self);
	task_state_transition_to_idle(task_state(task));
	return 0;
}

int select_join_look(struct skua_task *task)
{
	/* Acquire: everything that the task did. Pairs with
	 * task_state_transition_to_dropped(). */
	if (!task_state_ended(atomic_load_acquire(task_state(task))))
		return -EAGAIN;
	task_state_transition_to_idle(task_state(task));
	return 0;
}

int select_join_withdraw(struct skua_task *task, struct skua_wait *select)
{
	uint64_t bit = bit_of(select);

	if (task_state_transition_to_withdrawn(task_state(task), bit)) {
		if (bit == TASK_END_TASK)
			schedule_drop((struct skua_task *)select->waiter);
		return 0;
	}
	/* Relaxed: the end of the task stays released, as the change below is a
	 * read-modify-write. */
	if (!task_state_ended(atomic_load_relaxed(task_state(task))))
		return -EAGAIN;
	/* Relaxed: the next party that joins acquires the end of the task in
	 * task_state_transition_to_joined() or
	 * task_state_transition_to_ended_by(). */
	atomic_fetch_and_relaxed(task_state(task), ~(bit | TASK_CLAIMED));
	return 1;
}
