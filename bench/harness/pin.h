/* SPDX-License-Identifier: MIT */
/**
 * pin.h - keep a thread on one CPU while something is measured
 *
 * The runtime pins its workers from the first CPU on; a busy thread beside them
 * takes the last CPU.
 */
#ifndef SKUA_BENCH_HARNESS_PIN_H
#define SKUA_BENCH_HARNESS_PIN_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

struct pin {
	cpu_set_t before; /* the affinity of the caller before pin_caller() */
	bool pinned;
};

/* pin_caller - pin the calling thread to the last of its CPUs
 *
 * It stays unpinned on a machine with more CPUs than a cpu_set_t holds: figures are
 * less precise then, not wrong. */
void pin_caller(struct pin *pin);

/* pin_to_worker - pin another thread to the CPU of worker @i: the @i-th of the
 * caller's CPUs, modulo their number */
void pin_to_worker(const struct pin *pin, pthread_t thread, unsigned i);

/* pin_leaves_cpu - do @workers pinned workers leave a CPU for the caller alone? */
bool pin_leaves_cpu(const struct pin *pin, unsigned workers);

/* pin_restore - give the caller the affinity that it had before pin_caller() */
void pin_restore(struct pin *pin);

#endif
