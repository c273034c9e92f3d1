/* SPDX-License-Identifier: MIT */
/* task_api.c - the public functions on tasks */
#include <errno.h>

#include "core/runtime.h"
#include "core/task.h"

int skua_task_init(struct skua_task *task, skua_task_fn fn)
{
	if (!task || !fn)
		return -EINVAL;
	*task = (struct skua_task)SKUA_TASK_INIT(fn);
	return 0;
}

int skua_task_spawn(struct skua_runtime *rt, struct skua_task *task)
{
	struct worker *worker;
	int code;

	if (!rt || !task || !task->poll)
		return -EINVAL;
	code = task_state_transition_to_spawned(task_state(task));
	if (code)
		return code;
	task->runtime = rt;
	worker = runtime_worker(rt);
	if (worker) {
		worker_spawn_owner(worker, task);
		return 0;
	}
	code = pool_spawn_outside(&rt->pool, task);
	if (code)
		task_state_transition_to_unspawned(task_state(task));
	return code;
}

int skua_task_join(struct skua_task *task)
{
	int code;

	if (!task)
		return -EINVAL;
	if (worker_current)
		return -EDEADLK;
	code = task_state_transition_to_claimed(task_state(task), true);
	if (code)
		return code;
	task_wait(task);
	task_state_transition_to_joined(task_state(task));
	return 0;
}

int skua_task_detach(struct skua_task *task, skua_release_fn release)
{
	int code;

	if (!task)
		return -EINVAL;
	code = task_state_transition_to_claimed(task_state(task), false);
	if (code)
		return code;
	task->release = release;
	if (!task_state_transition_to_ended_by(task_state(task),
					       TASK_DETACHED) &&
	    release)
		release(task);
	return 0;
}
