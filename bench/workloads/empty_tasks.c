/* SPDX-License-Identifier: MIT */
/* empty_tasks.c - see empty_tasks.h */
#include "bench/workloads/empty_tasks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

int empty_tasks_init(struct empty_tasks *tasks, uint64_t count)
{
	tasks->count = count;
	tasks->task = aligned_alloc(alignof(struct empty_task),
				    count * sizeof(*tasks->task));
	return tasks->task == NULL ? -ENOMEM : 0;
}

void empty_tasks_reset(struct empty_tasks *tasks)
{
	for (uint64_t i = 0; i < tasks->count; i++)
		tasks->task[i].runs = 0;
}

bool empty_tasks_check(const struct empty_tasks *tasks, uint64_t runs,
		       const char *workload)
{
	for (uint64_t i = 0; i < tasks->count; i++) {
		if (tasks->task[i].runs == runs)
			continue;
		fprintf(stderr, "%s: task %ju ran %ju times, not %ju\n",
			workload, (uintmax_t)i, (uintmax_t)tasks->task[i].runs,
			(uintmax_t)runs);
		return false;
	}
	return true;
}

void empty_tasks_free(struct empty_tasks *tasks)
{
	free(tasks->task);
}

enum skua_poll empty_task_poll(struct skua_task *self)
{
	((struct empty_task *)self)->runs++;
	return SKUA_DONE;
}
