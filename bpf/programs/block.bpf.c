/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* block.bpf.c - record how long workers of a process sleep during polls, and
 * where */
#include "look.h"

#include <stddef.h>

#include "block.h"

char LICENSE[] SEC("license") = KERNEL_LICENSE;

struct bpf_iter__task {
	struct task_struct *task;
} KERNEL_STRUCT;

const volatile unsigned long long least_ns; /* shorter ones are only counted */

/* The tool adds an entry for each worker. on_switch() updates it when the worker loses
 * or gets a CPU; find_asleep() fills it once, at the start. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* the tool sets the size */
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct block);
} asleep SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24);
} blocks SEC(".maps");

unsigned long long times, sum_ns; /* all recorded sleeps, also short ones */
unsigned long long lost;          /* records that found no room */

/* Bits of task_struct.__state, as since Linux 4.20: __TASK_STOPPED,
 * __TASK_TRACED. */
#define STOPPED (0x4u | 0x8u)

static inline bool is_ours(struct task_struct *task)
{
	return (unsigned)BPF_CORE_READ(task, tgid) == tgid;
}

/* The current thread leaves the CPU: to sleep, or because it was preempted or
 * stopped. Record a sleep that happens in a poll. */
static void leave(struct task_struct *task, bool sleeps)
{
	__u32 tid = kernel_thread_id(task, namespace);
	struct block *block = bpf_map_lookup_elem(&asleep, &tid);

	if (!block)
		return;
	block->from_ns = 0;
	if (!sleeps)
		return;
	block->sample.of = look(&block->sample, tid);
	if (block->sample.of != SAMPLE_TASK)
		return;
	read_registers(bpf_get_current_task_btf(), &block->sample);
	read_stack(&block->sample);
	block->tid = tid;
	block->before = 0;
	block->from_ns = bpf_ktime_get_ns();
}

static void back(struct task_struct *task)
{
	__u32 tid = kernel_thread_id(task, namespace), bytes;
	struct block *block = bpf_map_lookup_elem(&asleep, &tid);

	if (!block || block->from_ns == 0)
		return;
	block->until_ns = bpf_ktime_get_ns();
	__atomic_fetch_add(&times, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&sum_ns, block->until_ns - block->from_ns,
			   __ATOMIC_RELAXED);
	bytes = block->sample.bytes;
	if (block->until_ns - block->from_ns >= least_ns &&
	    bytes <= SAMPLE_STACK &&
	    bpf_ringbuf_output(&blocks, block,
			       offsetof(struct block, sample.stack) + bytes,
			       BPF_RB_NO_WAKEUP) != 0)
		__atomic_fetch_add(&lost, 1, __ATOMIC_RELAXED);
	block->from_ns = 0;
}

/* Arguments: preempt, previous, next. */
SEC("raw_tp/sched_switch")
int on_switch(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *previous = (struct task_struct *)ctx->args[1];
	struct task_struct *next = (struct task_struct *)ctx->args[2];

	if (is_ours(previous)) {
		unsigned state = BPF_CORE_READ(previous, __state);

		leave(previous,
		      !ctx->args[0] && state != 0 && !(state & STOPPED));
	}
	if (is_ours(next))
		back(next);
	return 0;
}

/* Record the workers that already sleep. If one wakes up during the scan, its
 * next leave() discards the record before back() can send it. */
SEC("iter/task")
int find_asleep(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct block *block;
	unsigned state;
	__u32 tid;

	if (!task || !is_ours(task))
		return 0;
	state = BPF_CORE_READ(task, __state);
	if (state == 0 || state & STOPPED)
		return 0;
	tid = kernel_thread_id(task, namespace);
	block = bpf_map_lookup_elem(&asleep, &tid);
	if (!block || block->from_ns != 0)
		return 0;
	read_registers(task, &block->sample);
	block->tid = tid;
	block->before = 1;
	block->sample.of = SAMPLE_UNKNOWN;
	block->sample.bytes = 0;
	block->from_ns = bpf_ktime_get_ns();
	return 0;
}
