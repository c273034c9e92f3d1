/* SPDX-License-Identifier: MIT */
/**
 * wait_sample.h - measure how long some tasks wait in queues
 *
 * When a task becomes runnable, and its wait should be timed, it gets a sample:
 * its poll function is replaced by one of ours. That function reads the clock,
 * puts the task's own function back, and calls it. So a task that is not timed
 * costs nothing. The samples are in a table of the runtime, each in a place
 * that the task's address chooses; a task whose place is taken is not timed.
 */
#ifndef SKUA_CORE_TELEMETRY_WAIT_SAMPLE_H
#define SKUA_CORE_TELEMETRY_WAIT_SAMPLE_H

#include "core/base/atomic.h"
#include "skua/task.h"

#define WAIT_SAMPLES_LOG 8u
#define WAIT_SAMPLES     (1u << WAIT_SAMPLES_LOG)

/* One in this many tasks from outside is timed. A prime, so that each of
 * several tasks that come by turns is timed at some time. */
#define WAIT_SAMPLE_EACH 251u

struct wait_sample {
	/* 1: the place is taken; guards the other fields. Writers: the thread
	 * that queues the task, 0 to 1; the worker that polls it, to 0. */
	atomic_u32 taken;
	uint32_t weight; /* the number of waits that this one stands for */
	skua_task_fn poll;
	uint64_t since_ns;
};

struct wait_samples {
	struct wait_sample samples[WAIT_SAMPLES];
};

/**
 * wait_sample_put - time the wait of a task, if its place is free
 * @samples: the table; NULL: nothing is timed
 * @task: the caller is about to queue it
 * @weight: the number of waits that this one stands for
 * @instead: the function that its next poll calls; it calls wait_sample_take()
 *
 * Threads: any.
 */
void wait_sample_put(struct wait_samples *samples, struct skua_task *task,
		     uint32_t weight, skua_task_fn instead);

/**
 * wait_sample_take - end a sample: give the task its own function back; called
 * in the poll by the function that replaced it
 * @since_ns: receives when the task was queued
 * @weight: receives that of wait_sample_put()
 *
 * Return: the task's own poll function.
 */
skua_task_fn wait_sample_take(struct wait_samples *samples,
			      struct skua_task *task, uint64_t *since_ns,
			      uint32_t *weight);

/* wait_sample_poll - return the own poll function of a task that has a
 * sample */
skua_task_fn wait_sample_poll(const struct wait_samples *samples,
			      const struct skua_task *task);

#endif
