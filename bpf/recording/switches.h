/* SPDX-License-Identifier: MIT */
/**
 * switches.h - copies to a file when the kernel takes CPUs from a process's threads
 *
 * By programs/send_switches.bpf.c; needs CAP_BPF and CAP_PERFMON. Threads: one.
 */
#ifndef SKUA_BPF_SWITCHES_H
#define SKUA_BPF_SWITCHES_H

#include <stdint.h>
#include <sys/types.h>

#include "probes/trace_file.h"

struct switches;

/**
 * switches_open - from now on
 * @pid: the process, as this one sees it
 * @writer: borrowed; its file was begun
 *
 * Return: 0; -ENOMEM; that of libbpf, for programs_reason().
 */
int switches_open(struct switches **out, pid_t pid,
		  struct trace_writer *writer);
void switches_close(struct switches *switches);

/**
 * switches_copy - write what has come
 * @fullest: raised to how full the buffer was, if that is more
 *
 * Return: 0, or the writer's error.
 */
int switches_copy(struct switches *switches, double *fullest);

/* switches_count - that were written; switches_lost - for which was no room */
uint64_t switches_count(const struct switches *switches);
uint64_t switches_lost(const struct switches *switches);

#endif
