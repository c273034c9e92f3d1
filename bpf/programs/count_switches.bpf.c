/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * count_switches.bpf.c - count when threads of a process are off the CPU, and
 * why
 *
 * A thread that leaves the CPU although it could run on was preempted. Any
 * other thread sleeps, and from its wake-up on it waits for a CPU. The events
 * of one thread come one after the other. Some kernels do not run programs at
 * each switch: if certain threads leave, the arrival of the next thread is not
 * seen, and that thread then seems to leave twice. For other processes, a
 * switch only costs two comparisons.
 */
#include "kernel.h"
#include "maps.h"
#include "octave.h"

char LICENSE[] SEC("license") = KERNEL_LICENSE;

const volatile unsigned target;    /* process */
const volatile unsigned namespace; /* inode of /proc/self/ns/pid */

__u64 lost_switches; /* switches for which a map had no room */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, COUNT_THREADS);
	__type(key, __u32);
	__type(value, struct count_switches);
} switches SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, COUNT_THREADS);
	__type(key, __u32);
	__type(value, struct count_delays);
} delays SEC(".maps");

/* The map of count_probes.bpf.c, if that is attached; empty otherwise. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, COUNT_THREADS);
	__type(key, __u32);
	__type(value, struct count_worker);
} workers SEC(".maps");

#define STATE_DEAD 0x80 /* state of a thread at its last switch */

static const struct count_delays no_delays;
static const struct count_switches no_switches;

static inline void fold(__u32 thread)
{
	struct count_switches *of = bpf_map_lookup_elem(&switches, &thread);
	struct count_delays *histograms = bpf_map_lookup_elem(&delays, &thread);
	__u32 key = of && of->was_worker ? 0 : COUNT_OTHERS;
	struct count_switches *sum = find(&switches, &key, &no_switches);
	struct count_delays *sums = find(&delays, &key, &no_delays);

	if (!of || !sum || !claim(&of->ended))
		return;
	add(&sum->voluntary, &of->voluntary,
	    (offsetof(struct count_switches, left_ns) -
	     offsetof(struct count_switches, voluntary)) /
		    sizeof(__u64));
	if (histograms && sums) {
		add(sums->preempted, histograms->preempted, COUNT_OCTAVES);
		add(sums->wake, histograms->wake, COUNT_OCTAVES);
	}
	__atomic_fetch_add(&sum->ended, 1, __ATOMIC_RELAXED);
	bpf_map_delete_elem(&switches, &thread);
	bpf_map_delete_elem(&delays, &thread);
}

/* Find the thread's value, or add one. A value that an ended thread with the
 * same number has left is folded first. */
static inline struct count_switches *find_thread(struct task_struct *task)
{
	__u32 thread = (__u32)task->pid;
	struct count_switches *found = bpf_map_lookup_elem(&switches, &thread);
	struct count_switches fresh = { .process = target };

	if (found && !found->ended)
		return found;
	if (found)
		fold(thread);
	fresh.thread = kernel_thread_id(task, namespace);
	bpf_map_update_elem(&delays, &thread, &no_delays, BPF_NOEXIST);
	return find(&switches, &thread, &fresh);
}

static inline void leave(struct task_struct *task, bool preempt)
{
	struct count_switches *of = find_thread(task);
	__u32 thread = (__u32)task->pid;

	if (!of) {
		__atomic_fetch_add(&lost_switches, 1, __ATOMIC_RELAXED);
		return;
	}
	if (of->left_ns && of->preempted)
		of->unseen++;
	/* The state alone is not enough: a thread that is about to sleep has
	 * set it already, and may still be preempted before. */
	of->preempted = preempt || task->__state == 0;
	if (of->preempted)
		of->involuntary++;
	else
		of->voluntary++;
	of->woken_ns = 0;
	of->left_ns = bpf_ktime_get_ns();
	if (task->__state == STATE_DEAD) {
		of->was_worker = bpf_map_lookup_elem(&workers, &thread) != NULL;
		of->ended = 1;
		end(thread);
	}
}

static inline void enter(struct task_struct *task)
{
	__u32 thread = (__u32)task->pid;
	struct count_switches *of = bpf_map_lookup_elem(&switches, &thread);
	struct count_delays *histograms = bpf_map_lookup_elem(&delays, &thread);
	__u64 now = bpf_ktime_get_ns();

	/* It left the CPU before the program was attached. */
	if (!of || !histograms || of->ended || !of->left_ns)
		return;
	if (of->preempted) {
		of->preempted_ns += now - of->left_ns;
		count_octave(histograms->preempted, now - of->left_ns);
	} else if (of->woken_ns) {
		of->slept_ns += of->woken_ns - of->left_ns;
		of->wakes++;
		of->wake_ns += now - of->woken_ns;
		count_octave(histograms->wake, now - of->woken_ns);
	}
	of->left_ns = 0;
}

/* Arguments: preempt, previous, next. */
SEC("tp_btf/sched_switch")
int on_switch(__u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];

	if ((unsigned)prev->tgid == target)
		leave(prev, ctx[0] & 1);
	if ((unsigned)next->tgid == target)
		enter(next);
	return 0;
}

SEC("tp_btf/sched_wakeup")
int on_wakeup(__u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	__u32 thread = (__u32)task->pid;
	struct count_switches *of;

	if ((unsigned)task->tgid != target)
		return 0;
	of = bpf_map_lookup_elem(&switches, &thread);
	if (of)
		of->woken_ns = bpf_ktime_get_ns();
	return 0;
}
