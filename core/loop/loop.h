/* SPDX-License-Identifier: MIT */
/* loop.h - the scheduler loop: find a task, poll it, sleep */
#ifndef SKUA_CORE_LOOP_LOOP_H
#define SKUA_CORE_LOOP_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct skua_task;
struct worker;

/* loop_run - run the scheduler loop on the calling thread until pool_stop() */
void loop_run(struct worker *worker);

/**
 * loop_drive - run the tasks, timers and pollers of a worker that has no thread
 * @worker: the driven worker; the calling thread is no worker of its pool
 * @deadline_ns: time of the monotonic clock; the call ends after the first tick
 *               that ends at or after it
 *
 * Return: true if there is more to do; false if the worker is parked, and its
 * parker tells the caller when to call again.
 */
bool loop_drive(struct worker *worker, uint64_t deadline_ns);

/**
 * loop_poll_within - poll a task within the poll that waits for it
 * @worker: the calling worker
 * @task: the task in the worker's LIFO slot
 *
 * Return: true if @task was polled. False if nothing was done: another thread
 * has taken @task, the tick is over, jobs are forked, polls are recorded, or
 * there are too many polls within each other already.
 */
bool loop_poll_within(struct worker *worker, struct skua_task *task);

#endif
