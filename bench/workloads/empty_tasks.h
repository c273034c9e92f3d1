/* SPDX-License-Identifier: MIT */
/**
 * empty_tasks.h - tasks that do nothing but count how often they ran
 *
 * The count is the task's own, and not atomic: a task that ran twice at once,
 * or whose runs are not ordered, is found out by the check.
 */
#ifndef SKUA_BENCH_WORKLOADS_EMPTY_TASKS_H
#define SKUA_BENCH_WORKLOADS_EMPTY_TASKS_H

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include "skua/skua.h"

struct empty_task {
	alignas(64) struct skua_task task; /* first: it is cast back */
	uint64_t runs;
};

struct empty_tasks {
	struct empty_task *task;
	uint64_t count;
};

/* empty_tasks_init - get memory. Return: 0; -ENOMEM. */
int empty_tasks_init(struct empty_tasks *tasks, uint64_t count);

/* empty_tasks_reset - none has run yet */
void empty_tasks_reset(struct empty_tasks *tasks);

/* empty_tasks_check - did each run @runs times? Says on stderr if not. */
bool empty_tasks_check(const struct empty_tasks *tasks, uint64_t runs,
		       const char *workload);

void empty_tasks_free(struct empty_tasks *tasks);

/* empty_task_poll - the poll function */
enum skua_poll empty_task_poll(struct skua_task *self);

#endif
