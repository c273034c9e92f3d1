/* SPDX-License-Identifier: MIT */
/* group_api.c - the public functions on groups */
#include <errno.h>

#include "core/group.h"
#include "core/runtime.h"
#include "core/schedule.h"
#include "core/track.h"
#include "skua/task.h"

/* The group is its owner's alone. */
static void reset(struct skua_group *group, struct skua_runtime *rt)
{
	*group = (struct skua_group){ .runtime = rt };
}

int skua_group_init(struct skua_group *group, struct skua_runtime *rt)
{
	if (!group || !rt)
		return -EINVAL;
	if (!runtime_alive(rt))
		return -EOWNERDEAD;
	reset(group, rt);
	return 0;
}

/* End a spawn that is under way, or refused. */
static void leave(struct skua_group *group)
{
	schedule_end(group_leave(group), NULL);
}

int skua_group_spawn(struct skua_group *group, struct skua_task *task)
{
	int code;

	if (!group || !task)
		return -EINVAL;
	if (!runtime_alive(group->runtime))
		return -EOWNERDEAD;
	/* Relaxed: before it is spawned, the task is the caller's. */
	if (task_state_spawned(atomic_load_relaxed(task_state(task))))
		return -EALREADY;
	code = task_state_transition_to_claimed(task_state(task), false);
	if (code)
		return code;
	task_end_write(task, (union skua_task_end){ .group = group });
	task_state_transition_to_ended_by(task_state(task), TASK_END_GROUP);

	/* One for the member, and one to keep the group while it is added. */
	group_enter(group, 2);
	code = skua_task_spawn(group->runtime, task);
	if (code) {
		task_state_transition_to_idle(task_state(task));
		leave(group);
		leave(group);
		return code;
	}
	group_add(group, task);
	/* Orders the list before the look at the mark. Pairs with the fence in
	 * skua_group_cancel(): one of the two sees the other's. */
	atomic_fence_seq_cst();
	if (atomic_load_relaxed(group_state(group)) & GROUP_CANCELLED)
		skua_task_cancel(task);
	leave(group);
	return 0;
}

int skua_group_cancel(struct skua_group *group)
{
	struct skua_task *task;

	if (!group)
		return -EINVAL;
	if (!runtime_alive(group->runtime))
		return -EOWNERDEAD;
	/* Relaxed: ordered by the fence. */
	atomic_fetch_or_relaxed(group_state(group), GROUP_CANCELLED);
	/* Orders the mark before the look at the list. Pairs with the fence in
	 * skua_group_spawn(). */
	atomic_fence_seq_cst();
	/* Acquire: the links. Pairs with the release in group_add(). */
	for (task = atomic_load_acquire(group_members(group)); task;
	     task = task->group_next)
		skua_task_cancel(task);
	return 0;
}

/* Take the right to wait; false if somebody else has it. */
static bool claim(struct skua_group *group)
{
	/* Relaxed: decides only who may go on. */
	return !(atomic_fetch_or_relaxed(group_state(group), GROUP_CLAIMED) &
		 GROUP_CLAIMED);
}

/* Say that the waiter field is set; false if all members have ended. */
static bool wait_by(struct skua_group *group, uint64_t bit)
{
	/* Release: the field. Acquire: all that the members did. Both pair
	 * with group_leave(). */
	return !group_ended(atomic_fetch_or_acq_rel(group_state(group), bit));
}

int skua_group_wait(struct skua_group *group)
{
	struct task_joiner joiner;

	if (!group)
		return -EINVAL;
	if (!runtime_alive(group->runtime))
		return -EOWNERDEAD;
	if (worker_here())
		return -EDEADLK;
	if (!claim(group))
		return -EALREADY;
	atomic_init(&joiner.done, 0);
	group->waiter.joiner = &joiner;
	if (wait_by(group, GROUP_WAIT_THREAD))
		task_joiner_wait(&joiner);
	reset(group, group->runtime);
	return 0;
}

static void note_wait(const struct skua_task *self,
		      const struct skua_group *group)
{
	if (pool_tracks(self->pool))
		track_wait(self->pool, self, AREA_WAIT_GROUP, (uintptr_t)group);
}

int skua_group_wait_poll(struct skua_task *self, struct skua_group *group)
{
	uint64_t state;

	if (!self || !group)
		return -EINVAL;
	if (!runtime_alive(group->runtime))
		return -EOWNERDEAD;
	if (!worker_polls(self))
		return -EPERM;
	/* Acquire: all that the members did. Pairs with group_leave(). */
	state = atomic_load_acquire(group_state(group));
	if ((state & GROUP_WAIT_TASK) && group->waiter.task == self) {
		if (!group_ended(state)) {
			note_wait(self, group);
			return -EAGAIN;
		}
		reset(group, group->runtime);
		return 0;
	}
	if (!claim(group))
		return -EALREADY;
	group->waiter.task = self;
	schedule_add_reference(self);
	note_wait(self, group);
	if (wait_by(group, GROUP_WAIT_TASK))
		return -EAGAIN;
	schedule_drop(self);
	reset(group, group->runtime);
	return 0;
}
