/* SPDX-License-Identifier: MIT */
/**
 * flame_stack.h - the functions that a thread was in as a BPF program saw it
 * (bpf/programs/sample.h), and what such programs have to be told of workers
 */
#ifndef SKUA_BPF_FLAME_STACK_H
#define SKUA_BPF_FLAME_STACK_H

#include "bpf/flame/flame_names.h"
#include "bpf/programs/sample.h"

#define FLAME_FRAMES 512u

/**
 * flame_stack_read - of a sample; of a task, from its poll function on
 * @out: receives at most FLAME_FRAMES, the innermost first
 * @whole: receives whether it is of no task, or no callers are missing
 *
 * Return: how many.
 */
unsigned flame_stack_read(struct flame_names *names,
			  const struct sample *sample,
			  struct flame_function *out, bool *whole);

/* flame_namespace_of - of a process, which its threads have their numbers of; 0: it
 * cannot be read */
unsigned flame_namespace_of(pid_t pid);

/* flame_tell_workers - to a map of struct sample_worker, the workers that the process
 * has now. Those that have ended stay: programs look whether they are what they were.
 * Return: how many, or -errno of target_refresh() */
int flame_tell_workers(struct target *target, int map);

#endif
