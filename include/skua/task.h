/* SPDX-License-Identifier: MIT */
/* task.h - the unit of scheduling: a poll function and its state */
#ifndef SKUA_TASK_H
#define SKUA_TASK_H

#include <skua/base.h>

SKUA_BEGIN_DECLS

struct skua_runtime;
struct skua_task;

/**
 * enum skua_poll - what a poll function says of its task
 * @SKUA_DONE: finished; it is not polled again
 * @SKUA_YIELD: more to do; poll again after the others that wait
 */
enum skua_poll { SKUA_DONE = 0, SKUA_YIELD = 2 };

/**
 * skua_task_fn - the poll function of a task
 * @self: the task; the struct that embeds it holds the arguments and results
 *
 * Runs on a worker, never on two at once. Should return within microseconds,
 * and must not block: use SKUA_YIELD to let others run.
 */
typedef enum skua_poll (*skua_task_fn)(struct skua_task *self);

/**
 * skua_release_fn - gives the memory of a detached task back
 * @task: done; the library never touches it again
 */
typedef void (*skua_release_fn)(struct skua_task *task);

/**
 * struct skua_task - embed it in a struct of your own
 *
 * Initialise it with SKUA_TASK_INIT() or skua_task_init(); the fields are the
 * library's. Its memory must stay in place from spawn until one of: a join of
 * it returned 0; its release function was called; a drain of its runtime,
 * begun after the spawn, returned 0.
 */
struct skua_task {
	struct skua_task *next;
	uint64_t state;
	skua_task_fn poll;
	skua_release_fn release;
	struct skua_runtime *runtime;
	void *joiner;
	uint64_t reserved[2];
};

/* Initialiser for a task with poll function @fn that is going to be joined. */
/* clang-format off */
#define SKUA_TASK_INIT(fn) { NULL, 0, (fn), NULL, NULL, NULL, { 0, 0 } }
/* clang-format on */

/**
 * skua_task_init - make a task ready to spawn
 * @task: memory of the caller; no task that is queued or running
 * @fn: its poll function
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: 0; -EINVAL (an argument is NULL).
 */
SKUA_API int skua_task_init(struct skua_task *task, skua_task_fn fn);

/**
 * skua_task_spawn - queue a task to run on any worker
 * @rt: live runtime, borrowed
 * @task: initialised; see struct skua_task for how long it must live
 *
 * From a worker of @rt the task becomes that worker's next one; from
 * elsewhere it goes through the injection queue. Tasks run in no order that
 * the caller may rely on.
 *
 * Threads: any. Blocks: never. Allocates: nothing. Async-signal-safe.
 * Order: writes before the call are visible to the first poll.
 * Return: 0; -EINVAL (an argument is NULL, or the task has no poll function);
 * -EALREADY (it is queued, running, or done and not yet joined); -ESHUTDOWN
 * (the runtime is being destroyed: the task will not run).
 */
SKUA_API int skua_task_spawn(struct skua_runtime *rt, struct skua_task *task);

/**
 * skua_task_join - wait until a task is done
 * @task: spawned and not detached
 *
 * Afterwards the task's memory is the caller's, and the task may be spawned
 * again as it is.
 *
 * Threads: outside. Blocks: yes. Allocates: nothing.
 * Order: all that the task wrote is visible after the call.
 * Return: 0; -EINVAL (NULL, or never spawned); -EALREADY (detached, or another
 * thread joins it); -EDEADLK (called from a worker).
 */
SKUA_API int skua_task_join(struct skua_task *task);

/**
 * skua_task_detach - let a task end by itself
 * @task: initialised, spawned or done, and not yet joined or detached
 * @release: called once with the task when it is done, on the worker that
 *           polled it last, or from this call if it is done already; may be
 *           NULL for memory that needs no release
 *
 * A task that is already spawned must be detached by whoever may join it.
 *
 * Threads: any. Blocks: never. Allocates: nothing. Async-signal-safe if
 * @release is.
 * Return: 0; -EINVAL (NULL); -EALREADY (it is joined or detached already:
 * @release will not be called).
 */
SKUA_API int skua_task_detach(struct skua_task *task, skua_release_fn release);

SKUA_END_DECLS

#endif
