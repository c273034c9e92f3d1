/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* send_switches.bpf.c - report when threads of a process get a CPU or lose it,
 * and to which thread */
#include "kernel.h"

#include "probes/trace_file.h"

char LICENSE[] SEC("license") = KERNEL_LICENSE;

const volatile unsigned target;    /* tgid of the process */
const volatile unsigned namespace; /* PID namespace of reported threads */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22);
} switches SEC(".maps");

/* Bits of task_struct.__state, as since Linux 4.20: __TASK_STOPPED,
 * __TASK_TRACED. */
#define STOPPED (0x4u | 0x8u)

unsigned lost; /* records lost since the last one that had room */

static inline bool is_ours(struct task_struct *task)
{
	return (unsigned)BPF_CORE_READ(task, tgid) == target;
}

/* The thread of the process that was preempted on this CPU and still waits for
 * it; 0: none. If it moves to another CPU, it stays here until this CPU is
 * idle. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, unsigned);
	__type(value, unsigned);
} waiting SEC(".maps");

/* Send a record. It wakes no reader: the reader polls often enough. */
static inline void note(unsigned tid, struct task_struct *other,
			enum trace_switch_kind kind)
{
	uint64_t now = bpf_ktime_get_ns();
	struct trace_switch *to =
		bpf_ringbuf_reserve(&switches, sizeof(*to), 0);

	if (!to) {
		__atomic_fetch_add(&lost, 1, __ATOMIC_RELAXED);
		return;
	}
	to->ns = now;
	to->tid = tid;
	to->other = 0;
	to->kind = kind;
	to->lost = lost ? __atomic_exchange_n(&lost, 0, __ATOMIC_RELAXED) : 0;
	__builtin_memset(to->comm, 0, sizeof(to->comm));
	if (BPF_CORE_READ(other, pid) != 0) {
		to->other = kernel_thread_id(other, namespace);
		if (is_ours(other))
			BPF_CORE_READ_STR_INTO(&to->comm, other, comm);
		else
			BPF_CORE_READ_STR_INTO(&to->comm, other, group_leader,
					       comm);
	}
	bpf_ringbuf_submit(to, BPF_RB_NO_WAKEUP);
}

/* Arguments: preempt, previous, next. If @previous was woken while it goes to
 * sleep, its state is not "running" here yet: the kernel sets that after it has
 * left the CPU. */
SEC("raw_tp/sched_switch")
int on_switch(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *previous = (struct task_struct *)ctx->args[1];
	struct task_struct *next = (struct task_struct *)ctx->args[2];
	unsigned zero = 0, tid, comes;
	unsigned *waits = bpf_map_lookup_elem(&waiting, &zero);

	if (!waits)
		return 0;
	comes = is_ours(next) ? kernel_thread_id(next, namespace) : 0;
	if (is_ours(previous)) {
		unsigned state = BPF_CORE_READ(previous, __state);

		tid = kernel_thread_id(previous, namespace);
		if (ctx->args[0] || state == 0) {
			note(tid, next, TRACE_SWITCH_PREEMPTED);
			*waits = tid;
		} else {
			note(tid, next,
			     state & STOPPED ? TRACE_SWITCH_STOPPED
					     : TRACE_SWITCH_ASLEEP);
		}
	} else if (*waits && *waits != comes) {
		note(*waits, next, TRACE_SWITCH_INSTEAD);
	}
	if (comes) {
		note(comes, previous, TRACE_SWITCH_IN);
		if (*waits == comes)
			*waits = 0;
	} else if (BPF_CORE_READ(next, pid) == 0) {
		*waits = 0;
	}
	return 0;
}

SEC("raw_tp/sched_waking")
int on_waking(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx->args[0];

	if (is_ours(task))
		note(kernel_thread_id(task, namespace),
		     (struct task_struct *)bpf_get_current_task(),
		     TRACE_SWITCH_WOKEN);
	return 0;
}
