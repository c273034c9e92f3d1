/* SPDX-License-Identifier: MIT */
/**
 * programs.h - load BPF programs (bpf/programs), and explain failures
 *
 * The source of a program NAME is programs/NAME.bpf.c; its NAME.skel.h opens,
 * loads and attaches it. Threads: everything here belongs to one thread.
 */
#ifndef SKUA_BPF_PROGRAMS_H
#define SKUA_BPF_PROGRAMS_H

#include <stdint.h>
#include <sys/types.h>

struct bpf_program;

/* programs_begin - keep libbpf's warnings for programs_reason(), instead of
 * printing them on stderr; call it before libbpf */
void programs_begin(void);

/**
 * programs_reason - explain why loading or attaching a program failed
 * @err: -errno of libbpf
 *
 * Return: a line without a newline: what is missing, and what to do. Valid
 * until the next call.
 */
const char *programs_reason(int err);

/* programs_namespace - return the PID namespace of this process: the inode of
 * /proc/self/ns/pid; 0 if it cannot be read */
unsigned programs_namespace(void);

/* programs_iterate - run a program of type iter/task, once for each task.
 * Return: 0; -errno of libbpf */
int programs_iterate(struct bpf_program *program);

/**
 * programs_find - find the number by which programs know a process
 * @pid: number in this process's namespace
 * @tgid: receives the kernel's own number; other than @pid only in containers
 *
 * Return: 0; -ESRCH; -errno of libbpf.
 */
int programs_find(pid_t pid, uint32_t *tgid);

#endif
