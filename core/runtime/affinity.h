/* SPDX-License-Identifier: MIT */
/**
 * affinity.h - keep workers on usable CPUs while the set of usable CPUs changes
 *
 * A control group, taskset or a CPU that goes offline takes CPUs away and gives them
 * back. The kernel then moves the threads without a notification. So each worker checks
 * its own affinity about once a second, at the end of a tick. A sleeping worker does so
 * only when it has work again.
 *
 * The home of a worker is the set of CPUs that the placement gave it. A check uses only
 * facts about the worker's own thread:
 *
 * - It may use some CPUs of its home: it runs on these only. (Kernels before 6.2 forget
 *   the affinity of a thread when its control group changes, and allow it all CPUs of
 *   the group.)
 * - It may use none of them: it takes a CPU that is in no worker's home and that no other
 *   worker has taken. If there is none, the kernel chooses among all that are allowed.
 *   If the kernel refuses the home, the worker asks for it again at each check, because
 *   the kernel does not tell a thread with one CPU left that others have come back. If
 *   the kernel would allow the home, then a person or program moved this thread on
 *   purpose, for example by taskset: it stays until it is moved again.
 *
 * A worker sets its affinity only to CPUs of its home or to CPUs that it was found on; it
 * uses CPUs outside the runtime's initial choice only when nothing else is left.
 *
 * When there are fewer CPUs, no worker retires. To lose nothing, a retiring worker would
 * have to hand on its queue, its timers, its pollers and the tasks that are bound to it
 * or suspended on it, and take them back later. The gain would be small, because a worker
 * without work sleeps. Only searching and spinning cost, while another worker wants the
 * same CPU. So the runtime counts the workers that share CPUs, and while there are any,
 * no worker spins (idle_oversubscribed()).
 *
 * About once a second, one worker also checks the CPU quota of the control groups; this
 * reads files and allocates memory. Real-time workers skip it, as no quota applies to
 * them. While the quota is less than the number of CPUs, each worker may use all CPUs of
 * its last-level cache, as in config_place.c.
 */
#ifndef SKUA_CORE_RUNTIME_AFFINITY_H
#define SKUA_CORE_RUNTIME_AFFINITY_H

#include <sched.h>

#include "core/config/config.h"
#include "core/loop/pool.h"

/* The time between two checks of a worker, and between two checks of the quota. A guess:
 * a check costs each worker one system call, and one of the workers also reads the
 * quota, all together 40 us. */
#define AFFINITY_PERIOD_NS UINT64_C(1000000000)

struct affinity {
	/* Constant while the workers run, except the contents of the sets. */
	struct pool *pool;
	const struct config *config;
	size_t size;      /* of each set, in bytes */
	cpu_set_t *start; /* the CPUs that the runtime started with */
	cpu_set_t *homes; /* the CPU that the placement gave each worker */
	char *sets;       /* the memory of all sets */

	/* A lock: 1 while a worker checks. Writers, readers: the workers. */
	atomic_u32 busy;
	/* 1 if the quota is less than the number of CPUs. Writer: the worker that checks
	 * the quota. Readers: the workers, at each check. */
	atomic_u32 limited;
	/* When to check the quota next (CLOCK_MONOTONIC). Writers, readers: workers that
	 * hold busy. */
	atomic_u64 quota_due_ns;
	/* Guarded by busy. */
	struct affinity_worker *workers;
	cpu_set_t *now, *wanted; /* scratch during a check */
};

/* affinity_init - prepare the checks, before the workers start. Return: 0 or a negative
 * errno. The caller releases @affinity with affinity_destroy(), also after a failure and
 * also if it is only zeroed. */
int affinity_init(struct affinity *affinity, struct pool *pool,
		  const struct config *config);

void affinity_destroy(struct affinity *affinity);

#endif
