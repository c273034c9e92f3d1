/* SPDX-License-Identifier: MIT */
/**
 * others.h - how much of our CPUs went to others
 *
 * A loop that is timed (calibrate.h) does not see a neighbour that moves out of its
 * way, or comes later. What the kernel has counted of each CPU, less what this
 * process used, is what others had of it meanwhile, a hypervisor included.
 */
#ifndef SKUA_BENCH_HARNESS_OTHERS_H
#define SKUA_BENCH_HARNESS_OTHERS_H

#include <stdbool.h>
#include <stdint.h>

/* More than this share of the CPUs' time is noise. A guess: one CPU of twenty that
 * somebody else needs. */
#define OTHERS_PERCENT 5

/**
 * struct others - at some moment
 * @known: there is /proc/stat
 * @now_ns: CLOCK_MONOTONIC
 * @busy_ns: of all CPUs that this thread may use, since the start
 * @own_ns: CPU time of this process
 * @cpus: how many those are
 */
struct others {
	bool known;
	uint64_t now_ns;
	uint64_t busy_ns;
	uint64_t own_ns;
	unsigned cpus;
};

void others_look(struct others *others);

/* others_percent - of the CPUs' time since @before, what others had; 0: unknown, or
 * less than can be told */
double others_percent(const struct others *before, const struct others *after);

#endif
