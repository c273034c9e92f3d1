/* SPDX-License-Identifier: MIT */
/**
 * background_load.h - tasks that keep the workers busy during a measurement
 *
 * Each poll takes BACKGROUND_LOAD_POLL_NS and calls sched_yield() meanwhile, as in the
 * benchmarks that define these loads. Without sched_yield(), the workload would mostly
 * measure how long the kernel keeps the spawning thread waiting for a CPU.
 */
#ifndef SKUA_BENCH_WORKLOADS_BACKGROUND_LOAD_H
#define SKUA_BENCH_WORKLOADS_BACKGROUND_LOAD_H

#include "skua/skua.h"

#define BACKGROUND_LOAD_POLL_NS 10000

struct background_load;

/**
 * background_load_start_yielding - start two tasks for each worker that yield after
 *                                  each poll
 * @out: receives the load; the caller ends it with background_load_stop() before
 *       the end of @rt
 *
 * Return: 0; -errno, and then nothing runs.
 */
int background_load_start_yielding(struct background_load **out,
				   struct skua_runtime *rt);

/* background_load_start_chains - start one chain of tasks for each worker; a task spawns
 * its successor and ends. Arguments and result as for background_load_start_yielding() */
int background_load_start_chains(struct background_load **out,
				 struct skua_runtime *rt);

/* background_load_stop - end the load, wait until the runtime has no task at all, and
 * free the load; NULL: do nothing */
void background_load_stop(struct background_load *load);

#endif
