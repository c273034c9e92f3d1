/* SPDX-License-Identifier: MIT */
/* task.c - see task.h */
#include "core/task/task.h"

#include "core/base/clock.h"
#include "core/os/boundary_report.h"
#include "core/os/futex.h"
#include "core/os/peek.h"

_Static_assert(BOUNDARY_FIBER == TASK_FIBER, "one flag, two names");

atomic_u64 task_shortest_limit_ns = UINT64_MAX;

void task_joiner_wait(struct task_joiner *joiner)
{
	/* Acquire: all that the task did. Pairs with the release in
	 * task_joiner_wake(). The loop repeats when the thread woke without a
	 * cause. */
	while (atomic_load_acquire(&joiner->done) == 0)
		futex_wait(&joiner->done, 0);
}

bool task_joiner_wait_until(struct task_joiner *joiner, uint64_t deadline_ns)
{
	if (deadline_ns == UINT64_MAX) {
		task_joiner_wait(joiner);
		return true;
	}
	/* Acquire: as in task_joiner_wait(). */
	while (atomic_load_acquire(&joiner->done) == 0) {
		if (clock_now_ns() >= deadline_ns)
			return false;
		futex_wait_until(&joiner->done, 0, deadline_ns);
	}
	return true;
}

struct task_end task_drop_withdrawn(struct skua_task *task,
				    struct task_state_drop drop)
{
	/* Relaxed: task_state_transition_to_ending() acquires. */
	uint64_t state = atomic_load_relaxed(task_state(task));
	struct task_end end = { 0, { NULL } };

	/* The loop repeats when another thread changed the state. */
	while (!task_state_transition_to_ending(task_state(task), &state, drop))
		;
	if (!(state & TASK_ENDING))
		return end;
	end.bit = state & TASK_END_MASK;
	end.what = task_end_read(task);
	task_state_transition_to_told(task_state(task));
	return end;
}

void task_joiner_wake(struct task_joiner *joiner)
{
	/* Release: all that the task did. Pairs with the acquires in
	 * task_joiner_wait() and task_joiner_wait_until(). The joiner may be
	 * gone after this; futex_wake() only uses its address. */
	atomic_fetch_add_release(&joiner->done, TASK_JOINER_TOLD);
	futex_wake(&joiner->done, 1);
}

bool task_peek(pid_t pid, const void *address, struct skua_task *task,
	       skua_task_fn *shown)
{
	struct skua_fiber fiber;

	if (!peek(pid, address, task, sizeof(*task)))
		return false;
	*shown = task->poll;
	if (task->flags & TASK_FIBER) {
		if (!peek(pid, address, &fiber, sizeof(fiber)))
			return false;
		*shown = task_shown(&fiber.task);
	}
	return true;
}
