/* SPDX-License-Identifier: MIT */
/**
 * stamps.h - how long some tasks wait in queues
 *
 * A task that is to be timed is stamped when it becomes runnable: for that once
 * its poll function is one of ours, which takes the time, puts the task's own
 * back and calls it. So a task that is not timed costs nothing. Stamps are in a
 * table of the pool, by the address of the task; where there is one already, the
 * task is not timed.
 */
#ifndef SKUA_CORE_LOOP_STAMPS_H
#define SKUA_CORE_LOOP_STAMPS_H

#include "core/base/atomic.h"
#include "skua/task.h"

#define STAMPS_LOG 8u
#define STAMPS     (1u << STAMPS_LOG)

/* Of so many tasks from outside one is timed: a prime, so that tasks that come in
 * turns are all timed. */
#define STAMPS_SAMPLE 251u

struct pool;

struct stamp {
	/* Writers: who stamps, 0 to 1; who polls, to 0. Guards the rest. */
	atomic_u32 taken;
	uint32_t weight; /* of how many waits it is one */
	skua_task_fn poll;
	uint64_t since_ns;
};

struct stamps {
	struct stamp stamps[STAMPS];
};

/**
 * stamps_put - time a task, if there is room
 * @task: that the caller is about to queue
 *
 * Threads: any.
 */
void stamps_put(struct pool *pool, struct skua_task *task, uint32_t weight);

/* stamps_poll - the poll function of a task that is going to be polled, stamped
 * or not */
skua_task_fn stamps_poll(const struct pool *pool, const struct skua_task *task);

#endif
