/* SPDX-License-Identifier: MIT */
/**
 * flame_sample.h - samples of what the threads of a process do
 *
 * A BPF program sees the process at each tick of a clock of a CPU, and notes the task
 * and the stack. Threads that come later, and runtimes, are seen as well.
 */
#ifndef SKUA_BPF_FLAME_SAMPLE_H
#define SKUA_BPF_FLAME_SAMPLE_H

#include "bpf/flame/flame.h"
#include "bpf/flame/flame_kernel.h"
#include "bpf/target/target.h"

struct flame_sampler;

/**
 * struct flame_counts - how good the picture is
 * @samples: in it
 * @lost: for which there was no room
 * @unrooted: of a task, whose stack does not reach its poll function
 * @cpu_s: CPU time that the process had meanwhile
 */
struct flame_counts {
	uint64_t samples;
	uint64_t lost;
	uint64_t unrooted;
	double cpu_s;
};

/**
 * flame_sample_start - begin
 * @target, @flame: borrowed
 * @rate: samples a second, of each CPU
 * @kernel: what its functions are called, borrowed; NULL: it is one, "[kernel]"
 * @why: FLAME_TEXT bytes; receives a line on failure
 *
 * Return: 0, or -errno.
 */
int flame_sample_start(struct flame_sampler **out, struct target *target,
		       struct flame *flame, unsigned rate,
		       struct flame_kernel *kernel, char *why);

/**
 * flame_sample_take - what has come since the last time; to be called each 0.1 s
 * @ended: the process is no more
 *
 * Return: 0; -ESRCH: it has executed another program; -ENOMEM.
 */
int flame_sample_take(struct flame_sampler *sampler, bool ended);

const struct flame_counts *
flame_sample_counts(const struct flame_sampler *sampler);

/* flame_sample_stop - @sampler may be NULL */
void flame_sample_stop(struct flame_sampler *sampler);

#endif
