/* SPDX-License-Identifier: MIT */
/* schedule.h - where a task goes that became runnable, or has ended */
#ifndef SKUA_CORE_LOOP_SCHEDULE_H
#define SKUA_CORE_LOOP_SCHEDULE_H

#include "core/loop/pool.h"
#include "core/task/task.h"

/* schedule - queue a task that the caller made ACTIVE or SCHEDULED; any
 * thread */
void schedule(struct skua_task *task);

/* schedule_by - the same; @worker: the calling worker of the task's pool, or
 * NULL for a thread that is none and has entered it; in a process that has it */
void schedule_by(struct worker *worker, struct skua_task *task);

/* schedule_wake - make a task runnable; any thread that has a reference */
void schedule_wake(struct skua_task *task);

/* schedule_wake_by_value - the same, and give the reference back */
void schedule_wake_by_value(struct skua_task *task);

/* schedule_add_reference - by the holder of another one, or the task's poll */
void schedule_add_reference(struct skua_task *task);

/**
 * schedule_drop - give a reference back, and act for the end if it is reached
 *
 * Any thread. May call a release function.
 */
void schedule_drop(struct skua_task *task);

/* schedule_complete - the same, by the worker whose poll of the task was the
 * last one; @spare: the spare reference is still there */
void schedule_complete(struct skua_task *task, bool spare);

/* schedule_end - the same for an end that is reached: of @task, or, if that is
 * NULL, of a group */
void schedule_end(struct task_end end, struct skua_task *task);

#endif
