/* SPDX-License-Identifier: MIT */
/**
 * pool.h - what the workers of a runtime share, and when they are done (L3)
 *
 * A drain has to know when no task is left. One counter of live tasks would be
 * written by every spawn of every worker. Instead each worker counts what it
 * spawned and what it finished, in words of its own, and the counts are summed
 * when somebody waits: first all the finished, then all the spawned. Both only
 * grow, and each task that was seen finished is seen spawned, because its
 * spawn happens before its end. So if the sums are equal, then at the moment
 * between the two sums no task was alive (after Mattern, "Algorithms for
 * distributed termination detection", 1987).
 */
#ifndef SKUA_CORE_POOL_H
#define SKUA_CORE_POOL_H

#include "core/idle.h"
#include "core/inject_queue.h"
#include "core/task.h"

struct worker;

struct pool {
	/* Constant while the workers run. */
	struct worker *workers;
	unsigned worker_count;
	uint32_t steal_attempts;

	struct inject_queue inject;
	struct idle idle;

	/* Writers: threads that are no worker of this pool. Readers: drains.
	 * Wrap at 2^64. */
	alignas(CACHE_PAIR) atomic_u64 spawned_outside;
	atomic_u64 refused; /* of these, refused after all */

	/* Writers: destroy, 0 to 1. Readers: spawns from outside; workers. */
	alignas(CACHE_PAIR) atomic_u32 closing;
	atomic_u32 stopping;
	/* Threads that wait for a drain. Writers: they. Readers: workers. */
	atomic_u32 drainers;
	/* What they sleep on: changes when the pool was found drained. */
	atomic_u32 drain_epoch;
};

/**
 * pool_spawn_outside - inject a task that is in state SCHEDULED
 *
 * Threads: any but a worker of this pool. Return: 0, or -ESHUTDOWN.
 */
int pool_spawn_outside(struct pool *pool, struct skua_task *task);

/**
 * pool_check_drained - wake those that wait for a drain, if it is reached
 *
 * By a worker that found nothing to do, after a fence.
 */
void pool_check_drained(struct pool *pool);

/* pool_wait_drained - sleep until no task is left; not on a worker */
void pool_wait_drained(struct pool *pool);

/* pool_close - refuse spawns from outside from now on */
void pool_close(struct pool *pool);

/* pool_stop - make the workers of a drained pool return */
void pool_stop(struct pool *pool);

#endif
