/* SPDX-License-Identifier: MIT */
/* tasks.h - the tasks of a process that are not done, and what they wait for */
#ifndef SKUA_BPF_TASKS_TASKS_H
#define SKUA_BPF_TASKS_TASKS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/target/target.h"

/* More slots than any version of the library has. */
#define TASKS_MAX 65536u

/**
 * struct tasks - those of a runtime at some moment
 * @live: how many are spawned and not done; exact for some moment if nothing is
 *        polled meanwhile
 * @tracked: does the process keep a table?
 * @left_out: spawned tasks that found no room in it
 * @list: @count slots that are taken; to be freed
 */
struct tasks {
	uint64_t at_ns;
	uint64_t live;
	uint64_t queued;
	bool tracked;
	uint64_t left_out;
	struct area_task *list;
	unsigned count;
};

/* tasks_doing - what a task does, or waits for, in a few words */
const char *tasks_doing(const struct area_task *task);

/* tasks_text, tasks_json - print them; @each: also each one. Return: false: no
 * memory */
void tasks_text(struct target *target, const struct tasks *tasks, bool each);
bool tasks_json(struct target *target, const struct tasks *tasks);

#endif
