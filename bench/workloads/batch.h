/* SPDX-License-Identifier: MIT */
/**
 * batch.h - options of workloads that run batches of tasks
 *
 * One batch is too short to measure: the clock's resolution and other processes would
 * disturb it too much. A round is therefore several batches, one after the other.
 */
#ifndef SKUA_BENCH_WORKLOADS_BATCH_H
#define SKUA_BENCH_WORKLOADS_BATCH_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/cli/args.h"
#include "skua/skua.h"

/**
 * struct batch_options
 * @tasks: tasks in a batch
 * @repeat: batches in a round
 */
struct batch_options {
	uint64_t tasks;
	uint64_t repeat;
};

/* The command-line options of a struct batch_options, or of a struct that
 * begins with one. */
#define BATCH_OPTIONS                                                          \
	ARGS_NUMBER_OF(struct batch_options, "tasks", tasks, 1, 10000000, "N", \
		       "Tasks in a batch"),                                    \
		ARGS_NUMBER_OF(struct batch_options, "repeat", repeat, 1,      \
			       10000000, "N",                                  \
			       "Batches in a round, one after the other")

/* batch_params - return the options as a JSON object; NULL: no memory */
json_t *batch_params(const void *options);

/* batch_ops - return the operations of a round if each task is one operation */
static inline uint64_t batch_ops(const struct batch_options *options)
{
	return options->tasks * options->repeat;
}

/* batch_run - spawn a task that polls @fn, and wait until no task is left. Return: 0 or
 * a negative errno */
static inline int batch_run(struct skua_runtime *rt, struct skua_task *task,
			    skua_task_fn fn)
{
	int err;

	skua_task_init(task, fn);
	err = skua_task_spawn(rt, task);
	return err == 0 ? skua_runtime_drain(rt) : err;
}

/**
 * struct batch_driver - a task that spawns batches, and joins each
 * @task:  of the library; first: cast back
 * @spawn: spawn a batch. Return: 0 or a negative errno
 * @join:  join what is left of the batch. Return: 0; -EAGAIN (not yet: the task will be
 *         woken); another negative errno
 * @state: passed to both
 *
 * The others are private.
 */
struct batch_driver {
	struct skua_task task;
	int (*spawn)(void *state);
	int (*join)(struct skua_task *self, void *state);
	void *state;
	uint64_t left; /* batches */
	bool spawned;  /* the batch has been spawned */
	int err;
};

/* batch_drive - run @repeat batches one after the other, inside @driver. Return: 0 or a
 * negative errno */
int batch_drive(struct skua_runtime *rt, struct batch_driver *driver,
		uint64_t repeat);

#endif
