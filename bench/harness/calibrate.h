/* SPDX-License-Identifier: MIT */
/**
 * calibrate.h - is the machine as fast as it can be?
 *
 * Others on the machine, a hypervisor or a hot processor slow a run down. A
 * loop that always does the same, timed before and after a run, tells; on each
 * of the first CPUs, since pinned workers cannot evade one that is busy.
 */
#ifndef SKUA_BENCH_HARNESS_CALIBRATE_H
#define SKUA_BENCH_HARNESS_CALIBRATE_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

/* Slower than the best by more than this is noise. A guess. */
#define CALIBRATE_PERCENT 15

enum { CALIBRATE_CPUS = 8 };

/**
 * struct calibration
 * @allowed: the CPUs that the calling thread may use
 * @cpus: how many of them are timed
 * @best_ns: the shortest time of the loop so far, by CPU
 */
struct calibration {
	cpu_set_t allowed;
	unsigned cpus;
	uint64_t best_ns[CALIBRATE_CPUS];
};

/* calibrate_start - find the CPUs, and a first best time of each */
void calibrate_start(struct calibration *calibration);

/* calibrate_quiet - is the loop, now, about as fast as it ever was? */
bool calibrate_quiet(struct calibration *calibration);

#endif
