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
const volatile bool kernel_stacks; /* whether they are wanted */

/* By what gettid() is. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SAMPLE_WORKERS);
	__type(key, __u32);
	__type(value, struct sample_worker);
} workers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* the tool says how much, by CPUs */
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

/* Of the thread in user mode, also while the kernel works for it. */
static void read_registers(struct bpf_perf_event_data *ctx,
			   struct sample *sample)
{
	struct pt_regs *regs;

	sample->back = 0;
	/* Its addresses are the upper ones. */
	sample->kernel = (__s64)PT_REGS_IP(&ctx->regs) < 0;
	if (!sample->kernel) {
		sample->ip = PT_REGS_IP(&ctx->regs);
		sample->sp = PT_REGS_SP(&ctx->regs);
		sample->fp = PT_REGS_FP(&ctx->regs);
#ifdef __TARGET_ARCH_arm64
		sample->back = PT_REGS_RET(&ctx->regs);
#endif
		return;
	}
	regs = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	bpf_probe_read_kernel(&sample->ip, 8, &PT_REGS_IP(regs));
	bpf_probe_read_kernel(&sample->sp, 8, &PT_REGS_SP(regs));
	bpf_probe_read_kernel(&sample->fp, 8, &PT_REGS_FP(regs));
#ifdef __TARGET_ARCH_arm64
	bpf_probe_read_kernel(&sample->back, 8, &PT_REGS_RET(regs));
#endif
}

static void read_kernel_stack(struct bpf_perf_event_data *ctx,
			      struct sample *sample)
{
	long bytes = 0;

	if (kernel_stacks && sample->kernel)
		bytes = bpf_get_stack(ctx, sample->kernel_stack,
				      sizeof(sample->kernel_stack), 0);
	sample->kernel_count = bytes > 0 ? (__u32)bytes / sizeof(__u64) : 0;
}

static void read_stack(struct sample *sample)
{
	__u32 bytes = 0;

	for (; bytes < SAMPLE_STACK; bytes += SAMPLE_PIECE)
		if (bpf_probe_read_user(sample->stack + bytes, SAMPLE_PIECE,
					(void *)(sample->sp + bytes)) != 0)
			break;
	sample->bytes = bytes;
}

SEC("perf_event")
int sample(struct bpf_perf_event_data *ctx)
{
	struct sample *sample;
	__u32 zero = 0, bytes;

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
	bpf_get_current_comm(sample->comm, sizeof(sample->comm));
	read_registers(ctx, sample);
	read_kernel_stack(ctx, sample);
	read_stack(sample);
	bytes = sample->bytes;
	if (bytes > SAMPLE_STACK) /* never, but the verifier cannot know */
		return 0;
	if (bpf_ringbuf_output(&samples, sample,
			       offsetof(struct sample, stack) + bytes,
			       BPF_RB_NO_WAKEUP) != 0)
		__atomic_fetch_add(&lost, 1, __ATOMIC_RELAXED);
	return 0;
}
