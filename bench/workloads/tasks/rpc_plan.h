/* SPDX-License-Identifier: MIT */
/**
 * rpc_plan.h - arrivals and service times of calls, and their times in a queue
 *              without any overhead
 */
#ifndef SKUA_BENCH_WORKLOADS_TASKS_RPC_PLAN_H
#define SKUA_BENCH_WORKLOADS_TASKS_RPC_PLAN_H

#include <stdint.h>

#include "bench/harness/histogram.h"

/* Slowdowns are counts of thousandths. */
#define RPC_SLOWDOWN_ONE 1000u

enum rpc_service {
	RPC_EXPONENTIAL, /* 10 us in the mean */
	RPC_BIMODAL,     /* 10 us, and 1 ms for one in 200 */
	RPC_SERVICES
};

struct rpc_call {
	uint64_t arrival_ns; /* since the start of the plan */
	uint64_t service_ns; /* at least 1 */
};

/* The times of calls from their arrival to their end. */
struct rpc_times {
	struct histogram sojourn_ns;
	struct histogram
		slowdown; /* sojourn / service, RPC_SLOWDOWN_ONE is 1 */
};

/* rpc_service_mean_ns - the mean of a distribution */
uint64_t rpc_service_mean_ns(enum rpc_service service);

/**
 * rpc_plan - draw Poisson arrivals and service times
 * @calls: receives @count of them, in the order of their arrival
 * @load_percent: percent of the capacity of @servers
 * @seed: the same seed gives the same plan, here and in the peers' programs
 */
void rpc_plan(struct rpc_call *calls, uint64_t count, enum rpc_service service,
	      unsigned load_percent, unsigned servers, uint64_t seed);

/**
 * rpc_simulate - the plan in a first-come-first-served queue (M/G/k)
 * @servers: 1 or more
 * @times: receives the calls' times, added to what is there
 *
 * Return: 0; -ENOMEM.
 */
int rpc_simulate(const struct rpc_call *calls, uint64_t count, unsigned servers,
		 struct rpc_times *times);

/* rpc_times_record - count one call */
void rpc_times_record(struct rpc_times *times, const struct rpc_call *call,
		      uint64_t sojourn_ns);

#endif
