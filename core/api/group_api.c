/* SPDX-License-Identifier: MIT */
/* group_api.c - the public functions on groups */
#include <errno.h>

#include "core/fiber/fiber.h"
#include "core/loop/current.h"
#include "core/task/group.h"
#include "core/runtime/group_wait.h"
#include "core/loop/schedule.h"
#include "core/wait/await.h"
#include "skua/task.h"

/* Drop a count of group_enter(); if it is the last one, wake the waiter. */
static void leave(struct skua_group *group)
{
	schedule_end(group_leave(group), NULL);
}

int skua_group_init(struct skua_group *group, struct skua_runtime *rt)
{
	if (!group || !rt)
		return -EINVAL;
	if (!runtime_alive(rt))
		return -EOWNERDEAD;
	*group = (struct skua_group){ .runtime = rt };
	return 0;
}

int skua_group_set_release(struct skua_group *group, skua_release_fn release)
{
	if (!group)
		return -EINVAL;
	/* Relaxed: no other thread uses the group yet. */
	if (atomic_load_relaxed(group_state(group)))
		return -EALREADY;
	group->release = release;
	return 0;
}

uint64_t skua_group_live(const struct skua_group *group)
{
	/* Relaxed: a statistic. */
	return group ? atomic_load_relaxed(
			       group_state((struct skua_group *)group)) /
			       GROUP_MEMBER
		     : 0;
}

/* Spawn a member of a group without a release function. */
static int spawn_kept(struct skua_group *group, struct skua_task *task,
		      const void *caller)
{
	int code;

	group_enter(group, 1);
	task->member.next = GROUP_UNLISTED;
	code = runtime_spawn(group->runtime, task, 0, caller);
	if (code)
		leave(group);
	return code;
}

/* Stop holding a member, which may be freed afterwards. */
static void leave_slot(struct skua_group *group, struct skua_task *task)
{
	bool asked, ended;

	/* The loop repeats when another thread has asked the holder to cancel
	 * the task. */
	do {
		ended = group_slot_leave(group_slot(task), &asked);
		if (asked)
			skua_task_cancel(task);
	} while (asked);
	if (ended) {
		group_let_go(group, task);
		leave(group);
	}
}

/* Spawn a member of a group with a release function, which releases each member
 * when it has ended. The member cannot leave the group while this thread holds
 * its slot. */
static int spawn_released(struct skua_group *group, struct skua_task *task,
			  const void *caller)
{
	atomic_u64 *slot;
	bool cancel;
	int code;

	group_enter(group, 1);
	slot = group_slots_take(group, group_allocator(group), task);
	if (!slot) {
		leave(group);
		return -ENOMEM;
	}
	/* Orders the slot before the load of the mark. Pairs with the fence in
	 * skua_group_cancel(): either the spawn sees the mark, or the cancel
	 * finds the task. */
	atomic_fence_updated_seq_cst();
	cancel = group_cancelled(group);
	task->member.slot = (uint64_t *)slot;
	code = runtime_spawn(group->runtime, task, 0, caller);
	if (code) {
		group_slot_clear(slot);
		leave(group);
		return code;
	}
	if (cancel)
		skua_task_cancel(task);
	leave_slot(group, task);
	return 0;
}

int skua_group_spawn(struct skua_group *group, struct skua_task *task)
{
	const void *caller = __builtin_return_address(0);
	int code;

	if (!group || !task)
		return -EINVAL;
	if (!runtime_alive(group->runtime))
		return -EOWNERDEAD;
	code = task_state_transition_to_member(task_state(task));
	if (code)
		return code;
	task_end_write(task, (union skua_task_end){ .group = group });

	code = group->release ? spawn_released(group, task, caller)
			      : spawn_kept(group, task, caller);
	if (code)
		task_state_transition_to_idle(task_state(task));
	return code;
}

static void cancel_kept(struct skua_group *group)
{
	struct skua_task *task;

	/* Acquire: the links of the list. Pairs with the release in
	 * group_list(). */
	for (task = atomic_load_acquire(group_members(group)); task;
	     task = task->member.next)
		skua_task_cancel(task);
}

static void cancel_released(struct skua_group *group)
{
	/* Acquire: the contents of the slots. Pairs with the release in
	 * group_slots_take(). */
	struct group_slots *slots = atomic_load_acquire(group_slots(group));
	uint64_t count;

	for (unsigned level = 0; slots; level++) {
		atomic_u64 *slot = group_slots_level(slots, level, &count);

		if (!slot)
			return;
		for (; count > 0; count--, slot++) {
			struct skua_task *task = group_slot_hold(slot);

			if (!task)
				continue;
			skua_task_cancel(task);
			leave_slot(group, task);
		}
	}
}

/* Mark the group as cancelled, and count the caller as a member, so that no
 * wait returns before it calls leave(). Returns false, and does not count it, if the
 * group has no member and a wait for it is about to return. The mark is for a select,
 * which may take another case instead. */
static bool enter_cancelled(struct skua_group *group)
{
	/* Relaxed: a first guess, which the compare-exchange verifies. */
	uint64_t state = atomic_load_relaxed(group_state(group));
	uint64_t next;
	bool enters;

	/* Release: everything that the caller wrote before. Pairs with
	 * group_cancelled(). Acquire: the members of an earlier use are gone. Pairs
	 * with group_wait_end(). The loop repeats when a member or a waiter came or
	 * went. */
	do {
		enters = !group_ended(state) || !(state & GROUP_CLAIMED);
		next = state | GROUP_CANCELLED;
		if (enters)
			next += GROUP_MEMBER;
	} while (!atomic_cas_acq_rel(group_state(group), &state, next));
	return enters;
}

/* Cancel the members of a group that was marked, and leave it. The caller has fenced after
 * the mark. */
static void cancel_members(struct skua_group *group)
{
	if (group->release)
		cancel_released(group);
	else
		cancel_kept(group);
	leave(group);
}

/* ---- nested groups ---------------------------------------------------------- */

/* Append the children of a group to the list of a cancel, and enter each. */
static void collect_locked(struct skua_group *group, struct skua_group **last)
{
	for (struct skua_group *child = group->first_child; child;
	     child = child->next) {
		if (child->in_cancel || !enter_cancelled(child))
			continue;
		child->in_cancel = true;
		child->next_to_cancel = NULL;
		(*last)->next_to_cancel = child;
		*last = child;
	}
}

/* Mark all groups below a group that is marked, and return the first of their list. */
static struct skua_group *collect(struct skua_group *group)
{
	struct skua_group head = { .next_to_cancel = NULL }, *last = &head;

	pi_lock_take(&group->runtime->nesting);
	collect_locked(group, &last);
	/* The list grows meanwhile. */
	for (struct skua_group *at = head.next_to_cancel; at;
	     at = at->next_to_cancel)
		collect_locked(at, &last);
	pi_lock_release(&group->runtime->nesting);
	/* Orders the marks before the loads of the members. Pairs with the fences in
	 * spawn_released() and group_list(). */
	atomic_fence_seq_cst();
	return head.next_to_cancel;
}

/* Cancel all groups below a group that is marked, which the caller has entered. */
static void cancel_nested(struct skua_group *group)
{
	struct pi_lock *lock = &group->runtime->nesting;
	struct skua_group *next;

	for (struct skua_group *at = collect(group); at; at = next) {
		next = at->next_to_cancel;
		pi_lock_take(lock);
		at->in_cancel = false;
		pi_lock_release(lock);
		cancel_members(at); /* it may be gone afterwards */
	}
}

int skua_group_cancel(struct skua_group *group)
{
	if (!group)
		return -EINVAL;
	if (!runtime_alive(group->runtime))
		return -EOWNERDEAD;
	if (!enter_cancelled(group))
		return 0;
	/* Orders the mark before the loads of the children and of the members. Pairs with
	 * the fences in skua_group_nest(), spawn_released() and group_list(): either this
	 * finds the child or member, or that sees the mark. */
	atomic_fence_updated_seq_cst();
	/* Relaxed: the lock orders the accesses to the children. */
	if (atomic_load_relaxed(group_first_child(group)))
		cancel_nested(group);
	cancel_members(group);
	return 0;
}

int skua_group_nest(struct skua_group *group, struct skua_group *parent)
{
	struct skua_group *next;

	if (!group || !parent || group == parent ||
	    group->runtime != parent->runtime)
		return -EINVAL;
	if (!runtime_alive(group->runtime))
		return -EOWNERDEAD;
	/* Relaxed: no other thread uses the group. */
	if (group->parent || atomic_load_relaxed(group_state(group)))
		return -EALREADY;
	/* Relaxed: likewise. Of an earlier use. */
	atomic_store_relaxed(group_error(group), 0);
	group_enter(parent, 1);
	pi_lock_take(&group->runtime->nesting);
	group->parent = parent;
	group->previous = NULL;
	group->next = next = parent->first_child;
	if (next)
		next->previous = group;
	/* Relaxed: ordered by the fence below. */
	atomic_store_relaxed(group_first_child(parent), group);
	pi_lock_release(&group->runtime->nesting);
	/* Orders the link before the load of the mark. Pairs with the fence in
	 * skua_group_cancel(). */
	atomic_fence_seq_cst();
	return group_cancelled(parent) ? skua_group_cancel(group) : 0;
}

/* ---- errors ----------------------------------------------------------------- */

int skua_group_fail(struct skua_group *group, int error)
{
	uint32_t none = 0;

	if (!group || error >= 0)
		return -EINVAL;
	if (!runtime_alive(group->runtime))
		return -EOWNERDEAD;
	/* Release: writes before the error. Pairs with the acquire in
	 * skua_group_error(). */
	if (!atomic_cas_release(group_error(group), &none, (uint32_t)error))
		return -EALREADY;
	return skua_group_cancel(group);
}

int skua_group_error(const struct skua_group *group)
{
	/* Acquire: pairs with skua_group_fail(). */
	return group ? (int)atomic_load_acquire(group_error(group)) : -EINVAL;
}

static int may_wait(const struct skua_task *self,
		    const struct skua_group *group)
{
	if (!self || !group)
		return -EINVAL;
	if (!runtime_alive(group->runtime))
		return -EOWNERDEAD;
	return current_polls(self) ? 0 : -EPERM;
}

/* Is @self the waiter for the group, according to @state? */
static bool waited_by(struct skua_group *group, uint64_t state,
		      const struct skua_task *self)
{
	return (state & GROUP_WAIT_TASK) &&
	       atomic_load_relaxed(group_waiter(group)) == self;
}

int skua_group_wait_poll(struct skua_task *self, struct skua_group *group)
{
	int code = may_wait(self, group);
	uint64_t state;

	if (code)
		return code;
	/* Acquire: everything that the members did. Pairs with
	 * group_leave(). */
	state = atomic_load_acquire(group_state(group));
	if (waited_by(group, state, self)) {
		if (!(state & GROUP_TOLD)) {
			pool_track_wait(self, AREA_WAIT_GROUP,
					(uintptr_t)group);
			return -EAGAIN;
		}
		group_wait_end(group);
		return 0;
	}
	if (!group_wait_claim(group))
		return -EALREADY;
	atomic_store_relaxed(group_waiter(group), self);
	schedule_add_reference(self);
	pool_track_wait(self, AREA_WAIT_GROUP, (uintptr_t)group);
	if (group_wait_arm(group, GROUP_WAIT_TASK))
		return -EAGAIN;
	schedule_drop(self);
	group_wait_end(group);
	return 0;
}

int skua_group_wait_cancel(struct skua_task *self, struct skua_group *group)
{
	int code = may_wait(self, group);

	if (code)
		return code;
	/* Relaxed: @self wrote its own wait itself, and any other wait makes
	 * the check fail. */
	if (!waited_by(group, atomic_load_relaxed(group_state(group)), self))
		return -EINVAL;
	if (!group_wait_withdraw(group, GROUP_WAIT_TASK))
		return -EALREADY;
	schedule_drop(
		self); /* the reference with which a member would have woken it */
	return 0;
}

/* The same in a fiber. */
static int wait_by_fiber(struct skua_fiber *fiber, struct skua_group *group,
			 uint64_t deadline_ns)
{
	struct skua_wait wait = { .verb = &await_group,
				  .object = group,
				  .waiter = (uintptr_t)&fiber->task };

	if (!fiber_may_suspend(fiber))
		return -EDEADLK;
	/* The loop repeats when the fiber was woken for another cause. */
	for (;;) {
		int code = skua_group_wait_poll(&fiber->task, group);
		int give_up;

		if (code != -EAGAIN)
			return code;
		give_up = await_give_up(fiber, deadline_ns);
		if (give_up && !skua_group_wait_cancel(&fiber->task, group))
			return give_up;
		await_suspend(fiber, &wait, deadline_ns, give_up);
	}
}

int skua_group_wait_until(struct skua_group *group, uint64_t deadline_ns)
{
	struct skua_fiber *fiber = await_fiber();
	struct task_joiner joiner;
	int code;

	if (!group)
		return -EINVAL;
	if (!runtime_alive(group->runtime))
		return -EOWNERDEAD;
	/* If there is nothing to wait for, any thread may do this. */
	code = group_wait_claim_ended(group);
	if (code == 0) {
		group_wait_end(group);
		return 0;
	}
	if (fiber)
		return wait_by_fiber(fiber, group, deadline_ns);
	if (current_here())
		return code == -EALREADY ? code : -EDEADLK;
	if (!group_wait_claim(group))
		return -EALREADY;
	atomic_init(&joiner.done, 0);
	atomic_store_relaxed(group_waiter(group), &joiner);
	if (group_wait_arm(group, GROUP_WAIT_THREAD) &&
	    !task_joiner_wait_until(&joiner, deadline_ns)) {
		if (group_wait_withdraw(group, GROUP_WAIT_THREAD))
			return -ETIMEDOUT;
		/* Too late to withdraw: the last member knows where the joiner
		 * is, and wakes it. */
		task_joiner_wait(&joiner);
	}
	group_wait_end(group);
	return 0;
}

int skua_group_wait(struct skua_group *group)
{
	return skua_group_wait_until(group, UINT64_MAX);
}
