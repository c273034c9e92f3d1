/* SPDX-License-Identifier: MIT */
/**
 * calibrate.h - is the machine as fast as it can be?
 *
 * Other processes, a hypervisor or a hot processor slow a run down. A loop of
 * constant length, timed before and after a run, detects that. It runs on each of
 * the first CPUs, because pinned workers cannot leave a busy one.
 */
#ifndef SKUA_BENCH_HARNESS_CALIBRATE_H
#define SKUA_BENCH_HARNESS_CALIBRATE_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

/* A loop that is slower than the best by more than this is noise. A guess. */
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

/* calibrate_quiet - is the loop about as fast now as its best time? */
bool calibrate_quiet(struct calibration *calibration);

#endif
