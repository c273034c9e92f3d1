/* SPDX-License-Identifier: MIT */
/* pool.c - see pool.h */
#include "core/loop/pool.h"

#include <limits.h>
#include <sched.h>

#include "core/base/clock.h"
#include "core/base/hot.h"
#include "core/os/futex.h"
#include "core/loop/worker.h"

int pool_enter_spawn(struct pool *pool, unsigned group)
{
	/* Relaxed: the push publishes the count together with the task. For a
	 * refused task, the release in pool_end_spawn() publishes it. */
	atomic_fetch_add_relaxed(&pool->inject[group].outside,
				 POOL_OUTSIDE_SPAWN + POOL_OUTSIDE_CALL);
	/* Orders the count before the load of closing. Pairs with the fence in
	 * pool_close(): either the drain waits for this task, or the task is
	 * refused. */
	atomic_fence_updated_seq_cst();
	if (!atomic_load_relaxed(&pool->closing))
		return 0;
	pool_end_spawn(pool);
	return -ESHUTDOWN;
}

void pool_end_spawn(struct pool *pool)
{
	/* Release: the count of the spawn, and everything that the task did.
	 * Pairs with the acquire in pool_live(). */
	atomic_fetch_add_release(&pool->refused, 1);
	/* Orders the count before the load of drainers. Pairs with the fence in
	 * pool_wait_drained(). */
	atomic_fence_seq_cst();
	pool_check_drained(pool);
}

uint64_t pool_spawned_outside(const struct pool *pool)
{
	uint64_t spawned = 0;

	/* Relaxed: ordered by the caller, or a statistic. */
	for (unsigned g = 0; g < pool->groups->count; g++)
		spawned += atomic_load_relaxed(&pool->inject[g].outside) /
			   POOL_OUTSIDE_SPAWN;
	return spawned % POOL_SPAWNED_LIMIT;
}

void pool_wait_calls(const struct pool *pool)
{
	/* Acquire: everything that the calls did. Pairs with the release in
	 * pool_leave(). The loop repeats while a call is under way; each is a
	 * few instructions from its end. */
	for (unsigned g = 0; g < pool->groups->count; g++)
		while (atomic_load_acquire(&pool->inject[g].outside) %
			       POOL_OUTSIDE_SPAWN !=
		       0)
			sched_yield();
}

uint64_t pool_length(const struct pool *pool)
{
	uint64_t length = 0;

	for (unsigned g = 0; g < pool->groups->count; g++)
		length += inject_queue_length(
			&pool->inject[g].lanes[INJECT_NORMAL]);
	return length;
}

static inline void push(struct pool *pool, unsigned group,
			enum inject_lane lane, const struct inject_list *tasks)
{
	/* The workers of one group alone need no map. */
	bool groups = pool->idle.group_count > 1;

	if (groups && lane == INJECT_NORMAL)
		pool_count_queued(pool, (int64_t)tasks->count);
	inject_queue_push(&pool->inject[group].lanes[lane], tasks);
	/* I1, I9. Orders the push before the check of the bit in the map, and
	 * before the loads of the searchers and the parked bits in idle_wake().
	 * Pairs with the fences in inject_group_pass_by(), idle_park_begin() and
	 * idle_leave_search(). */
	atomic_fence_seq_cst();
	if (groups)
		inject_group_raise(&pool->map.lines[group], lane);
}

void pool_push(struct pool *pool, unsigned group, enum inject_lane lane,
	       const struct inject_list *tasks)
{
	push(pool, group, lane, tasks);
}

void pool_inject(struct pool *pool, unsigned group, enum inject_lane lane,
		 struct skua_task *task)
{
	struct inject_list list = { NULL, NULL, 0 };

	inject_list_append(&list, task_node(task));
	push(pool, group, lane, &list);
	idle_wake_injected(&pool->idle, group);
}

void pool_inject_home(struct pool *pool, struct skua_task *task)
{
	struct inject_list list = { NULL, NULL, 0 };
	unsigned home = task->home - 1;

	inject_list_append(&list, task_node(task));
	inject_queue_push(&pool->workers[home]->inbox, &list);
	/* Orders the push before the load of the parked bit, as the fence in
	 * pool_push() does. */
	atomic_fence_seq_cst();
	idle_wake_worker(&pool->idle, home);
}

int pool_add_poller(struct pool *pool, unsigned worker,
		    struct skua_poller *poller)
{
	int code = pollers_add(&pool->workers[worker]->pollers, poller);

	if (code)
		return code;
	/* As in pool_push(): orders the push before the load of the parked
	 * bit. The worker checks for added pollers before it sleeps. */
	atomic_fence_seq_cst();
	idle_wake_worker(&pool->idle, worker);
	return 0;
}

/* Computes the two sums that pool.h explains. */
uint64_t pool_live(const struct pool *pool)
{
	/*
	 * Acquire: makes the spawn of each task that is counted as finished
	 * visible to the loads below. Pairs with the release of refused in
	 * pool_end_spawn(), and that of finished in done() (loop.c).
	 */
	uint64_t finished = atomic_load_acquire(&pool->refused);
	uint64_t spawned;

	for (unsigned i = 0; i < pool->worker_count; i++)
		finished += atomic_load_acquire(&pool->workers[i]->finished);
	/* Relaxed loads: the acquires above order them. */
	spawned = pool_spawned_outside(pool);
	for (unsigned i = 0; i < pool->worker_count; i++)
		spawned += counter_read(
			&pool->workers[i]->area.counters.tasks_spawned);
	/* Spawns from outside are counted modulo 2^48. */
	return (spawned - finished) % POOL_SPAWNED_LIMIT;
}

bool pool_drained(const struct pool *pool)
{
	return pool_live(pool) == 0;
}

/* Does a thread wait for a drain? */
static bool draining(const struct pool *pool)
{
	/* Relaxed: ordered by the caller's fence. */
	return atomic_load_relaxed(&pool->drainers) != 0;
}

void pool_check_drained(struct pool *pool)
{
	if (!draining(pool) || !pool_drained(pool))
		return;
	/* Release: everything that the tasks wrote, which pool_live() acquired.
	 * Pairs with the acquire in pool_wait_drained(). */
	atomic_fetch_add_release(&pool->drain_epoch, 1);
	futex_wake(&pool->drain_epoch, INT_MAX);
	if (pool->on_drained)
		pool->on_drained(pool->on_drained_ctx);
}

void pool_check_last_at_work(struct pool *pool)
{
	/* In one group the counters are near. To skip the sums there, which
	 * leaves the end of a drain to the last park when two workers run out
	 * of work at the same time, made ping_pong with two workers 1.15 times
	 * slower: the drains end later, when the workers sleep already. */
	if (draining(pool) &&
	    (pool->groups->count == 1 || idle_at_work(&pool->idle) == 0))
		pool_check_drained(pool);
}

void pool_check_last_parked(struct pool *pool, bool searched)
{
	if (draining(pool) && (searched ? idle_all_parked(&pool->idle)
					: idle_at_work(&pool->idle) == 0))
		pool_check_drained(pool);
}

bool pool_wait_drained(struct pool *pool, uint64_t deadline_ns)
{
	bool done;

	/* Relaxed: ordered by the fence. */
	atomic_fetch_add_relaxed(&pool->drainers, 1);
	/*
	 * Orders the count before the sums. Pairs with the fence in
	 * idle_park_begin(), by a worker that runs out of work: either the sums
	 * here include the tasks that it finished, or it sees the count, and the
	 * last worker to park sums itself. Pairs in the same way with the fences
	 * in search_check_drained() and pool_end_spawn().
	 */
	atomic_fence_seq_cst();
	/* The loop repeats when tasks came after others were done, or when the
	 * futex woke the thread without cause. */
	for (;;) {
		/* Acquire: pairs with the release in pool_check_drained(). */
		uint32_t epoch = atomic_load_acquire(&pool->drain_epoch);

		done = pool_drained(pool);
		if (done || (deadline_ns != UINT64_MAX &&
			     clock_now_ns() >= deadline_ns))
			break;
		if (deadline_ns == UINT64_MAX)
			futex_wait(&pool->drain_epoch, epoch);
		else
			futex_wait_until(&pool->drain_epoch, epoch,
					 deadline_ns);
	}
	/* Relaxed: a worker that still sees the old count calls pool_drained()
	 * in vain. */
	atomic_fetch_sub_relaxed(&pool->drainers, 1);
	return done;
}

HOT uint64_t pool_group_next_timer_ns(const struct pool *pool, unsigned group)
{
	const struct timer_deadlines *deadlines = &pool->deadlines[group];
	uint64_t earliest = UINT64_MAX;

	for (unsigned i = 0; i < pool->groups->groups[group].count; i++) {
		/* Relaxed: the caller has issued a fence, or takes the time as
		 * a hint. */
		uint64_t next_ns = atomic_load_relaxed(&deadlines->next_ns[i]);

		if (next_ns < earliest)
			earliest = next_ns;
	}
	return earliest;
}

uint64_t pool_next_timer_ns(const struct pool *pool)
{
	uint64_t earliest = UINT64_MAX;

	for (unsigned g = 0; g < pool->groups->count; g++) {
		uint64_t next_ns = pool_group_next_timer_ns(pool, g);

		if (next_ns < earliest)
			earliest = next_ns;
	}
	return earliest;
}

void pool_close(struct pool *pool)
{
	/* Relaxed: ordered by the fence. */
	atomic_store_relaxed(&pool->closing, 1);
	/* Orders closing before the sums of the drain that follows. Pairs with
	 * the fence in pool_enter_spawn(). */
	atomic_fence_seq_cst();
}

void pool_cancel(struct pool *pool)
{
	/* Relaxed: a request. A task whose poll does not see it yet is polled
	 * again, or ends anyway. */
	atomic_fetch_or_relaxed(&pool->telemetry.poll_flags, POLL_CANCEL);
}

void pool_stop(struct pool *pool)
{
	/* Relaxed: ordered by the fence. */
	atomic_store_relaxed(&pool->stopping, 1);
	/* Orders stopping before the load of the parked bits. Pairs with the
	 * fence in idle_park_begin(): either the worker sees stopping before it
	 * sleeps, or it is woken. */
	atomic_fence_seq_cst();
	idle_wake_all(&pool->idle);
}
