/* SPDX-License-Identifier: MIT */
/**
 * flame_stack.h - the stack in a sample of a BPF program (bpf/programs/sample.h), and
 * what such programs must know of workers
 */
#ifndef SKUA_BPF_FLAME_STACK_H
#define SKUA_BPF_FLAME_STACK_H

#include "bpf/flame/flame_names.h"
#include "bpf/programs/sample.h"

#define FLAME_FRAMES 512u

/**
 * flame_stack_read - find the functions of a sample; if it is of a task, from its poll
 * function on
 * @out: receives at most FLAME_FRAMES functions, the innermost first
 * @whole: receives false if the sample is of a task and callers are missing
 *
 * Return: the number of functions.
 */
unsigned flame_stack_read(struct flame_names *names,
			  const struct sample *sample,
			  struct flame_function *out, bool *whole);

/* flame_namespace_of - return the inode of the PID namespace of a process, in
 * which its threads are numbered; 0 if it cannot be read */
unsigned flame_namespace_of(pid_t pid);

/* flame_tell_workers - put the current workers of the process into a map of
 * struct sample_worker. Ended workers stay in it: the programs check that an
 * entry is still valid. Return: the number of workers, or -errno of
 * target_refresh() */
int flame_tell_workers(struct target *target, int map);

#endif
