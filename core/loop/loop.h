/* SPDX-License-Identifier: MIT */
/* loop.h - the scheduler loop: find a task, poll it, sleep */
#ifndef SKUA_CORE_LOOP_LOOP_H
#define SKUA_CORE_LOOP_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct driver_batch;
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

/* reap_owner - look for events of descriptors, if it is time, and make their tasks
 * runnable. @busy: the worker has tasks. Return: were there any? */
bool reap_owner(struct worker *w, uint64_t now_ns, bool busy);

/* reap_turn_owner - look for events of the group in w->group_turn, if it is another one and
 * its own workers have not looked for so long that they may all be in long polls (I11), and
 * make their tasks runnable. Return: were there any? */
bool reap_turn_owner(struct worker *w, uint64_t now_ns);

/* reap_leads - does the worker lead, or may it take the role when it sleeps? A hint.
 * Called by that worker. */
bool reap_leads(const struct worker *w);

/* reap_resign_if_long - leave the role of leader to another worker, if this worker has it
 * and its polls take long (I11). It is not the sentinel. */
void reap_resign_if_long(struct worker *w);

/* reap_deliver_owner - make the tasks of events runnable, in this worker's queues. The
 * caller runs one of them next; if it is a searcher, it leaves the search by I3. */
void reap_deliver_owner(struct worker *w, const struct driver_batch *batch);

#endif
