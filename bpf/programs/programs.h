/* SPDX-License-Identifier: MIT */
/**
 * programs.h - BPF programs (bpf/programs), and why they cannot be loaded
 *
 * A program NAME is programs/NAME.bpf.c; its NAME.skel.h opens, loads and attaches
 * it. Threads: all of this belongs to one thread.
 */
#ifndef SKUA_BPF_PROGRAMS_H
#define SKUA_BPF_PROGRAMS_H

#include <stdint.h>
#include <sys/types.h>

struct bpf_program;

/* programs_begin - before libbpf is used: keep what it says for
 * programs_reason(), instead of stderr */
void programs_begin(void);

/**
 * programs_reason - a line without its end: why @err was
 * @err: -errno of libbpf
 *
 * What is missing to load or attach programs, and what to do about it. Valid until
 * the next call.
 */
const char *programs_reason(int err);

/* programs_namespace - that this process has its process numbers of: the inode of
 * /proc/self/ns/pid; 0 if that is not there */
unsigned programs_namespace(void);

/* programs_iterate - run a program of the kind iter/task, once for each task. Return: 0;
 * -errno of libbpf */
int programs_iterate(struct bpf_program *program);

/**
 * programs_find - what programs see as the tgid of a process
 * @pid: as this process sees it
 * @tgid: receives it, which is @pid itself but in containers
 *
 * Return: 0; -ESRCH; -errno of libbpf.
 */
int programs_find(pid_t pid, uint32_t *tgid);

#endif
