/* SPDX-License-Identifier: MIT */
/**
 * rpc_bare.h - serve calls by bare threads, without a scheduler
 *
 * Each server is a pinned thread. A free thread takes the next call of the plan, spins
 * until the call arrives, and serves it. No thread hands a call to another or wakes
 * another. The difference to the times of rpc_simulate() comes from the machine, and
 * from reading the clock.
 */
#ifndef SKUA_BENCH_WORKLOADS_TASKS_RPC_BARE_H
#define SKUA_BENCH_WORKLOADS_TASKS_RPC_BARE_H

#include "bench/harness/pin.h"
#include "bench/workloads/tasks/rpc_plan.h"

/**
 * rpc_bare - serve a plan by bare threads
 * @servers: number of threads, 1 or more
 * @pin: the caller's pin, of pin_caller()
 * @times: the times of the calls are added to it
 *
 * The caller spins meanwhile, as it does when it spawns calls. Return: 0; -ENOMEM;
 * -EAGAIN if not all threads could start, and then nothing was measured.
 */
int rpc_bare(const struct rpc_call *calls, uint64_t count, unsigned servers,
	     const struct pin *pin, struct rpc_times *times);

#endif
