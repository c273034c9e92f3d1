/* SPDX-License-Identifier: MIT */
/**
 * wait_sample.h - how long some tasks wait in queues
 *
 * A task that will be timed gets a sample when it becomes runnable: its next poll
 * calls a function of ours, which takes the time, puts the task's own function back
 * and calls it. So a task that is not timed costs nothing. Samples are in a table of
 * the runtime, by the address of the task; a task whose place is taken is not timed.
 */
#ifndef SKUA_CORE_TELEMETRY_WAIT_SAMPLE_H
#define SKUA_CORE_TELEMETRY_WAIT_SAMPLE_H

#include "core/base/atomic.h"
#include "skua/task.h"

#define WAIT_SAMPLES_LOG 8u
#define WAIT_SAMPLES     (1u << WAIT_SAMPLES_LOG)

/* Of so many tasks from outside one is timed: a prime, so that tasks that come in
 * turns are all timed. */
#define WAIT_SAMPLE_EACH 251u

struct wait_sample {
	/* Writers: the thread that queues the task, 0 to 1; the worker that polls
	 * it, to 0. Guards the rest. */
	atomic_u32 taken;
	uint32_t weight; /* the number of waits that this one stands for */
	skua_task_fn poll;
	uint64_t since_ns;
};

struct wait_samples {
	struct wait_sample samples[WAIT_SAMPLES];
};

/**
 * wait_sample_put - time a task, if there is room
 * @samples: the table; NULL: nothing is timed
 * @task: that the caller is about to queue
 * @instead: the function that its next poll calls, and that calls wait_sample_take()
 *
 * Threads: any.
 */
void wait_sample_put(struct wait_samples *samples, struct skua_task *task,
		     uint32_t weight, skua_task_fn instead);

/**
 * wait_sample_take - in a poll of @instead: give the task its function back
 * @since_ns: receives when the task was queued
 * @weight: receives that of wait_sample_put()
 *
 * Return: that function.
 */
skua_task_fn wait_sample_take(struct wait_samples *samples,
			      struct skua_task *task, uint64_t *since_ns,
			      uint32_t *weight);

/* wait_sample_poll - what wait_sample_take() would return */
skua_task_fn wait_sample_poll(const struct wait_samples *samples,
			      const struct skua_task *task);

#endif
