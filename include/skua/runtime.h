/* SPDX-License-Identifier: MIT */
/* runtime.h - create a set of workers, wait for their tasks, end them */
#ifndef SKUA_RUNTIME_H
#define SKUA_RUNTIME_H

#include <skua/base.h>

SKUA_BEGIN_DECLS

struct skua_runtime;

/* Flags of struct skua_config. */
#define SKUA_UNPINNED \
	(1u << 0) /* leave the placement of workers to the kernel */

#define SKUA_MAX_WORKERS        4096
#define SKUA_MIN_QUEUE_CAPACITY 4
#define SKUA_MAX_QUEUE_CAPACITY 32768
#define SKUA_MAX_STEAL_ATTEMPTS 1000000

/**
 * struct skua_config - how a runtime is made; zero means the default
 * @size: sizeof(struct skua_config), so that the struct can grow
 * @workers: worker threads, 1 to SKUA_MAX_WORKERS; 0 = one per allowed CPU
 * @cpus: CPUs to run on, as "0-3,8", within those the calling thread is
 *        allowed; NULL = all of them. Only read during the call.
 * @queue_capacity: slots of each local queue, a power of two from
 *        SKUA_MIN_QUEUE_CAPACITY to SKUA_MAX_QUEUE_CAPACITY; 0 = 256
 * @steal_attempts: rounds over the other workers' queues before a worker
 *        parks, 1 to SKUA_MAX_STEAL_ATTEMPTS; 0 = 32, or 1 when there are
 *        more workers than CPUs
 * @flags: SKUA_UNPINNED or 0
 */
struct skua_config {
	size_t size;
	unsigned workers;
	const char *cpus;
	uint32_t queue_capacity;
	uint32_t steal_attempts;
	unsigned flags;
};

/**
 * skua_runtime_create - start the workers
 * @out: receives the runtime; NULL on failure
 * @cfg: how; NULL = all defaults. Borrowed for the call.
 * @err: receives what was wrong on failure; may be NULL
 *
 * Worker i is named "skua-i", blocks every signal that may be blocked, and
 * is pinned to the i-th CPU chosen. Workers beyond the number of CPUs may run
 * on any of the chosen CPUs. The affinity of the calling thread is not
 * changed and never widened.
 *
 * Threads: any, also a worker of another runtime. Blocks: while the threads
 * are created. Allocates: yes.
 * Return: 0; -EINVAL (a value in @cfg is out of range, or a CPU in @cpus is
 * not allowed); -ENOMEM; -EAGAIN (no thread could be created). On failure
 * nothing remains.
 */
SKUA_API int skua_runtime_create(struct skua_runtime **out,
				 const struct skua_config *cfg,
				 struct skua_error *err);

/**
 * skua_runtime_drain - wait until no task is left
 * @rt: live runtime, borrowed
 *
 * Returns at a moment when every task spawned so far, and every task those
 * spawned, was done. Tasks spawned from outside meanwhile prolong the wait.
 * The memory of each task that was done is then the caller's again.
 *
 * Threads: outside; several may wait. Blocks: yes. Allocates: nothing.
 * Order: all that the tasks wrote is visible after the call.
 * Return: 0; -EINVAL (@rt is NULL); -EDEADLK (called from a worker).
 */
SKUA_API int skua_runtime_drain(struct skua_runtime *rt);

/**
 * skua_runtime_destroy - finish all tasks, end the workers, free the runtime
 * @rt: live runtime, owned by the call if it succeeds
 *
 * From the start of the call, spawning from outside is refused with
 * -ESHUTDOWN; tasks that are not done may still spawn others. No other call
 * on @rt may be in progress when this one returns.
 *
 * Threads: outside. Blocks: until the last task is done. Allocates: nothing.
 * Return: 0; -EINVAL (@rt is NULL); -EDEADLK (called from a worker, of any
 * runtime: @rt lives on).
 */
SKUA_API int skua_runtime_destroy(struct skua_runtime *rt);

/**
 * skua_runtime_workers - how many workers there are
 * @rt: live runtime, borrowed
 *
 * Threads: any. Blocks: never. Return: 1 or more; 0 if @rt is NULL.
 */
SKUA_API unsigned skua_runtime_workers(const struct skua_runtime *rt);

/**
 * skua_worker_index - which worker is calling
 * @rt: live runtime, borrowed
 *
 * Threads: any. Blocks: never.
 * Return: 0 to skua_runtime_workers() - 1; -ENOENT if the calling thread is
 * no worker of @rt; -EINVAL if @rt is NULL.
 */
SKUA_API int skua_worker_index(const struct skua_runtime *rt);

SKUA_END_DECLS

#endif
