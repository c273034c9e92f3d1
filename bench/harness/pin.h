/* SPDX-License-Identifier: MIT */
/**
 * pin.h - keep a thread on one CPU while something is measured
 *
 * Workers are pinned from the first CPU on; a thread that is busy beside them
 * takes the last.
 */
#ifndef SKUA_BENCH_HARNESS_PIN_H
#define SKUA_BENCH_HARNESS_PIN_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

struct pin {
	cpu_set_t before; /* of the caller; its first and last CPU count */
	bool pinned;
};

/* pin_caller - to the last of its CPUs; without, on a machine with too many:
 * measurements are less precise, not wrong */
void pin_caller(struct pin *pin);

/* pin_beside - pin another thread where worker @i is: to the first of those
 * CPUs, the second, and so on, and round */
void pin_beside(const struct pin *pin, pthread_t thread, unsigned i);

/* pin_leaves - is a CPU of its own left for the caller beside so many? */
bool pin_leaves(const struct pin *pin, unsigned workers);

/* pin_end - the caller may run where it could before */
void pin_end(struct pin *pin);

#endif
