/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* find.bpf.c - what the kernel itself calls a process that another namespace calls
 * by another number */
#include "kernel.h"

char LICENSE[] SEC("license") = KERNEL_LICENSE;

struct bpf_iter__task {
	struct task_struct *task;
} KERNEL_STRUCT;

const volatile unsigned namespace; /* of the number: inode of its /proc/self/ns/pid */
const volatile unsigned number;

unsigned found;

/* Each task once. */
SEC("iter/task")
int find(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (task && task->pid == task->tgid &&
	    kernel_thread_id(task, namespace) == number)
		found = (unsigned)task->tgid;
	return 0;
}
