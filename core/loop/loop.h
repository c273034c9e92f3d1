/* SPDX-License-Identifier: MIT */
/* loop.h - the scheduler loop: find a task, poll it, sleep */
#ifndef SKUA_CORE_LOOP_LOOP_H
#define SKUA_CORE_LOOP_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct skua_task;
struct worker;

/* loop_run - the loop, on the calling thread, until pool_stop() */
void loop_run(struct worker *worker);

/**
 * loop_drive - run what is due on the calling thread, which is no worker
 * @deadline_ns: of the clock
 *
 * For a worker without a thread of its own. Return: whether there is more to
 * do; if not, the worker is parked, and its parker says when to come back.
 */
bool loop_drive(struct worker *worker, uint64_t deadline_ns);

/**
 * loop_poll_within - poll a task within the poll that waits for it
 * @task: to be polled next, as far as the caller has seen
 *
 * By the worker. Return: false: nothing was done, because another thread has taken
 * @task, the tick is over, jobs are forked, polls are recorded, or there are too many
 * polls within each other already.
 */
bool loop_poll_within(struct worker *worker, struct skua_task *task);

#endif
