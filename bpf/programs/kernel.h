/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/**
 * kernel.h - what BPF programs need of the kernel
 *
 * Its structs have the fields that are used here, and no others: where they are is
 * put right when a program is loaded (CO-RE), by what the kernel that runs says of
 * itself. Only programs in this folder include this.
 */
#ifndef SKUA_BPF_PROGRAMS_KERNEL_H
#define SKUA_BPF_PROGRAMS_KERNEL_H

#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* Some helpers are for programs alone that can be had under the GPL. */
#define KERNEL_LICENSE "Dual MIT/GPL"

#define KERNEL_STRUCT __attribute__((preserve_access_index))

struct ns_common {
	unsigned int inum;
} KERNEL_STRUCT;

struct pid_namespace {
	struct ns_common ns;
} KERNEL_STRUCT;

struct upid {
	int nr;
	struct pid_namespace *ns;
} KERNEL_STRUCT;

struct pid {
	unsigned int level;
	struct upid numbers[1];
} KERNEL_STRUCT;

struct task_struct {
	unsigned int __state;
	int pid;
	int tgid;
	char comm[16];
	struct task_struct *group_leader;
	struct pid *thread_pid;
} KERNEL_STRUCT;

/* Of a namespace in a namespace, and so on, by the kernel's MAX_PID_NS_LEVEL. */
#define KERNEL_PID_LEVELS 33u

/* kernel_thread_id - of a thread, as gettid() is in a namespace; 0: it is not in it
 * @inum: of that namespace, the inode of /proc/self/ns/pid there */
static inline unsigned kernel_thread_id(struct task_struct *task, unsigned inum)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	unsigned level = BPF_CORE_READ(pid, level);
	void *numbers =
		(char *)pid + bpf_core_field_offset(struct pid, numbers);

	for (unsigned i = 0; i < KERNEL_PID_LEVELS && i <= level; i++) {
		struct upid *number = numbers;

		if (BPF_CORE_READ(number, ns, ns.inum) == inum)
			return (unsigned)BPF_CORE_READ(number, nr);
		numbers = (char *)numbers + bpf_core_type_size(struct upid);
	}
	return 0;
}

#endif
