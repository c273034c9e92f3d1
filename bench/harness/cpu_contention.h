/* SPDX-License-Identifier: MIT */
/**
 * cpu_contention.h - the share of our CPUs that other processes used
 *
 * The timed loop of calibrate.h misses a neighbour that moves to another CPU, or
 * that comes later. The kernel counts the busy time of each CPU; without the time of
 * this process, the rest is that of other processes and of the hypervisor.
 */
#ifndef SKUA_BENCH_HARNESS_CPU_CONTENTION_H
#define SKUA_BENCH_HARNESS_CPU_CONTENTION_H

#include <stdbool.h>
#include <stdint.h>

/* A larger share of the CPUs' time is noise. A guess: another process uses one CPU of
 * twenty. */
#define CPU_CONTENTION_MAX_PERCENT 5

/**
 * struct cpu_contention - the counts at one moment
 * @known: /proc/stat was readable
 * @now_ns: CLOCK_MONOTONIC
 * @busy_ns: of all CPUs that this thread may use, since boot
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

void cpu_contention_read(struct cpu_contention *others);

/* cpu_contention_percent - the share of the CPUs' time between two moments that
 * other processes used; 0: unknown, or below the resolution */
double cpu_contention_percent(const struct cpu_contention *before,
			      const struct cpu_contention *after);

#endif
