/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* sample.bpf.c - sample the threads of a process when a clock ticks: the task
 * that they work on, and their stacks */
#include "look.h"

#include <stddef.h>

char LICENSE[] SEC("license") = KERNEL_LICENSE;

const volatile bool kernel_stacks; /* record stacks of the kernel, too */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* the tool sets the size, by the number of
				    * CPUs */
} samples SEC(".maps");

/* A sample is too large for the stack of a program. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sample);
} scratch SEC(".maps");

/* Samples for which the ring buffer had no room. */
unsigned long long lost;

/* Read the user-mode registers, even if the thread is in the kernel. */
static void read_user(struct bpf_perf_event_data *ctx, struct sample *sample)
{
	/* Addresses of the kernel are in the upper half. */
	sample->kernel = (__s64)PT_REGS_IP(&ctx->regs) < 0;
	if (sample->kernel) {
		read_registers(bpf_get_current_task_btf(), sample);
		return;
	}
	sample->back = 0;
	sample->ip = PT_REGS_IP(&ctx->regs);
	sample->sp = PT_REGS_SP(&ctx->regs);
	sample->fp = PT_REGS_FP(&ctx->regs);
#ifdef __TARGET_ARCH_arm64
	sample->back = PT_REGS_RET(&ctx->regs);
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
	read_user(ctx, sample);
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
