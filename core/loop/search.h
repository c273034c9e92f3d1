/* SPDX-License-Identifier: MIT */
/* search.h - a worker without a task: it searches for one, and sleeps */
#ifndef SKUA_CORE_LOOP_SEARCH_H
#define SKUA_CORE_LOOP_SEARCH_H

struct skua_task;
struct worker;

/* search_for_task - search, and sleep, until there is a task. Called by a worker whose own
 * queues are empty. Return: the task; NULL: there is a job in @worker->job, a timer or a poller
 * to run, or the worker must end */
struct skua_task *search_for_task(struct worker *worker);

/* search_check_drained - called by a worker out of work, which may be the last one: if no task
 * is left, wake the threads that wait for a drain */
void search_check_drained(struct worker *worker);

#endif
