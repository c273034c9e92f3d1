/* SPDX-License-Identifier: MIT */
/* group.h - spawn many tasks, wait for all of them, cancel all of them */
#ifndef SKUA_GROUP_H
#define SKUA_GROUP_H

#include <skua/task.h>

SKUA_BEGIN_DECLS

struct skua_runtime;

/**
 * struct skua_group - tasks that a program waits for, or cancels, together
 *
 * Initialise it with skua_group_init(); the fields are private to the library. The
 * memory must stay in place until a wait for the group has returned 0. After that the
 * group may be used again without another initialisation, unless skua_group_fail() was
 * called.
 *
 * Tasks that end together, such as the parts of one request, need nothing else: the
 * memory of each task stays in place until the wait. For tasks that come and go, such
 * as the connections of a server, give the group a release function: the group then
 * releases each task when it has ended.
 */
struct skua_group {
	/* private: to the library */
	uint64_t state;
	union {
		void *joiner;
		struct skua_task *task;
	} waiter;
	void *members;
	/* Keeps the fields below, which each spawn and each end of a member read, out
	 * of the cache lines of those above, which they write. */
	uint64_t apart[13];
	struct skua_runtime *runtime;
	skua_release_fn release;
	/* The group that it is nested in, and the groups nested in it. */
	struct skua_group *parent, *first_child, *next, *previous;
	struct skua_group *next_to_cancel;
	uint32_t in_cancel;
	int32_t error;
};

/**
 * skua_group_init - initialise an empty group
 * @group: memory of the caller
 * @rt: live runtime, borrowed until the group's last wait has returned 0
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: 0; -EINVAL (an argument is NULL).
 */
SKUA_API int skua_group_init(struct skua_group *group, struct skua_runtime *rt);

/**
 * skua_group_set_release - release each member when it has ended
 * @group: initialised, and without members since its initialisation or its last wait
 * @release: called once for each member that has ended; the memory of the member then
 *           belongs to the program again. NULL (the state after skua_group_init()):
 *           members must stay in place until a wait
 *
 * One of these threads calls @release, before a wait for the group returns: the
 * worker that polled the task last; the thread that drops its last waker; or a thread
 * that cancels the group or spawns the member at the time of its end. A drain waits
 * only if the worker calls @release. The function may spawn tasks; skua_release_fn
 * says when.
 *
 * For each of the most members that were live at once, the group takes 16 to 32 bytes
 * from the allocator of the runtime. It returns them before a wait returns 0.
 *
 * Threads: any, while no other thread uses the group. Blocks: never. Allocates:
 * nothing.
 * Return: 0; -EINVAL (@group is NULL); -EALREADY (the group has or had members, and
 * no wait for it has returned 0 since).
 */
SKUA_API int skua_group_set_release(struct skua_group *group,
				    skua_release_fn release);

/**
 * skua_group_nest - make a group a part of another one
 * @group: initialised, of the same runtime as @parent, and without members since its
 *         initialisation or its last wait
 * @parent: initialised; the caller keeps it in place, for example because it is a member
 *          of @parent
 *
 * A cancel of @parent then cancels @group as well, and so on for the groups within it. A
 * wait for @parent returns only after a wait for @group has returned 0; that wait also
 * ends the nesting. This call clears the error of an earlier use of @group. If
 * @parent is cancelled already, @group is cancelled at once.
 *
 * A fiber whose wait for @group returned -ECANCELED or -ETIMEDOUT waits again before it
 * frees @group, with cancels hidden by skua_cancel_mask(), until the wait returns 0.
 *
 * Threads: any, while no other thread uses @group. Blocks: never, except for a lock that is
 * held for less than a microsecond for each group that is cancelled. Allocates: nothing.
 * Return: 0; -EINVAL (an argument is NULL, both are the same, or they are of different
 * runtimes); -EALREADY (@group is nested, or has or had members, and no wait for it has
 * returned 0 since); -EOWNERDEAD (in a forked child).
 */
SKUA_API int skua_group_nest(struct skua_group *group,
			     struct skua_group *parent);

/**
 * skua_group_fail - note that a member has failed, and cancel the others
 * @group: initialised, with a member that does not end before this call returns, such as
 *         the caller
 * @error: a negative errno value, or another negative number of the program
 *
 * The first error counts: skua_group_error() returns it. The group is then cancelled, as by
 * skua_group_cancel(). Later errors, of which many are of members that were cancelled,
 * change nothing. The cancel reaches the caller as well, if it is a member. The group that
 * @group is nested in is not cancelled: the code that waits for @group decides what its
 * error means. The wait itself returns 0.
 *
 * Code that gives up a group that it is not a member of, for example after -ETIMEDOUT of a
 * wait, calls skua_group_cancel() instead, and keeps its reason itself.
 *
 * Threads: any. Blocks: never, except as skua_group_nest(); the call may run the release
 * function. Allocates: nothing.
 * Order: writes before the first call are visible to the thread that reads the error after
 * a wait.
 * Return: 0 (it was the first error); -EALREADY (there was one before); -EINVAL (@group is
 * NULL, or @error is not negative); -EOWNERDEAD (in a forked child).
 */
SKUA_API int skua_group_fail(struct skua_group *group, int error);

/**
 * skua_group_error - return the first error of a group's members
 * @group: initialised
 *
 * The error stays after a wait: initialise or nest the group again before its next use.
 *
 * Threads: any that keeps the group in place. Blocks: never. Allocates: nothing.
 * Return: the error of the first skua_group_fail(); 0: there was none; -EINVAL (@group is
 * NULL).
 */
SKUA_API int skua_group_error(const struct skua_group *group);

/**
 * skua_group_spawn - spawn a task as a member of a group
 * @group: initialised
 * @task: initialised; not joined and not detached
 *
 * A member can be neither joined nor detached. Members may spawn further members. In
 * a group with a release function, the member may be released before this call
 * returns 0. In a group that is cancelled, the task is cancelled at once: its first
 * poll sees that.
 *
 * While a thread or task waits for the group, only members and release functions of
 * members may call this.
 *
 * As skua_task_spawn(), except that in a group with a release function the call
 * allocates when more members are live at once than ever before, and is not
 * async-signal-safe.
 * Return: as skua_task_spawn(); -EALREADY also if the task is detached, or if a
 * thread or task has the right to join it; -ENOMEM (the task stays the caller's).
 */
SKUA_API int skua_group_spawn(struct skua_group *group, struct skua_task *task);

/**
 * skua_group_live - return the number of members that have not ended
 * @group: initialised
 *
 * In a group with a release function, a member counts until that function has
 * returned. A nested group counts as a member.
 *
 * Threads: any that keeps the group in place. Blocks: never. Allocates: nothing.
 * Order: none; the number may be out of date.
 * Return: the number; 0 also if @group is NULL.
 */
SKUA_API uint64_t skua_group_live(const struct skua_group *group);

/**
 * skua_group_cancel - cancel all members of a group
 * @group: initialised
 *
 * Cancels each member as skua_task_cancel() does, and also each member that is
 * spawned later, until a wait returns 0. Each further call makes each member run once
 * more. In a group without a release function, a member that returns SKUA_PENDING for
 * the first time while the group is cancelled also runs once more.
 *
 * The call takes time for each member that has waited since the last wait for the
 * group; in a group with a release function, for each of the most members that were
 * live at once.
 *
 * Threads: any, also while another thread waits for the group: if members are left,
 * that wait returns only after this call. The caller keeps the group in place until
 * this call returns. Blocks: never, except as skua_group_nest() if groups are nested in
 * the group; the call may run the release function. Allocates: nothing.
 * Order: as skua_task_cancel().
 * Return: 0; -EINVAL (@group is NULL).
 */
SKUA_API int skua_group_cancel(struct skua_group *group);

/**
 * skua_group_wait - wait until all members of a group have ended
 * @group: initialised
 *
 * Threads: fibers and outside threads; any, if all members have ended, also in a release
 * function. Blocks: the fiber or thread. Allocates: nothing.
 * Order: all writes of the members are visible after the call.
 * Return: 0; -EINVAL (@group is NULL); -EALREADY (another thread or task waits for
 * the group); -ECANCELED (the calling fiber was cancelled: as -ETIMEDOUT below);
 * -EDEADLK (members are left, and the caller is a worker, but no fiber; or a fiber with a
 * context of skua_task_ctx()).
 */
SKUA_API int skua_group_wait(struct skua_group *group);

/**
 * skua_group_wait_until - wait until all members of a group have ended, or until a
 * deadline
 * @group: initialised
 * @deadline_ns: time of skua_now_ns() at which to give up. If it has passed, the call
 *         checks the group and does not wait. SKUA_FOREVER_NS: no deadline
 *
 * After -ETIMEDOUT the group is in the same state as before the call: its members go on,
 * any thread or task may wait for it, and any thread may spawn members.
 *
 * As skua_group_wait() in all other respects.
 * Return: as skua_group_wait(); -ETIMEDOUT (some members have not ended).
 */
SKUA_API int skua_group_wait_until(struct skua_group *group,
				   uint64_t deadline_ns);

/**
 * skua_group_wait_poll - wait for a group from the poll of a task
 * @self: task that is being polled; not a member of the group
 * @group: initialised
 *
 * If members are left, the first call makes @self the waiter of the group: the end of
 * the last member wakes @self, which then calls this again.
 *
 * As skua_task_join_poll() in all other respects.
 * Return: 0 (all members have ended); -EAGAIN (not yet: return SKUA_PENDING); -EINVAL
 * (an argument is NULL); -EALREADY (another thread or task waits for the group);
 * -EPERM (@self is not being polled).
 */
SKUA_API int skua_group_wait_poll(struct skua_task *self,
				  struct skua_group *group);

/**
 * skua_group_wait_cancel - give up the wait of a task for a group
 * @self: task that is being polled
 * @group: group for which skua_group_wait_poll() of @self returned -EAGAIN
 *
 * After a return of 0, any thread or task may wait for the group, also @self again.
 * The group does not wake @self any more, except that one wake-up may already be on
 * its way.
 *
 * As skua_task_join_cancel() in all other respects.
 * Return: 0; -EALREADY (all members have ended: call skua_group_wait_poll() again; it
 * returns 0, now or after the wake-up that is on its way); -EINVAL (an argument is
 * NULL, or @self does not wait for the group); -EPERM (@self is not being polled).
 */
SKUA_API int skua_group_wait_cancel(struct skua_task *self,
				    struct skua_group *group);

SKUA_END_DECLS

#endif
