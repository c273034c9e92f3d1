/* SPDX-License-Identifier: MIT */
/* threads_usage.h - the CPU time and the context switches of a process, by its threads */
#ifndef SKUA_BENCH_CLIENTS_THREADS_USAGE_H
#define SKUA_BENCH_CLIENTS_THREADS_USAGE_H

#include <stdint.h>
#include <sys/types.h>

/**
 * struct threads_usage - sums over the threads that a process has
 * @cpu_ns: time on a CPU, from schedstat: time that a hypervisor took away does not count
 *          where the kernel knows it
 * @switches: context switches, voluntary and involuntary
 */
struct threads_usage {
	uint64_t cpu_ns;
	uint64_t switches;
};

/**
 * threads_usage_read - read the sums of a process
 *
 * Return: 0; -errno. Threads that end meanwhile are left out.
 */
int threads_usage_read(pid_t pid, struct threads_usage *out);

#endif
