/* SPDX-License-Identifier: MIT */
/**
 * empty_tasks.h - tasks that only count how often they ran
 *
 * Each task has its own count, which is not atomic. The check therefore detects a task
 * that ran on two workers at once, or whose runs were not ordered.
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

/* empty_tasks_init - allocate the tasks. Return: 0; -ENOMEM. */
int empty_tasks_init(struct empty_tasks *tasks, uint64_t count);

/* empty_tasks_reset - set all counts to 0 */
void empty_tasks_reset(struct empty_tasks *tasks);

/* empty_tasks_check - return whether each task ran @runs times; if not, print on stderr
 * which one did not */
bool empty_tasks_check(const struct empty_tasks *tasks, uint64_t runs,
		       const char *workload);

void empty_tasks_free(struct empty_tasks *tasks);

/* empty_task_poll - count one run: the poll function of these tasks */
enum skua_poll empty_task_poll(struct skua_task *self);

#endif
