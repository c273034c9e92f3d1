/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/**
 * kernel.h - declarations of the kernel for BPF programs
 *
 * The structs have only the fields that are used here. When a program is
 * loaded, their offsets are adjusted to the running kernel (CO-RE), from the
 * type information that it provides. Only programs in this folder include this
 * file.
 */
#ifndef SKUA_BPF_PROGRAMS_KERNEL_H
#define SKUA_BPF_PROGRAMS_KERNEL_H

#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* Some helpers require a license compatible with the GPL. */
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

/* The largest number of nested PID namespaces (the kernel's
 * MAX_PID_NS_LEVEL). */
#define KERNEL_PID_LEVELS 33u

/* kernel_thread_id - return the thread's number in a PID namespace, as gettid()
 * there; 0 if the thread is not in it
 * @inum: the namespace, given by the inode that /proc/self/ns/pid has there */
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
