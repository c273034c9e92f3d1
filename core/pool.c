/* SPDX-License-Identifier: MIT */
/* pool.c - see pool.h */
#include "core/pool.h"

#include <limits.h>

#include "core/futex.h"
#include "core/worker.h"

int pool_spawn_outside(struct pool *pool, struct skua_task *task)
{
	struct inject_list list = { NULL, NULL, 0 };

	/* Relaxed: the push publishes it with the task; for a refused one, the
	 * release of refused below does. */
	atomic_fetch_add_relaxed(&pool->spawned_outside, 1);
	/* Orders the count before the look at closing. Pairs with the fence in
	 * pool_close(): either the drain waits for this task, or the task is
	 * refused. */
	atomic_fence_seq_cst();
	if (atomic_load_relaxed(&pool->closing)) {
		/* Release: the count above. Pairs with the acquire in
		 * drained(). */
		atomic_fetch_add_release(&pool->refused, 1);
		/* As at the end of a search: see pool_wait_drained(). */
		atomic_fence_seq_cst();
		pool_check_drained(pool);
		return -ESHUTDOWN;
	}
	inject_list_append(&list, task_node(task));
	inject_queue_push(&pool->inject, &list);
	idle_notify(&pool->idle);
	return 0;
}

/* The two sums of pool.h. */
static bool drained(const struct pool *pool)
{
	/*
	 * Acquire: the spawn of each task that is seen finished is seen below.
	 * Pairs with the releases of refused above and of finished in
	 * worker.c.
	 */
	uint64_t finished = atomic_load_acquire(&pool->refused);
	uint64_t spawned;

	for (unsigned i = 0; i < pool->worker_count; i++)
		finished += atomic_load_acquire(&pool->workers[i].finished);
	/* Relaxed: ordered by the acquires. */
	spawned = atomic_load_relaxed(&pool->spawned_outside);
	for (unsigned i = 0; i < pool->worker_count; i++)
		spawned +=
			counter_read(&pool->workers[i].counters.tasks_spawned);
	return spawned == finished;
}

void pool_check_drained(struct pool *pool)
{
	/* Relaxed: ordered by the caller's fence. */
	if (atomic_load_relaxed(&pool->drainers) == 0 || !drained(pool))
		return;
	/* Release: what the tasks wrote, which drained() acquired. Pairs with
	 * the acquire in pool_wait_drained(). */
	atomic_fetch_add_release(&pool->drain_epoch, 1);
	futex_wake(&pool->drain_epoch, INT_MAX);
}

void pool_wait_drained(struct pool *pool)
{
	/* Relaxed: ordered by the fence. */
	atomic_fetch_add_relaxed(&pool->drainers, 1);
	/*
	 * Orders the count before the sums. Pairs with the fence of a worker
	 * that runs out of work (wait_for_task()): either the sums here
	 * include what it finished, or it sees the count and sums itself.
	 */
	atomic_fence_seq_cst();
	/* A further round means that tasks came and went, or a wake-up without
	 * cause. */
	for (;;) {
		/* Acquire: pairs with the release in pool_check_drained(). */
		uint32_t epoch = atomic_load_acquire(&pool->drain_epoch);

		if (drained(pool))
			break;
		futex_wait(&pool->drain_epoch, epoch);
	}
	/* Relaxed: a worker that does not see it sums in vain. */
	atomic_fetch_sub_relaxed(&pool->drainers, 1);
}

void pool_close(struct pool *pool)
{
	/* Relaxed: ordered by the fence. */
	atomic_store_relaxed(&pool->closing, 1);
	/* Orders closing before the sums of the drain that follows. Pairs with
	 * the fence in pool_spawn_outside(). */
	atomic_fence_seq_cst();
}

void pool_stop(struct pool *pool)
{
	/* Relaxed: ordered by the fence. */
	atomic_store_relaxed(&pool->stopping, 1);
	/* Orders stopping before the look at the parked bits. Pairs with the
	 * fence in idle_park_begin(): either the worker sees it before it
	 * sleeps, or it is woken. */
	atomic_fence_seq_cst();
	idle_wake_all(&pool->idle);
}
