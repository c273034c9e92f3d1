/* SPDX-License-Identifier: MIT */
/* tasks.h - the unfinished tasks of a process, and what they wait for */
#ifndef SKUA_BPF_TASKS_TASKS_H
#define SKUA_BPF_TASKS_TASKS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/target/target.h"

/* An upper bound: no version of the library has more slots. */
#define TASKS_MAX 65536u

/* Added to an enum area_wait_kind: then it is the wait of a struct area_task of a list, beside
 * the values of enum area_wait. The address of the object is in what. */
#define TASKS_WAIT_KIND UINT64_C(1000)

/* tasks_label - return the word that has the number of the label of a task of a list, from 1;
 * 0: the task has no label, or it is not known. The table of the process has no such word, so
 * this uses a reserved one of the copy */
static inline uint64_t *tasks_label(struct area_task *task)
{
	return &task->reserved[0];
}

/**
 * struct tasks - the tasks of a runtime at one moment
 * @runtime: its address
 * @at_ns: that moment, by CLOCK_MONOTONIC
 * @live: tasks spawned and not done; exact if no task is polled during the read
 * @queued: tasks in all queues
 * @tracked: whether the process keeps a table of tasks
 * @left_out: spawned tasks for which the table had no room
 * @list: the @count slots in use; the caller frees it with free()
 * @labels: the texts of all labels, in their order: label 1 is the first; the caller frees it
 *          with free()
 */
struct tasks {
	uint64_t runtime;
	uint64_t at_ns;
	uint64_t live;
	uint64_t queued;
	bool tracked;
	uint64_t left_out;
	struct area_task *list;
	unsigned count;
	char (*labels)[TARGET_NAME];
};

/* tasks_read_labels - set the label of each task, and @labels. Equal texts have one number.
 * Return: 0; -ENOMEM */
int tasks_read_labels(struct target *target,
		      const struct target_runtime *runtime,
		      struct tasks *tasks);

/* tasks_doing - describe what a task does or waits for, in a few words */
const char *tasks_doing(const struct area_task *task);

/* tasks_text, tasks_json - print the tasks; @each: list each task, too.
 * tasks_json() returns false if memory is short */
void tasks_text(struct target *target, const struct tasks *tasks, bool each);
bool tasks_json(struct target *target, const struct tasks *tasks);

#endif
