/* SPDX-License-Identifier: MIT */
/**
 * pool.h - what the workers of a runtime share, and when they are done
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
#ifndef SKUA_CORE_LOOP_POOL_H
#define SKUA_CORE_LOOP_POOL_H

#include "core/fork_join/team.h"
#include "core/config/config.h"
#include "core/idle/idle.h"
#include "core/queue/inject_queue.h"
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
struct worker;

#define POOL_OUTSIDE_SPAWN (UINT64_C(1) << 16)
#define POOL_OUTSIDE_CALL  UINT64_C(1)
/* Where the count of spawns begins again. */
#define POOL_SPAWNED_LIMIT (UINT64_C(1) << 48)

struct pool {
	/* Constant while the workers run. */
	struct worker **workers;
	unsigned worker_count;
	const struct llc_groups *groups;
	struct tuning tuning;
	/* Called by a worker at the end of a tick, when its affinity_due_ns has come;
	 * and what that needs. */
	void (*recheck_affinity)(struct worker *worker, uint64_t now_ns);
	struct affinity *affinity;
	struct stall_rest *rest; /* of the watcher of the workers; NULL: none */
	/* Of the process whose threads the workers are, and where the calling
	 * process's is (process_generation.h). */
	uint32_t generation;
	const uint32_t *generation_here;

	struct telemetry telemetry;

	struct work_map map;
	struct inject_queue urgent; /* of tasks that run before others */
	struct inject_queue inject;
	struct idle idle;
	struct sentinel sentinel;
	struct team team;

	/*
	 * [ spawned:48 | calls:16 ]: tasks spawned by threads that are no
	 * worker of this pool, and calls of such threads that are under way,
	 * after whose last one the pool may be freed. Writers: they. Readers:
	 * drains; the thread that destroys.
	 */
	alignas(CACHE_PAIR) atomic_u64 outside;
	/* Of the tasks spawned, those that no worker ends: refused after all, or
	 * calls of skua_run(). Wraps at 2^64. */
	atomic_u64 refused;

	/* Writers: a shutdown, 0 to 1. Readers: spawns from outside; workers. */
	alignas(CACHE_PAIR) atomic_u32 closing;
	atomic_u32 stopping;
	/* Threads that wait for a drain, or drive until a goal (drive.c). Writers:
	 * they. Readers: workers. */
	atomic_u32 drainers;
	/* The futex they sleep on: changes when the pool was found drained. */
	atomic_u32 drain_epoch;
	/* Called then, too, for those who sleep elsewhere; or NULL. Constant. */
	void (*on_drained)(void *ctx);
	void *on_drained_ctx;
};

/* pool_allocate - in zeroed memory, what a pool has besides its workers; to be given to
 * pool_free(), also on failure. Return: 0; -ENOMEM. */
int pool_allocate(struct pool *pool, const struct config *config,
		  const struct llc_groups *groups);

/**
 * pool_init - no task, and no worker runs; once the team has its members
 * @groups, @wait_samples: stay
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
 * While it knows of a task of the pool that cannot end meanwhile.
 */
static inline void pool_enter(struct pool *pool)
{
	/* Relaxed: the pool stays while that task does. */
	atomic_fetch_add_relaxed(&pool->outside, POOL_OUTSIDE_CALL);
}

/* pool_leave - end the call; the pool may be gone afterwards */
static inline void pool_leave(struct pool *pool)
{
	/* Release: all that the call did. Pairs with the acquire in
	 * pool_wait_calls(). */
	atomic_fetch_sub_release(&pool->outside, POOL_OUTSIDE_CALL);
}

/* pool_spawned_outside - how many tasks */
static inline uint64_t pool_spawned_outside(const struct pool *pool)
{
	/* Relaxed: ordered by the caller, or a statistic. */
	return atomic_load_relaxed(&pool->outside) / POOL_OUTSIDE_SPAWN;
}

/**
 * pool_enter_spawn - pool_enter(), and count a task spawned
 *
 * Return: 0, or -ESHUTDOWN: the task is not spawned. To be left either way.
 */
int pool_enter_spawn(struct pool *pool);

/* pool_end_spawn - what was counted is no task after all, or was done by the
 * caller */
void pool_end_spawn(struct pool *pool);

/* pool_wait_calls - wait until no call is under way; nobody begins one */
void pool_wait_calls(const struct pool *pool);

/* pool_alive - is this the process whose threads the workers are? */
static inline bool pool_alive(const struct pool *pool)
{
	return *pool->generation_here == pool->generation;
}

/* pool_full - are as many tasks queued as are allowed? */
static inline bool pool_full(const struct pool *pool)
{
	return pool->tuning.max_queued != TUNING_QUEUED_UNBOUNDED &&
	       inject_queue_length(&pool->inject) >= pool->tuning.max_queued;
}

/* pool_inject - queue a task through the injection queue; any thread */
void pool_inject(struct pool *pool, struct skua_task *task);

/* pool_inject_urgent - the same, through the urgent lane */
void pool_inject_urgent(struct pool *pool, struct skua_task *task);

/* pool_inject_home - the same, through its home worker's inbox */
void pool_inject_home(struct pool *pool, struct skua_task *task);

/* pool_add_poller - register a poller with a worker; any thread. Return: as
 * pollers_add() */
int pool_add_poller(struct pool *pool, unsigned worker,
		    struct skua_poller *poller);

/* pool_cancelling - are polls told to end? */
static inline bool pool_cancelling(const struct pool *pool)
{
	/* Relaxed: a request, of which no order is asked. */
	return atomic_load_relaxed(&pool->telemetry.poll_flags) & POLL_CANCEL;
}

/* pool_track_wait - what the task, which is being polled, has begun to wait for, as
 * track_wait() */
static inline void pool_track_wait(const struct skua_task *task,
				   enum area_wait wait, uint64_t what)
{
	struct pool *pool = task->pool;

	if (telemetry_tracks(&pool->telemetry))
		track_wait(&pool->telemetry, task, wait, what);
}

/* pool_live - tasks that are spawned and not done; 0 only if there was a moment
 * during the call without any */
uint64_t pool_live(const struct pool *pool);

/* pool_drained - was there a moment during the call without any task? */
bool pool_drained(const struct pool *pool);

/**
 * pool_check_drained - wake those that wait for a drain, if it is reached
 *
 * By a worker that found nothing to do, or a spawn that was refused; after a
 * fence.
 */
void pool_check_drained(struct pool *pool);

/**
 * pool_wait_drained - sleep until no task is left; not on a worker
 * @deadline_ns: of the clock; UINT64_MAX = never
 *
 * Return: false if the deadline came first.
 */
bool pool_wait_drained(struct pool *pool, uint64_t deadline_ns);

/* pool_close - refuse spawns from outside from now on */
void pool_close(struct pool *pool);

/* pool_next_timer_ns - a time before which no timer of the pool is due */
uint64_t pool_next_timer_ns(const struct pool *pool);

/* pool_cancel - tell each poll from now on that its task is cancelled; the caller then
 * fires all timers */
void pool_cancel(struct pool *pool);

/* pool_stop - make the workers of a drained pool return */
void pool_stop(struct pool *pool);

#endif
