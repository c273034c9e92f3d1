/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* sample.bpf.c - what the threads of a process do when a clock ticks: for which task,
 * and in which functions */
#include "kernel.h"

#include <linux/bpf_perf_event.h>
#include <stddef.h>

#include "sample.h"

char LICENSE[] SEC("license") = KERNEL_LICENSE;

const volatile unsigned tgid;
const volatile unsigned namespace; /* of the process: what its gettid() is of */

/* By what gettid() is. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SAMPLE_WORKERS);
	__type(key, __u32);
	__type(value, struct sample_worker);
} workers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, SAMPLE_BUFFER_BYTES);
} samples SEC(".maps");

/* Too large for the stack of a program. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sample);
} scratch SEC(".maps");

/* Samples for which there was no room. */
unsigned long long lost;

static bool read_word(__u64 address, __u64 *out)
{
	return bpf_probe_read_user(out, sizeof(*out), (void *)address) == 0;
}

/* The thread is interrupted: its words belong together. */
static enum sample_of look(struct sample *sample, __u32 tid)
{
	struct sample_worker *worker = bpf_map_lookup_elem(&workers, &tid);
	__u64 word, task;

	if (!worker)
		return SAMPLE_OTHER;
	if (!read_word(worker->tid, &word))
		return SAMPLE_UNKNOWN;
	if (word != tid) /* it was one, and something else is there now */
		return SAMPLE_OTHER;
	if (!read_word(worker->state, &word) || !read_word(worker->task, &task))
		return SAMPLE_UNKNOWN;
	sample->state = (__u32)word;
	if (!task)
		return SAMPLE_STATE;
	if (!read_word(task + worker->poll, &sample->poll) ||
	    !read_word(task + worker->type, &sample->type))
		return SAMPLE_UNKNOWN;
	return SAMPLE_TASK;
}

SEC("perf_event")
int sample(struct bpf_perf_event_data *ctx)
{
	struct sample *sample;
	__u32 zero = 0;
	__u64 bytes;

	if (bpf_get_current_pid_tgid() >> 32 != tgid)
		return 0;
	sample = bpf_map_lookup_elem(&scratch, &zero);
	if (!sample)
		return 0;
	sample->state = 0;
	sample->type = sample->poll = 0;
	sample->of = look(
		sample,
		kernel_thread_id((struct task_struct *)bpf_get_current_task(),
				 namespace));
	/* Its addresses are the upper ones. */
	sample->kernel = (__s64)PT_REGS_IP(&ctx->regs) < 0;
	bytes = (__u64)bpf_get_stack(ctx, sample->frames,
				     sizeof(sample->frames), BPF_F_USER_STACK);
	if (bytes > sizeof(sample->frames)) /* or an error */
		bytes = 0;
	sample->count = (__u32)(bytes / sizeof(sample->frames[0]));
	if (bpf_ringbuf_output(&samples, sample,
			       offsetof(struct sample, frames) + bytes,
			       BPF_RB_NO_WAKEUP) != 0)
		__atomic_fetch_add(&lost, 1, __ATOMIC_RELAXED);
	return 0;
}
