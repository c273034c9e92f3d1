/* SPDX-License-Identifier: MIT */
/**
 * pin.h - keep a thread on one CPU while something is measured
 *
 * The runtime pins its workers to the CPUs in order, from the first. A busy thread
 * beside the workers is therefore pinned to the last CPU.
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
 * The thread stays unpinned on a machine with more CPUs than a cpu_set_t holds. The
 * figures are less precise then, but not wrong. */
void pin_caller(struct pin *pin);

/* pin_to_worker - pin another thread to the CPU of worker @i: the @i-th of the
 * caller's CPUs, modulo their number */
void pin_to_worker(const struct pin *pin, pthread_t thread, unsigned i);

/* pin_leaves_cpu - return whether @workers pinned workers leave a CPU free for the
 * caller */
bool pin_leaves_cpu(const struct pin *pin, unsigned workers);

/* pin_restore - give the caller the affinity that it had before pin_caller() */
void pin_restore(struct pin *pin);

#endif
