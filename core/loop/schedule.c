/* SPDX-License-Identifier: MIT */
/* schedule.c - see schedule.h */
#include "core/loop/schedule.h"

#include "core/base/boundary.h"
#include "core/base/hot.h"
#include "core/task/group.h"
#include "core/loop/work.h"
#include "core/loop/current.h"
#include "core/loop/worker.h"

_Thread_local struct worker *current_worker;

/* Slow path for a task that telemetry records. A separate function, so that the
 * fast path saves no registers for it. */
static __attribute__((noinline, cold)) void told_owner(struct worker *worker,
						       struct skua_task *task)
{
	telemetry_ready(&worker->telemetry, task);
	work_schedule_owner(worker, task);
}

static __attribute__((noinline, cold)) void
told_outside(struct pool *pool, unsigned group, struct skua_task *task)
{
	telemetry_ready_outside(&pool->telemetry,
				&pool->inject[group].lanes[INJECT_NORMAL],
				task);
	pool_inject(pool, group, INJECT_NORMAL, task);
}

/* Queue an urgent or bound task: to the urgent lane, or to the inbox of its
 * home worker. A separate function, so that the fast path saves no registers
 * for it. */
static __attribute__((noinline)) void
schedule_apart(struct worker *worker, unsigned group, struct skua_task *task)
{
	struct pool *pool = task->pool;
	const struct inject_queue *queue;

	/* Relaxed, both: a hint. It is written once, because each worker reads its line. */
	if (atomic_load_relaxed(&pool->prioritises) == 0)
		atomic_store_relaxed(&pool->prioritises, 1);
	if (worker)
		group = worker->group;
	queue = task->home ? &pool->workers[task->home - 1]->inbox
			   : &pool->inject[group].lanes[INJECT_URGENT];
	if (worker && --worker->telemetry.until_ready == 0)
		telemetry_ready(&worker->telemetry, task);
	else if (!worker && telemetry_wants(&pool->telemetry, queue))
		telemetry_ready_outside(&pool->telemetry, queue, task);
	if (task->home != 0)
		pool_inject_home(pool, task);
	else
		pool_inject(pool, group, INJECT_URGENT, task);
}

static inline __attribute__((always_inline)) void
schedule_here(struct worker *worker, unsigned group, struct skua_task *task)
{
	struct pool *pool = task->pool;

	if (task->home != 0 || (task->flags & TASK_URGENT))
		schedule_apart(worker, group, task);
	else if (!worker &&
		 telemetry_wants(&pool->telemetry,
				 &pool->inject[group].lanes[INJECT_NORMAL]))
		told_outside(pool, group, task);
	else if (!worker)
		pool_inject(pool, group, INJECT_NORMAL, task);
	else if (--worker->telemetry.until_ready == 0)
		told_owner(worker, task);
	else
		work_schedule_owner(worker, task);
}

HOT void schedule_by(struct worker *worker, unsigned group,
		     struct skua_task *task)
{
	schedule_here(worker, group, task);
}

static __attribute__((noinline)) void schedule_outside(struct skua_task *task)
{
	struct pool *pool = task->pool;
	unsigned group = pool_enter(pool);

	schedule_here(NULL, group, task);
	pool_leave(pool, group);
}

HOT void schedule(struct skua_task *task)
{
	struct pool *pool = task->pool;
	struct worker *worker = current_worker;

	/* A child of fork() has no workers that could run it. */
	if (!pool_alive(pool))
		return;
	if (worker && worker->pool == pool)
		schedule_here(worker, 0, task);
	else
		schedule_outside(task);
}

void schedule_wake(struct skua_task *task)
{
	if (task_state_transition_to_woken(task_state(task), 0))
		schedule(task);
}

HOT void schedule_wake_by_value(struct skua_task *task)
{
	bool queue;

	if (!task_state_transition_to_woken_by_value(task_state(task), &queue))
		schedule_drop(task);
	else if (queue)
		schedule(task);
}

void schedule_add_references(struct skua_task *task, uint32_t count)
{
	if (count > 0 && current_lend(task))
		count--;
	if (count > 0)
		task_state_add_references(task_state(task), count);
}

HOT void schedule_add_reference(struct skua_task *task)
{
	schedule_add_references(task, 1);
}

void schedule_drop_polled(struct skua_task *task, uint32_t count)
{
	task_state_drop_polled(task_state(task), count);
}

static const struct task_state_drop one = { .references = 1 };

/* Drop references. If the task is a member of a group, its end may also end the
 * group. Inlined, as each task passes here at its end.
 * @leaves: see group_leave_ended() */
static inline __attribute__((always_inline)) struct task_end
give_back(struct skua_task *task, struct task_state_drop drop,
	  struct group_leaves *leaves)
{
	struct task_end end = task_drop(task, drop);

	if (__builtin_expect(!(end.bit & (TASK_END_GROUP | TASK_WITHDRAWN)),
			     true))
		return end;
	return end.bit == TASK_END_GROUP
		       ? group_leave_ended(end.what.group, task, leaves)
		       : task_drop_withdrawn(task, drop);
}

/*
 * Queue a task that was waiting for the end of another task. It goes to the
 * back of the worker's queue: the tasks before it may be more tasks that it
 * joins. Each of those that ends first spares the joiner a wait, a wake-up and
 * a poll.
 */
static void schedule_joiner(struct skua_task *task)
{
	struct worker *worker = current_here();

	if (worker && worker->pool == task->pool && task->home == 0 &&
	    !(task->flags & TASK_URGENT) &&
	    local_queue_length(worker->queue) > 0) {
		if (--worker->telemetry.until_ready == 0)
			telemetry_ready(&worker->telemetry, task);
		work_push_back_owner(worker, task);
	} else {
		schedule(task);
	}
}

/* Wake a task that was waiting for an end, and drop the reference held for
 * that. Returns false and does nothing if the task is COMPLETE. Otherwise the
 * task may be freed when this returns, unless it is queued here. */
static bool wake_joiner(struct skua_task *task)
{
	bool queue;

	if (!task_state_transition_to_woken_by_value(task_state(task), &queue))
		return false;
	if (queue)
		schedule_joiner(task);
	return true;
}

HOT void schedule_end(struct task_end end, struct skua_task *task)
{
	/* The joining task may already be COMPLETE, and this reference may be
	 * its last. Then its own end must be handled next: by a loop, not by
	 * recursion. */
	while (end.bit == TASK_END_TASK) {
		task = end.what.task;
		if (wake_joiner(task))
			return;
		end = give_back(task, one, NULL);
	}
	if (end.bit == TASK_END_THREAD)
		task_joiner_wake(end.what.joiner);
	else if (end.bit == TASK_END_DETACH && end.what.release)
		end.what.release(task);
	BOUNDARY(release);
}

void schedule_drop(struct skua_task *task)
{
	schedule_end(give_back(task, one, NULL), task);
}

HOT void schedule_complete(struct skua_task *task, bool spare,
			   struct group_leaves *leaves)
{
	struct task_state_drop all = { .references = 1 + (uint64_t)spare,
				       .complete = true };
	struct task_end end = give_back(task, all, leaves);

	if (__builtin_expect(end.bit != 0, false))
		schedule_end(end, task);
}
