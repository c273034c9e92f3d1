/* SPDX-License-Identifier: MIT */
/**
 * select_join.h - the end of a task, as a case of a select
 *
 * A join has no wait: the thread that ends the task wakes the joiner. If a task selects,
 * it is the joiner. If a thread does, the phase of the select's wait is: the thread that
 * ends the task adds WAIT_TOLD to it. A join that was armed can be withdrawn until the task
 * ends. If it ends before, and the select takes another case, the select gives the right to
 * join back: the task is then as if nobody had joined it.
 */
#ifndef SKUA_CORE_SELECT_SELECT_JOIN_H
#define SKUA_CORE_SELECT_SELECT_JOIN_H

#include "core/task/task.h"
#include "core/wait/wait.h"

/* select_join_try - join a task that has ended. Return: 0; -EAGAIN; -EINVAL (not
 * spawned); -EALREADY (another party has the right to join); -EOWNERDEAD */
int select_join_try(struct skua_task *task);

/* select_join_arm - join a task when it ends, for @select. Return: as above; -EAGAIN: it is
 * armed */
int select_join_arm(struct skua_task *task, struct skua_wait *select);

/* select_join_look - join a task if it has ended, after it was armed. Return: 0; -EAGAIN */
int select_join_look(struct skua_task *task);

/* select_join_withdraw - give up a join that was armed. Return: 0; 1 (the task had ended);
 * -EAGAIN (it is ending: the joiner will be woken) */
int select_join_withdraw(struct skua_task *task, struct skua_wait *select);

#endif
