/* SPDX-License-Identifier: MIT */
/**
 * rpc_bare.h - calls served by threads that do nothing else
 *
 * One pinned thread for each server. They take turns: a free thread takes the next
 * call, spins until it comes, and serves it, so that no thread hands a call over or
 * wakes another. The difference to the times of rpc_simulate() comes from the machine,
 * and from reading the clock.
 */
#ifndef SKUA_BENCH_WORKLOADS_TASKS_RPC_BARE_H
#define SKUA_BENCH_WORKLOADS_TASKS_RPC_BARE_H

#include "bench/harness/pin.h"
#include "bench/workloads/tasks/rpc_plan.h"

/**
 * rpc_bare - serve a plan; the caller spins meanwhile, like a caller that spawns
 * @servers: 1 or more
 * @pin: of the caller
 * @times: receives the calls' times, added to what is there
 *
 * Return: 0; -ENOMEM; -EAGAIN (not all threads could start: nothing was measured).
 */
int rpc_bare(const struct rpc_call *calls, uint64_t count, unsigned servers,
	     const struct pin *pin, struct rpc_times *times);

#endif
