/* SPDX-License-Identifier: MIT */
/* group.h - spawn many tasks, wait for all, cancel all */
#ifndef SKUA_GROUP_H
#define SKUA_GROUP_H

#include <skua/base.h>

SKUA_BEGIN_DECLS

struct skua_runtime;
struct skua_task;

/**
 * struct skua_group - tasks that end together
 *
 * Initialise it with skua_group_init(); the fields are the library's. Its
 * memory, and that of each of its tasks, must stay in place until a wait for
 * it returned 0. After that it may be used again as it is. A group is for work
 * that ends together; tasks that come and go are detached.
 */
struct skua_group {
	uint64_t state;
	union {
		void *joiner;
		struct skua_task *task;
	} waiter;
	struct skua_task *members;
	struct skua_runtime *runtime;
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
 * skua_group_spawn - spawn a task as a member of the group
 * @group: initialised
 * @task: initialised, not joined or detached
 *
 * A member is neither joined nor detached. Members may spawn further ones.
 * In a group that is cancelled the task is polled with that mark at once.
 *
 * As skua_task_spawn(); but while somebody waits for the group, only its
 * members may call this. Return: the same; -EALREADY also if somebody has the
 * right to join the task.
 */
SKUA_API int skua_group_spawn(struct skua_group *group, struct skua_task *task);

/**
 * skua_group_cancel - cancel all members
 * @group: initialised
 *
 * As skua_task_cancel() for each member, and for those that are spawned before
 * the wait returns.
 *
 * Threads: any that keeps the wait from returning meanwhile, as a member, or
 * the thread that waits afterwards. Blocks: never.
 * Allocates: nothing. Return: 0; -EINVAL (NULL).
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

SKUA_END_DECLS

#endif
