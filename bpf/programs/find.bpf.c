/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* find.bpf.c - find the kernel's own number of a process, from its number in
 * another PID namespace */
#include "kernel.h"

char LICENSE[] SEC("license") = KERNEL_LICENSE;

struct bpf_iter__task {
	struct task_struct *task;
} KERNEL_STRUCT;

/* The PID namespace in which @number identifies the process: the inode that
 * /proc/self/ns/pid has there. */
const volatile unsigned namespace;
const volatile unsigned number;

unsigned found;

/* Runs once for each task. */
SEC("iter/task")
int find(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (task && task->pid == task->tgid &&
	    kernel_thread_id(task, namespace) == number)
		found = (unsigned)task->tgid;
	return 0;
}
