/* SPDX-License-Identifier: MIT */
/* group.h - spawn many tasks, wait for all, cancel all */
#ifndef SKUA_GROUP_H
#define SKUA_GROUP_H

#include <skua/task.h>

SKUA_BEGIN_DECLS

struct skua_runtime;

/**
 * struct skua_group - tasks that are waited for, and cancelled, together
 *
 * Initialise it with skua_group_init(); the fields are the library's. Its
 * memory must stay in place until a wait for it returned 0. After that it may be
 * used again as it is.
 *
 * Tasks that end together, such as the parts of one request, need no more: the
 * memory of each stays in place as long as the group's. For tasks that come
 * and go, such as the connections of a server, give the group a release function:
 * each task is let go when it has ended.
 */
struct skua_group {
	uint64_t state;
	union {
		void *joiner;
		struct skua_task *task;
	} waiter;
	void *members;
	struct skua_runtime *runtime;
	skua_release_fn release;
};

/**
 * skua_group_init - make an empty group
 * @group: memory of the caller
 * @rt: live runtime, borrowed until the group's last wait
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: 0; -EINVAL (an argument is NULL).
 */
SKUA_API int skua_group_init(struct skua_group *group, struct skua_runtime *rt);

/**
 * skua_group_set_release - let members go as they end
 * @group: initialised, and without members since then or since its last wait
 * @release: called once for each member that has ended: the memory is the
 *           program's again. NULL: members stay until a wait, as at first
 *
 * The worker that has polled the task calls it, or the thread that drops its last
 * waker, or one that cancels the group or spawns the task at that time; before a
 * wait returns. A drain waits for none of these threads but the worker. The function
 * may spawn tasks; skua_release_fn says when. The group takes 16 to 32 bytes for each
 * member, of the most that lived at once, from the runtime's allocator, and gives them
 * back before a wait returns 0.
 *
 * Threads: one that nobody else uses the group beside. Blocks: never.
 * Allocates: nothing. Return: 0; -EINVAL (@group is NULL); -EALREADY (it has or had
 * members, and was not waited for since).
 */
SKUA_API int skua_group_set_release(struct skua_group *group,
				    skua_release_fn release);

/**
 * skua_group_spawn - spawn a task as a member of the group
 * @group: initialised
 * @task: initialised, not joined or detached
 *
 * A member is neither joined nor detached. Members may spawn further ones. With a
 * release function a member may be released before this returns 0.
 * In a group that is cancelled the task is polled with that mark at once.
 *
 * As skua_task_spawn(); but while somebody waits for the group, only its
 * members, and release functions of its members, may call this. With a release
 * function it allocates when more members live at once than before, and is then
 * not async-signal-safe. Return: the same; -EALREADY also if the task is detached, or
 * somebody has the right to join it; -ENOMEM (the task is the caller's as before).
 */
SKUA_API int skua_group_spawn(struct skua_group *group, struct skua_task *task);

/**
 * skua_group_live - how many members have not ended
 * @group: initialised
 *
 * A member counts until its release function has returned.
 *
 * Threads: any that keeps the group in place. Blocks: never. Allocates: nothing.
 * Order: none; the number may be out of date. Return: 0 also if @group is NULL.
 */
SKUA_API uint64_t skua_group_live(const struct skua_group *group);

/**
 * skua_group_cancel - cancel all members
 * @group: initialised
 *
 * As skua_task_cancel() for each member, and for those that are spawned before
 * a wait returns 0. Each further call has each member polled once more.
 *
 * Takes time for each member since the last wait; in a group with a release
 * function, for each slot of the most that lived at once.
 *
 * Threads: any, also beside a wait: if members are left, that returns after this
 * call. The caller keeps the group in place until this call returns. Blocks: never. May call the release function.
 * Allocates: nothing. Order: as skua_task_cancel(). Return: 0; -EINVAL (NULL).
 */
SKUA_API int skua_group_cancel(struct skua_group *group);

/**
 * skua_group_wait - wait until all members have ended
 * @group: initialised
 *
 * Threads: outside. Blocks: yes. Allocates: nothing.
 * Order: all that the members wrote is visible after the call.
 * Return: 0; -EINVAL (NULL); -EALREADY (somebody else waits); -EDEADLK (called
 * from a worker).
 */
SKUA_API int skua_group_wait(struct skua_group *group);

/**
 * skua_group_wait_until - the same, but not beyond a time
 * @group: initialised
 * @deadline_ns: of skua_now_ns(); a time that has passed: look, and do not wait;
 *               SKUA_FOREVER_NS: no deadline
 *
 * After -ETIMEDOUT the group is as before the call: anybody may wait for it, or
 * spawn members.
 *
 * As skua_group_wait(). Return: the same; -ETIMEDOUT (there are members).
 */
SKUA_API int skua_group_wait_until(struct skua_group *group,
				   uint64_t deadline_ns);

/**
 * skua_group_wait_poll - wait for a group from the poll of a task
 * @self: the task that is being polled, no member of the group
 * @group: initialised
 *
 * As skua_task_join_poll().
 * Return: 0 (all ended); -EAGAIN (not yet: return SKUA_PENDING); -EINVAL
 * (NULL); -EALREADY (somebody else waits); -EPERM (@self is not being polled).
 */
SKUA_API int skua_group_wait_poll(struct skua_task *self,
				  struct skua_group *group);

/**
 * skua_group_wait_cancel - give the wait of a task up
 * @self: the task that is being polled
 * @group: for which skua_group_wait_poll() of @self returned -EAGAIN
 *
 * After 0 anybody may wait for the group, also @self again; it is not woken for it
 * any more, but once without cause perhaps.
 *
 * As skua_task_join_cancel(). Return: 0; -EALREADY (all members have ended:
 * skua_group_wait_poll() is still to be called, and returns 0, now or after a
 * wake-up that is on its way); -EINVAL (NULL, or @self does not wait for the
 * group); -EPERM (@self is not being polled).
 */
SKUA_API int skua_group_wait_cancel(struct skua_task *self,
				    struct skua_group *group);

SKUA_END_DECLS

#endif
