/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * count_probes.bpf.c - count what workers do, by their probes
 *
 * One program serves all probes; the cookie tells them apart. A worker hits its
 * probes on its own thread, so each value has one writer, and counts are exact.
 */
#include <linux/ptrace.h>

#include "kernel.h"
#include "maps.h"
#include "octave.h"

char LICENSE[] SEC("license") = KERNEL_LICENSE;

const volatile unsigned target;    /* process; 0: all with the probes */
const volatile unsigned namespace; /* inode of /proc/self/ns/pid */

__u64 lost; /* events for which a map had no room */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, COUNT_THREADS);
	__type(key, __u32);
	__type(value, struct count_worker);
} workers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, COUNT_THREADS);
	__type(key, __u32);
	__type(value, struct count_times);
} times SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, COUNT_PAIRS);
	__type(key, struct count_pair);
	__type(value, struct count_steals);
} matrix SEC(".maps");

/* At most this many ended threads are folded to make room for one pair. */
#define AT_ONCE 32u

static const __u32 all_ended = 0; /* key of the sum over ended workers */
static const struct count_worker no_worker;
static const struct count_times no_times;
static const struct count_steals no_steals;

static inline void count_lost(void)
{
	__atomic_fetch_add(&lost, 1, __ATOMIC_RELAXED);
}

static long fold_pair(void *map, const struct count_pair *pair,
		      const struct count_steals *steals, const __u32 *thread)
{
	struct count_pair one = *pair,
			  all = { .thief = one.thief, .victim = one.victim };
	struct count_steals had = *steals, *sum;

	(void)map;
	if (one.thread != *thread)
		return 0;
	sum = find(&matrix, &all, &no_steals);
	if (!sum) { /* the map is full: delete the pair first */
		bpf_map_delete_elem(&matrix, &one);
		sum = find(&matrix, &all, &no_steals);
	}
	if (!sum) {
		count_lost();
		return 0;
	}
	add(&sum->steals, &had.steals, sizeof(*sum) / sizeof(__u64));
	bpf_map_delete_elem(&matrix, &one);
	return 0;
}

static inline void fold(__u32 thread)
{
	struct count_worker *of = bpf_map_lookup_elem(&workers, &thread);
	struct count_times *histograms = bpf_map_lookup_elem(&times, &thread);
	struct count_worker *sum = find(&workers, &all_ended, &no_worker);
	struct count_times *sums = find(&times, &all_ended, &no_times);

	if (!of || !sum || !claim(&of->ended))
		return;
	add(&sum->steals, &of->steals,
	    (sizeof(*of) - offsetof(struct count_worker, steals)) /
		    sizeof(__u64));
	if (histograms && sums) {
		add(sums->steal, histograms->steal, COUNT_OCTAVES);
		add(sums->parked, histograms->parked, COUNT_OCTAVES);
	}
	__atomic_fetch_add(&sum->ended, 1, __ATOMIC_RELAXED);
	if (of->steals)
		bpf_for_each_map_elem(&matrix, fold_pair, &thread, 0);
	bpf_map_delete_elem(&workers, &thread);
	bpf_map_delete_elem(&times, &thread);
}

/* Find the pair's value, or add one. If the map is full, make room by folding
 * ended threads, as their pairs may fill it. */
static inline struct count_steals *find_pair(const struct count_pair *pair)
{
	struct count_steals *found = find(&matrix, pair, &no_steals);
	__u32 first;

	for (unsigned i = 0; !found && i < AT_ONCE; i++) {
		if (bpf_map_pop_elem(&ended, &first) != 0)
			break;
		fold(first);
		found = find(&matrix, pair, &no_steals);
	}
	return found;
}

/* Find the thread's value, or add one. A value that an ended thread with the
 * same number has left is folded first. */
static inline struct count_worker *find_worker(__u32 process, __u32 thread,
					       __u32 worker)
{
	struct count_worker *found = bpf_map_lookup_elem(&workers, &thread);
	struct count_worker fresh = { .process = process, .worker = worker };

	if (found && !found->ended) {
		found->worker = worker;
		return found;
	}
	if (found)
		fold(thread);
	fresh.thread =
		kernel_thread_id((void *)bpf_get_current_task(), namespace);
	return find(&workers, &thread, &fresh);
}

static inline void steal(struct count_worker *of, __u32 thread, __u64 victim,
			 __u64 n, __u64 latency_ns)
{
	struct count_pair pair = { thread, of->worker, (__u32)victim };
	struct count_times *histograms = find(&times, &thread, &no_times);
	struct count_steals *steals = find_pair(&pair);

	of->steals++;
	of->tasks_stolen += n;
	of->steal_ns += latency_ns;
	if (histograms)
		count_octave(histograms->steal, latency_ns);
	if (steals) {
		steals->steals++;
		steals->tasks += n;
	}
	if (!histograms || !steals)
		count_lost();
}

static inline void unpark(struct count_worker *of, __u32 thread,
			  __u64 parked_ns)
{
	struct count_times *histograms = find(&times, &thread, &no_times);

	of->unparks++;
	of->parked_ns += parked_ns;
	if (histograms)
		count_octave(histograms->parked, parked_ns);
	else
		count_lost();
}

SEC("uprobe")
int probe(struct pt_regs *ctx)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 process = id >> 32, thread = (__u32)id;
	__u64 second = PT_REGS_PARM2(ctx), third = PT_REGS_PARM3(ctx);
	struct count_worker *of;

	if (target && process != target)
		return 0;
	of = find_worker(process, thread, (__u32)PT_REGS_PARM1(ctx));
	if (!of) {
		count_lost();
		return 0;
	}
	switch (bpf_get_attach_cookie(ctx)) {
	case COUNT_STEAL:
		steal(of, thread, second, third, PT_REGS_PARM4(ctx));
		break;
	case COUNT_STEAL_FAIL:
		of->searches_failed++;
		of->looks += second;
		break;
	case COUNT_PARK:
		of->parks++;
		break;
	case COUNT_UNPARK:
		unpark(of, thread, second);
		break;
	case COUNT_LIFO_FLUSH:
		of->lifo_hits += second;
		of->lifo_polls += third;
		break;
	case COUNT_OVERFLOW:
		of->overflows++;
		of->tasks_overflowed += second;
		break;
	}
	return 0;
}

static inline void end_worker(__u32 thread)
{
	struct count_worker *of = bpf_map_lookup_elem(&workers, &thread);

	if (of && !of->ended) {
		of->ended = 1;
		end(thread);
	}
}

/* A thread ends, and hits no more probes. */
SEC("tp_btf/sched_process_exit")
int on_exit(__u64 *ctx)
{
	const struct task_struct *task = (void *)ctx[0];

	end_worker((__u32)task->pid);
	return 0;
}

/* If another thread than the first executes a program, it takes over the number
 * of the first thread. No thread then ends with its old number, so end that
 * here. */
SEC("tp_btf/sched_process_exec")
int on_exec(__u64 *ctx)
{
	const struct task_struct *task = (void *)ctx[0];
	__u32 before = (__u32)ctx[1];

	if ((__u32)task->pid != before)
		end_worker(before);
	return 0;
}
