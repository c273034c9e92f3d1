/* SPDX-License-Identifier: MIT */
/**
 * switches.h - copies the switches of a process's threads to a file
 *
 * A switch is recorded when the kernel takes a CPU from a thread, gives it one, or
 * wakes it (programs/send_switches.bpf.c). Needs CAP_BPF and CAP_PERFMON. Threads: one.
 */
#ifndef SKUA_BPF_SWITCHES_H
#define SKUA_BPF_SWITCHES_H

#include <stdint.h>
#include <sys/types.h>

#include "probes/trace_file.h"

struct switches;

/**
 * switches_open - record switches from now on
 * @pid: the process, as numbered in the caller's PID namespace
 * @writer: borrowed; its file was begun
 *
 * Return: 0; -ENOMEM; libbpf's error, for programs_reason().
 */
int switches_open(struct switches **out, pid_t pid,
		  struct trace_writer *writer);
void switches_close(struct switches *switches);

/**
 * switches_copy - write the new switches
 * @fullest: raised to the fill level of the buffer, if that is higher
 *
 * Return: 0, or the writer's error.
 */
int switches_copy(struct switches *switches, double *fullest);

/* switches_count - return the number of switches written; switches_lost -
 * return the number of those that found no room in the buffer */
uint64_t switches_count(const struct switches *switches);
uint64_t switches_lost(const struct switches *switches);

#endif
