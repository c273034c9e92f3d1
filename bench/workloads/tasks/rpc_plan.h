/* SPDX-License-Identifier: MIT */
/**
 * rpc_plan.h - plan the arrivals and service times of calls, and simulate a queue without
 *              any overhead that serves them
 */
#ifndef SKUA_BENCH_WORKLOADS_TASKS_RPC_PLAN_H
#define SKUA_BENCH_WORKLOADS_TASKS_RPC_PLAN_H

#include <stdint.h>

#include "bench/harness/histogram.h"

/* A slowdown of 1. Slowdowns are counted in thousandths. */
#define RPC_SLOWDOWN_ONE 1000u

enum rpc_service {
	RPC_EXPONENTIAL, /* mean of 10 us */
	RPC_BIMODAL,     /* 1 ms for one call in 200, 10 us for the others */
	RPC_SERVICES
};

struct rpc_call {
	uint64_t arrival_ns; /* since the start of the plan */
	uint64_t service_ns; /* at least 1 */
};

/* Sojourn times of calls, from arrival to end, and slowdowns. */
struct rpc_times {
	struct histogram sojourn_ns;
	struct histogram
		slowdown; /* sojourn / service; RPC_SLOWDOWN_ONE means 1 */
};

/* rpc_service_mean_ns - return the mean service time of a distribution */
uint64_t rpc_service_mean_ns(enum rpc_service service);

/**
 * rpc_plan - draw Poisson arrivals and service times
 * @calls: array that receives @count calls, in the order of their arrival
 * @load_percent: share of the capacity of @servers that the calls need, in percent
 * @seed: the same seed gives the same plan, here and in the peers' programs
 */
void rpc_plan(struct rpc_call *calls, uint64_t count, enum rpc_service service,
	      unsigned load_percent, unsigned servers, uint64_t seed);

/**
 * rpc_simulate - serve a plan in a simulated first-come-first-served queue (M/G/k)
 * @servers: number of servers, 1 or more
 * @times: the times of the calls are added to it
 *
 * Return: 0; -ENOMEM.
 */
int rpc_simulate(const struct rpc_call *calls, uint64_t count, unsigned servers,
		 struct rpc_times *times);

/* rpc_times_record - add one call to @times */
void rpc_times_record(struct rpc_times *times, const struct rpc_call *call,
		      uint64_t sojourn_ns);

#endif
