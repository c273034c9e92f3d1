/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/**
 * look.h - read a thread of a process from a BPF program: the task that it
 * works on, and its stack
 */
#ifndef SKUA_BPF_PROGRAMS_LOOK_H
#define SKUA_BPF_PROGRAMS_LOOK_H

#include "kernel.h"

#include <linux/bpf_perf_event.h> /* for struct pt_regs */

#include "sample.h"

const volatile unsigned tgid;
const volatile unsigned namespace; /* PID namespace of the process */

/* Key: gettid() of a worker's thread. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SAMPLE_WORKERS);
	__type(key, __u32);
	__type(value, struct sample_worker);
} workers SEC(".maps");

static inline bool read_word(__u64 address, __u64 *out)
{
	return bpf_probe_read_user(out, sizeof(*out), (void *)address) == 0;
}

/* read_function - read the function that a task runs: of a fiber, that of the program */
static inline bool read_function(const struct sample_worker *worker, __u64 task,
				 __u64 *out)
{
	__u64 at = worker->poll;
	__u32 flags = 0;

	if (worker->flags)
		bpf_probe_read_user(&flags, sizeof(flags),
				    (void *)(task + worker->flags));
	if (flags & SAMPLE_FIBER)
		at = worker->fiber;
	return read_word(task + at, out);
}

/* look - find the task that the current thread works on. @tid: its gettid().
 * The thread runs no code of its own meanwhile, so the words belong
 * together. */
static inline enum sample_of look(struct sample *sample, __u32 tid)
{
	struct sample_worker *worker = bpf_map_lookup_elem(&workers, &tid);
	__u64 word, task;

	if (!worker)
		return SAMPLE_OTHER;
	if (!read_word(worker->tid, &word))
		return SAMPLE_UNKNOWN;
	if (word != tid) /* no longer a worker's: the memory is used again */
		return SAMPLE_OTHER;
	if (!read_word(worker->state, &word) || !read_word(worker->task, &task))
		return SAMPLE_UNKNOWN;
	sample->state = (__u32)word;
	if (!task)
		return SAMPLE_STATE;
	if (!read_function(worker, task, &sample->poll) ||
	    !read_word(task + worker->type, &sample->type))
		return SAMPLE_UNKNOWN;
	return SAMPLE_TASK;
}

/* read_registers - read the user-mode registers of a thread, while it is in the
 * kernel */
static inline void read_registers(struct task_struct *task,
				  struct sample *sample)
{
	struct pt_regs *regs = (void *)bpf_task_pt_regs(task);

	sample->back = 0;
	bpf_probe_read_kernel(&sample->ip, 8, &PT_REGS_IP(regs));
	bpf_probe_read_kernel(&sample->sp, 8, &PT_REGS_SP(regs));
	bpf_probe_read_kernel(&sample->fp, 8, &PT_REGS_FP(regs));
#ifdef __TARGET_ARCH_arm64
	bpf_probe_read_kernel(&sample->back, 8, &PT_REGS_RET(regs));
#endif
}

/* read_stack - copy the stack of the current thread, as much as is readable */
static inline void read_stack(struct sample *sample)
{
	__u32 bytes = 0;

	for (; bytes < SAMPLE_STACK; bytes += SAMPLE_PIECE)
		if (bpf_probe_read_user(sample->stack + bytes, SAMPLE_PIECE,
					(void *)(sample->sp + bytes)) != 0)
			break;
	sample->bytes = bytes;
}

#endif
