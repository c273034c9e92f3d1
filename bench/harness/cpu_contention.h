/* SPDX-License-Identifier: MIT */
/**
 * cpu_contention.h - the share of our CPUs that other processes used
 *
 * The timed loop of calibrate.h misses a process that moves to another CPU, or
 * that starts later. The kernel counts the busy time of each CPU. Other processes
 * and the hypervisor used the part of it that this process did not.
 */
#ifndef SKUA_BENCH_HARNESS_CPU_CONTENTION_H
#define SKUA_BENCH_HARNESS_CPU_CONTENTION_H

#include <stdbool.h>
#include <stdint.h>

/* A run during which other processes use more of the CPUs' time than this is
 * noisy. A guess: it is one CPU of twenty. */
#define CPU_CONTENTION_MAX_PERCENT 5

/**
 * struct cpu_contention - the counts at one moment
 * @known: /proc/stat was readable and had an allowed CPU
 * @now_ns: CLOCK_MONOTONIC
 * @busy_ns: busy time since boot of all CPUs that this thread may use, summed
 * @own_ns: CPU time of this process
 * @cpus: number of CPUs that this thread may use
 */
struct cpu_contention {
	bool known;
	uint64_t now_ns;
	uint64_t busy_ns;
	uint64_t own_ns;
	unsigned cpus;
};

/* cpu_contention_read - read the counts as they are now */
void cpu_contention_read(struct cpu_contention *others);

/* cpu_contention_percent - return the percentage of the CPUs' time between two
 * readings that other processes used; 0: unknown, or below the resolution */
double cpu_contention_percent(const struct cpu_contention *before,
			      const struct cpu_contention *after);

#endif
