/* SPDX-License-Identifier: MIT */
/**
 * pool.h - the state that the workers of a runtime share, and drains
 *
 * A drain must find out when no task is left. A counter of live tasks would be
 * written by every spawn of every worker. Instead, each worker counts the tasks
 * that it spawned and finished in words of its own, and a thread that waits for
 * the drain sums the counts: first all the finished, then all the spawned. Both
 * only grow, and each task that is included as finished is included as spawned,
 * because its spawn happens before its end. So if the sums are equal, then at the
 * moment between the two sums no task was alive (after Mattern, "Algorithms for
 * distributed termination detection", 1987).
 *
 * The sums read two lines of each worker. So, unless all workers are in one group,
 * not every worker that runs out of work computes them for the waiting thread. The
 * last worker to park does, which finds all others parked (IDLE.md, "Ending"). A
 * worker that runs out of work while all others search or are parked does so as
 * well, which is earlier.
 */
#ifndef SKUA_CORE_LOOP_POOL_H
#define SKUA_CORE_LOOP_POOL_H

#include "core/fork_join/team.h"
#include "core/config/config.h"
#include "core/driver/driver.h"
#include "core/idle/idle.h"
#include "core/queue/inject_group.h"
#include "core/loop/sentinel.h"
#include "core/base/tuning.h"
#include "core/telemetry/telemetry.h"
#include "core/telemetry/track.h"
#include "core/task/task.h"
#include "core/queue/work_map.h"
#include "probes/area.h"
#include "skua/runtime.h"

struct affinity;
struct skua_poller;
struct stall_rest;
struct timer_deadlines;
struct worker;

#define POOL_OUTSIDE_SPAWN (UINT64_C(1) << 16)
#define POOL_OUTSIDE_CALL  UINT64_C(1)
/* The count of spawns wraps at this number. */
#define POOL_SPAWNED_LIMIT (UINT64_C(1) << 48)

struct pool {
	/* Constant while the workers run. */
	struct worker **workers;
	unsigned worker_count;
	const struct llc_groups *groups;
	struct timer_deadlines *deadlines; /* by group */
	struct tuning tuning;
	bool membarrier; /* does membarrier_fence() work? (lifo_slot.h,
			  * fiber_cancel.h) */
	/* Called by a worker at the end of a tick when its affinity_due_ns has
	 * come; affinity holds the state for that. */
	void (*recheck_affinity)(struct worker *worker, uint64_t now_ns);
	struct affinity *affinity;
	/* Hands queued operations on files to the kernel. Workers and the sentinel call
	 * it when submit_due_ns has come, and workers without a task before. */
	void (*submit)(struct pool *pool);
	struct stall_rest *rest; /* of the stall watcher's thread; NULL: none */
	/* Generation of the process whose threads the workers are, and the
	 * address of the calling process's generation
	 * (process_generation.h). */
	uint32_t generation;
	const uint32_t *generation_here;
	/* 1: a task was urgent or bound. Writers: threads that make one runnable. Readers:
	 * workers. */
	atomic_u32 prioritises;

	struct telemetry telemetry;

	struct work_map map;
	struct inject_group *inject; /* one for each group */
	struct idle idle;
	struct sentinel sentinel;
	struct driver *drivers; /* one for each group */
	struct team team;

	/* 0: no operation on a file waits in a queue. Writers: threads that queue one, or
	 * take all, with a lock of core/file/. Readers: workers. */
	alignas(CACHE_PAIR) atomic_u64 submit_due_ns;

	/* Accepts that were put off because descriptors or memory were exhausted, and
	 * when that was last logged, of the monotonic clock; 0: never. Writers: any
	 * thread. */
	atomic_u64 accepts_delayed, delay_logged_ns;

	/* Number of tasks counted as spawned that no worker ends: spawns that
	 * were refused after all, and calls of skua_run(). Writers: any thread.
	 * Readers: drains. Wraps at 2^64. */
	alignas(CACHE_PAIR) atomic_u64 refused;
	/* Counts descriptors that threads which are no workers have attached to the groups
	 * in turn. Writers: those threads. */
	atomic_u32 attach_turn;
	/* Number of tasks in all injection queues; counted only if
	 * pool_counts_queued(). Writers: threads that push, before they push;
	 * takers, after. Readers: threads that spawn. */
	alignas(CACHE_PAIR) atomic_u64 queued;

	/* Writers: a shutdown, 0 to 1 each. Readers of closing: spawns from
	 * outside; of stopping: workers. */
	alignas(CACHE_PAIR) atomic_u32 closing;
	atomic_u32 stopping;
	/* Number of threads that wait for a drain, or drive until a goal
	 * (drive.c). Writers: those threads. Readers: workers. */
	atomic_u32 drainers;
	/* The futex that these threads sleep on. It is incremented when the
	 * pool was found drained. Writers: the threads that found it so.
	 * Readers: the sleeping threads. */
	atomic_u32 drain_epoch;
	/* Called at that moment too, for threads that sleep elsewhere; NULL:
	 * none. Constant. */
	void (*on_drained)(void *ctx);
	void *on_drained_ctx;
};

/* pool_allocate - allocate the memory of the pool, except that of its workers;
 * @pool is zeroed. The caller releases it with pool_free(), also after a
 * failure.
 * Return: 0; -ENOMEM. */
int pool_allocate(struct pool *pool, const struct config *config,
		  const struct llc_groups *groups);

/**
 * pool_init - initialise a pool without tasks and without running workers
 * @groups: borrowed for the lifetime of the pool
 * @wait_samples: borrowed for the lifetime of the pool
 *
 * The caller has set the members of the team before.
 *
 * Return: 0; or an error of process_generation_adopt().
 */
int pool_init(struct pool *pool, const struct config *config,
	      const struct llc_groups *groups,
	      struct wait_samples *wait_samples);

void pool_free(struct pool *pool, const struct config *config,
	       const struct llc_groups *groups);

/**
 * pool_enter - begin a call by a thread that is no worker of the pool
 *
 * The caller knows of a task of the pool that cannot end before this returns. The
 * pool may be freed only after the last of these calls.
 *
 * Return: the group of workers that is nearest to the caller, at which the call is
 * counted; the argument for pool_leave() and the functions below.
 */
static inline unsigned pool_enter(struct pool *pool)
{
	unsigned group = idle_group_here(&pool->idle);

	/* Relaxed: that task keeps the pool alive. */
	atomic_fetch_add_relaxed(&pool->inject[group].outside,
				 POOL_OUTSIDE_CALL);
	return group;
}

/* pool_leave - end a call that pool_enter() or pool_enter_spawn() began; the
 * pool may be freed at any moment afterwards */
static inline void pool_leave(struct pool *pool, unsigned group)
{
	/* Release: everything that the call did. Pairs with the acquire in
	 * pool_wait_calls(). */
	atomic_fetch_sub_release(&pool->inject[group].outside,
				 POOL_OUTSIDE_CALL);
}

/* pool_spawned_outside - return the number of tasks spawned by threads that are
 * no worker of the pool, modulo POOL_SPAWNED_LIMIT */
uint64_t pool_spawned_outside(const struct pool *pool);

/**
 * pool_enter_spawn - begin a call as pool_enter() does, and count a task as
 * spawned
 * @group: that of idle_group_here()
 *
 * Return: 0; -ESHUTDOWN: the task must not be spawned, and is not counted. The
 * caller calls pool_leave() in both cases.
 */
int pool_enter_spawn(struct pool *pool, unsigned group);

/* pool_end_spawn - count a task of pool_enter_spawn() as ended, because it was
 * refused after all, or because the caller did its work */
void pool_end_spawn(struct pool *pool);

/* pool_wait_calls - wait until no call is under way; no thread may begin
 * another one */
void pool_wait_calls(const struct pool *pool);

/* pool_alive - is the calling process the one whose threads the workers are? */
static inline bool pool_alive(const struct pool *pool)
{
	return *pool->generation_here == pool->generation;
}

/* pool_counts_queued - are the tasks of several injection queues bounded, so that
 * pool->queued counts them? To sum the queues' own counts at each spawn would take a
 * line of each group. */
static inline bool pool_counts_queued(const struct pool *pool)
{
	return pool->tuning.max_queued != TUNING_QUEUED_UNBOUNDED &&
	       pool->idle.group_count > 1;
}

/* pool_count_queued - count @tasks more in the injection queues; a negative number:
 * fewer */
static inline void pool_count_queued(struct pool *pool, int64_t tasks)
{
	/* Relaxed: an estimate for pool_full(). */
	if (pool_counts_queued(pool))
		atomic_fetch_add_relaxed(&pool->queued, (uint64_t)tasks);
}

/* pool_length - return the number of tasks in the injection queues of all groups;
 * an estimate. Threads: any. */
uint64_t pool_length(const struct pool *pool);

/* pool_full - do the injection queues hold the allowed number of tasks? */
static inline bool pool_full(const struct pool *pool)
{
	uint64_t queued;

	if (pool->tuning.max_queued == TUNING_QUEUED_UNBOUNDED)
		return false;
	/* Relaxed: threads that spawn at the same time may exceed the limit by
	 * one task each. */
	queued = pool_counts_queued(pool) ? atomic_load_relaxed(&pool->queued)
					  : pool_length(pool);
	return queued >= pool->tuning.max_queued;
}

/**
 * pool_push - push tasks to a queue of @group, and note it in the map
 *
 * Contains the fence of I1; the caller notifies. Threads: any.
 */
void pool_push(struct pool *pool, unsigned group, enum inject_lane lane,
	       const struct inject_list *tasks);

/* pool_inject - queue a task through the injection queue or the urgent lane of
 * @group, and wake a worker for it. Threads: any. */
void pool_inject(struct pool *pool, unsigned group, enum inject_lane lane,
		 struct skua_task *task);

/* pool_inject_home - queue a bound task through the inbox of its home worker,
 * and wake that worker. Threads: any. */
void pool_inject_home(struct pool *pool, struct skua_task *task);

/* pool_add_poller - register a poller with worker @worker and wake that worker.
 * Threads: any. Return: as pollers_add(). */
int pool_add_poller(struct pool *pool, unsigned worker,
		    struct skua_poller *poller);

/* pool_stopping - must the workers end? */
static inline bool pool_stopping(const struct pool *pool)
{
	/* Relaxed: ordered by the fence in idle_park_begin(), or by the
	 * acquire of the parked bit. */
	return atomic_load_relaxed(&pool->stopping) != 0;
}

/* pool_cancelling - do polls learn that their task is cancelled? */
static inline bool pool_cancelling(const struct pool *pool)
{
	/* Relaxed: a request; it orders nothing. */
	return atomic_load_relaxed(&pool->telemetry.poll_flags) & POLL_CANCEL;
}

/* pool_track_wait - if tasks are tracked, record what @task has begun to wait
 * for, as track_wait(). Called from the poll of @task. */
static inline void pool_track_wait(const struct skua_task *task,
				   enum area_wait wait, uint64_t what)
{
	struct pool *pool = task->pool;

	if (telemetry_tracks(&pool->telemetry))
		track_wait(&pool->telemetry, task, wait, what);
}

/* pool_submit_due - must the caller call pool.submit now? @idle: it has no task, so that
 * nothing that is queued needs to wait for more. */
static inline bool pool_submit_due(const struct pool *pool, uint64_t now_ns,
				   bool idle)
{
	/* Relaxed: a hint. */
	uint64_t due_ns = atomic_load_relaxed(&pool->submit_due_ns);

	return due_ns != 0 && (idle || now_ns >= due_ns);
}

/* pool_live - return the number of tasks that are spawned and not done. 0 only
 * if there was a moment during the call without any task. */
uint64_t pool_live(const struct pool *pool);

/* pool_drained - was there a moment during the call without any task? */
bool pool_drained(const struct pool *pool);

/**
 * pool_check_drained - if no task is left, wake the threads that wait for a
 * drain
 *
 * Called after a fence by a worker that never parks and found no work, and when
 * a task of pool_enter_spawn() has ended; or by the two functions below.
 */
void pool_check_drained(struct pool *pool);

/* pool_check_last_at_work - the same, if all workers search or are parked, or if
 * all workers are in one group, so that the waiting threads need not wait for
 * the last park. Called after a fence, by a worker that searches, or is in the only
 * group. */
void pool_check_last_at_work(struct pool *pool);

/* pool_check_last_parked - the same, if all workers are parked, or if all search or
 * are parked and this one has not searched. Called by a worker that parks, after
 * the fence in idle_park_begin(). */
void pool_check_last_parked(struct pool *pool, bool searched);

/**
 * pool_wait_drained - sleep until no task is left; not called on a worker
 * @deadline_ns: time of the monotonic clock; UINT64_MAX: never
 *
 * Return: true if the pool was drained; false if the deadline came first.
 */
bool pool_wait_drained(struct pool *pool, uint64_t deadline_ns);

/* pool_close - refuse spawns from outside from now on */
void pool_close(struct pool *pool);

/* pool_group_next_timer_ns - return a time before which no timer of the workers
 * of @group is due; UINT64_MAX if they have none */
uint64_t pool_group_next_timer_ns(const struct pool *pool, unsigned group);

/* pool_next_timer_ns - return a time before which no timer of the pool is due;
 * UINT64_MAX if there is no timer */
uint64_t pool_next_timer_ns(const struct pool *pool);

/* pool_cancel - make each poll from now on learn that its task is cancelled.
 * The caller then calls timers_fire_all(), so that tasks which wait for timers
 * are polled. */
void pool_cancel(struct pool *pool);

/* pool_stop - make the workers of a drained pool return */
void pool_stop(struct pool *pool);

#endif
