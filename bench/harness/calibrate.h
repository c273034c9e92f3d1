/* SPDX-License-Identifier: MIT */
/**
 * calibrate.h - detect that the machine runs slower than it can
 *
 * Other processes, a hypervisor or a hot processor slow a run down. A loop of
 * constant length, timed before and after a run, detects that. It runs on each of
 * the first CALIBRATE_CPUS allowed CPUs, because a pinned worker cannot leave a
 * busy CPU.
 */
#ifndef SKUA_BENCH_HARNESS_CALIBRATE_H
#define SKUA_BENCH_HARNESS_CALIBRATE_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

/* A loop that takes this many percent longer than the shortest one means
 * that the machine is busy. A guess. */
#define CALIBRATE_PERCENT 15

enum { CALIBRATE_CPUS = 8 };

/**
 * struct calibration - the shortest time of the loop on each CPU
 * @allowed: the CPUs that the calling thread may use
 * @cpus: number of CPUs of @allowed on which the loop is timed
 * @best_ns: the shortest time of the loop so far, for each timed CPU
 */
struct calibration {
	cpu_set_t allowed;
	unsigned cpus;
	uint64_t best_ns[CALIBRATE_CPUS];
};

/* calibrate_start - find the allowed CPUs, and time the loop on them 20 times */
void calibrate_start(struct calibration *calibration);

/* calibrate_quiet - time the loop on each CPU once more
 *
 * Return: false if it is slower on any CPU than the best time there by more than
 * CALIBRATE_PERCENT. */
bool calibrate_quiet(struct calibration *calibration);

#endif
