/* SPDX-License-Identifier: MIT */
/**
 * guest.h - what is checked of workers on a machine with several nodes
 *
 * The machine is a guest of tests/guest/run. Each check runs in a process of its
 * own and ends it with stress_fail() if something is not as it has to be. It
 * prints what it has seen, in a line.
 */
#ifndef SKUA_TESTS_GUEST_H
#define SKUA_TESTS_GUEST_H

#include <skua/skua.h>

#include "tests/hostile/hostile.h"

#define GUEST_MAX_CPUS HOSTILE_MAX_WORKERS

/* guest_machine - what is read of the machine is what was asked for */
void guest_machine(void);

/* guest_pinning - each worker of a default runtime has a CPU of its own */
void guest_pinning(void);

/* guest_pages - the memory of each worker is on its node */
void guest_pages(void);

/* guest_steals - a thief takes what is near before it takes what is far */
void guest_steals(void);

/* guest_shrink - the control group has fewer CPUs while tasks run */
void guest_shrink(void);

/* guest_offline - each CPU in turn is offline while tasks run */
void guest_offline(void);

/* guest_home - workers go back to their CPUs once they may */
void guest_home(void);

/* ---- what they share ------------------------------------------------------ */

/* guest_topology - the machine; to be freed */
struct skua_topology *guest_topology(void);

/* guest_cpu - what the topology says of CPU @cpu, which is online */
const struct skua_cpu *guest_cpu(const struct skua_topology *topology,
				 unsigned cpu);

/* guest_cpus - the CPU of each worker by default, of so many */
void guest_cpus(unsigned *cpus, unsigned workers);

/* guest_put - write @text to the file @path, or fail */
void guest_put(const char *path, const char *text);

#endif
