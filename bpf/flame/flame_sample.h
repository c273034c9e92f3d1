/* SPDX-License-Identifier: MIT */
/**
 * flame_sample.h - samples the threads of a process
 *
 * On each tick of a CPU's clock, a BPF program notes the task and the stack of the
 * process, if the process is running there. Threads and runtimes that start later are
 * included.
 */
#ifndef SKUA_BPF_FLAME_SAMPLE_H
#define SKUA_BPF_FLAME_SAMPLE_H

#include "bpf/flame/flame.h"
#include "bpf/flame/flame_kernel.h"
#include "bpf/target/target.h"

struct flame_sampler;

/**
 * struct flame_counts - how complete the picture is
 * @samples: in the picture
 * @lost: samples for which there was no room
 * @unrooted: samples of a task whose stack does not reach the task's poll function
 * @cpu_s: CPU time that the process used during the sampling, in seconds
 */
struct flame_counts {
	uint64_t samples;
	uint64_t lost;
	uint64_t unrooted;
	double cpu_s;
};

/**
 * flame_sample_start - start sampling
 * @target, @flame: borrowed
 * @rate: samples a second, of each CPU
 * @kernel: names of the kernel's functions, borrowed; NULL: show the kernel as one
 *          function, "[kernel]"
 * @why: FLAME_TEXT bytes; receives a message on failure
 *
 * Return: 0, or -errno.
 */
int flame_sample_start(struct flame_sampler **out, struct target *target,
		       struct flame *flame, unsigned rate,
		       struct flame_kernel *kernel, char *why);

/**
 * flame_sample_take - add the samples since the last call; call it every 0.1 s
 * @ended: the process has ended
 *
 * Return: 0; -ESRCH: the process has executed another program; -ENOMEM.
 */
int flame_sample_take(struct flame_sampler *sampler, bool ended);

const struct flame_counts *
flame_sample_counts(const struct flame_sampler *sampler);

/* flame_sample_stop - @sampler may be NULL */
void flame_sample_stop(struct flame_sampler *sampler);

#endif
