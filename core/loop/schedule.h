/* SPDX-License-Identifier: MIT */
/* schedule.h - queue tasks that became runnable, and act on tasks that ended */
#ifndef SKUA_CORE_LOOP_SCHEDULE_H
#define SKUA_CORE_LOOP_SCHEDULE_H

#include "core/loop/pool.h"
#include "core/task/group.h"
#include "core/task/task.h"

/* schedule - queue a task that the caller has moved to ACTIVE or SCHEDULED.
 * Threads: any. */
void schedule(struct skua_task *task);

/*
 * schedule_by - as schedule(), with the calling worker known
 * @worker: the calling worker of the task's pool; NULL if the caller is an
 * outside thread, which has called pool_enter()
 * @group: what pool_enter() returned; unused if the caller is a worker
 *
 * The caller has checked that this process is the one the workers run in
 * (pool_alive()).
 */
void schedule_by(struct worker *worker, unsigned group, struct skua_task *task);

/* schedule_wake - make a task runnable. Threads: any that holds a reference. */
void schedule_wake(struct skua_task *task);

/* schedule_wake_by_value - make a task runnable and drop the caller's
 * reference */
void schedule_wake_by_value(struct skua_task *task);

/* schedule_add_reference - add a reference to a task. The caller holds another
 * reference, or is the task's own poll. */
void schedule_add_reference(struct skua_task *task);

/* schedule_add_references - as schedule_add_reference(), @count of them */
void schedule_add_references(struct skua_task *task, uint32_t count);

/* schedule_drop_polled - drop @count references to a task that the caller polls, so that
 * the last one is not among them */
void schedule_drop_polled(struct skua_task *task, uint32_t count);

/**
 * schedule_drop - drop one reference; if that ends the task, act on its end
 *
 * Threads: any. May call a release function.
 */
void schedule_drop(struct skua_task *task);

/* schedule_complete - mark a task complete after its last poll and drop the
 * worker's references. Called by the worker that polled it.
 * @spare: whether the spare reference has not been lent
 * @leaves: of the worker; see group_leave_ended() */
void schedule_complete(struct skua_task *task, bool spare,
		       struct group_leaves *leaves);

/* schedule_end - act on an end that a drop has reached: wake the joiner, or
 * call the release function
 * @task: the task that ended; NULL if the end is that of a group */
void schedule_end(struct task_end end, struct skua_task *task);

#endif
