/* SPDX-License-Identifier: MIT */
/**
 * affinity.h - where the workers may run, while that changes
 *
 * A control group, taskset or a CPU that goes offline takes CPUs away, and gives
 * them back. The kernel then moves the threads, and tells nobody. So each worker
 * looks at its own affinity about once a second, at the end of a tick: one that
 * is busy does so soon, one that sleeps when it has work again.
 *
 * Each has its home, the CPUs that the placement gave it, and goes by what it
 * sees alone:
 *
 * - It may use some of its home: there it runs, and nowhere else. (Kernels before
 *   6.2 forget the affinity of a thread when its group changes, and leave it
 *   all CPUs of the group.)
 * - It may not: it takes a CPU that is nobody's home and that nobody else has
 *   taken; or, if there is none, whichever the kernel finds free. If the kernel
 *   refuses it its home, it asks again at each check: the kernel does not tell a thread
 *   with one CPU left that others have come back. If the kernel would not, then
 *   somebody moved this thread on purpose, as with taskset: it stays until it is moved
 *   again.
 *
 * All that is set is a part of what was found, or the home: nothing that was not
 * chosen at the start, unless nothing else was left.
 *
 * No worker is retired when there are fewer CPUs. To lose nothing it would have to
 * hand on its queue, its timers and its pollers, the tasks bound to it and those
 * suspended on it, and to come back; and what would be won is little, as a worker
 * that finds nothing to do sleeps. The cost is in searching, or spinning, while another
 * worker wants the same CPU. So the workers count how many of them share CPUs, and
 * while any does, none spins (idle_oversubscribed()).
 *
 * One worker also looks at the quota of the control groups, for which it reads
 * files and allocates; unless they are of a real-time class, which has none. If
 * that becomes less than the CPUs, each worker may use all CPUs of the last cache
 * that it is at, as in config_place.c.
 */
#ifndef SKUA_CORE_RUNTIME_AFFINITY_H
#define SKUA_CORE_RUNTIME_AFFINITY_H

#include <sched.h>

#include "core/config/config.h"
#include "core/loop/pool.h"

/* How often; a guess: it takes a system call of a worker, and of one some more,
 * together 40 us. */
#define AFFINITY_PERIOD_NS UINT64_C(1000000000)

struct affinity {
	/* Constant while the workers run. */
	struct pool *pool;
	const struct config *config;
	size_t size;      /* of a set, in bytes */
	cpu_set_t *start; /* the CPUs chosen */
	cpu_set_t *homes; /* of all workers that are pinned to one */
	char *sets;       /* the memory of all sets */

	/* 1: somebody looks. Writers, readers: the workers. */
	atomic_u32 busy;
	/* Whether the quota is less than the CPUs. Writer: the worker that checks it.
	 * Readers: the workers, when they look. */
	atomic_u32 limited;
	/* When a worker must check it. Writers, readers: the workers. */
	atomic_u64 quota_due_ns;
	struct affinity_worker *workers;
};

/* affinity_init - before the workers start. Return: 0; a negative errno value, after
 * which, as of zeroed memory, affinity_destroy() is allowed. */
int affinity_init(struct affinity *affinity, struct pool *pool,
		  const struct config *config);

void affinity_destroy(struct affinity *affinity);

#endif
