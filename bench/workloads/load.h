/* SPDX-License-Identifier: MIT */
/**
 * load.h - tasks that keep the workers busy while something else is measured
 *
 * Each poll takes LOAD_POLL_NS. Meanwhile the thread offers the CPU to others
 * (sched_yield), as in the benchmarks that these come from: otherwise what is
 * measured would be how long the kernel keeps the spawning thread waiting.
 */
#ifndef SKUA_BENCH_WORKLOADS_LOAD_H
#define SKUA_BENCH_WORKLOADS_LOAD_H

#include "skua/skua.h"

#define LOAD_POLL_NS 10000

struct load;

/**
 * load_start_yielding - two tasks a worker that yield after each poll
 * @out: receives the load; load_stop() it before the end of @rt
 *
 * Return: 0; -errno, and nothing runs.
 */
int load_start_yielding(struct load **out, struct skua_runtime *rt);

/* load_start_chains - the same, as one chain a worker of tasks that end after
 * they have spawned their successor */
int load_start_chains(struct load **out, struct skua_runtime *rt);

/* load_stop - end them, and whatever else runs on the runtime; NULL is none */
void load_stop(struct load *load);

#endif
