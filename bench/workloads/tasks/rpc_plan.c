/* SPDX-License-Identifier: MIT */
/* rpc_plan.c - see rpc_plan.h */
#include "bench/workloads/tasks/rpc_plan.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "bench/kernels/compute.h"

#define SHORT_NS 10000u
#define LONG_NS  1000000u
/* One in this many calls is long. */
#define LONG_ONE_IN 200u

uint64_t rpc_service_mean_ns(enum rpc_service service)
{
	if (service == RPC_BIMODAL)
		return SHORT_NS + (LONG_NS - SHORT_NS) / LONG_ONE_IN;
	return SHORT_NS;
}

/* Return the @n-th pseudo-random number, in [0, 1), of the sequence @seed. */
static double uniform(uint64_t seed, uint64_t n)
{
	return (double)(scatter((seed << 40) + n) >> 11) * 0x1p-53;
}

static double exponential(double mean, double uniform)
{
	return -log1p(-uniform) * mean;
}

static uint64_t draw_service(enum rpc_service service, double uniform)
{
	double ns = exponential(SHORT_NS, uniform);

	if (service == RPC_BIMODAL)
		return uniform * LONG_ONE_IN < 1 ? LONG_NS : SHORT_NS;
	return ns < 1 ? 1 : (uint64_t)ns;
}

void rpc_plan(struct rpc_call *calls, uint64_t count, enum rpc_service service,
	      unsigned load_percent, unsigned servers, uint64_t seed)
{
	double gap_ns = (double)rpc_service_mean_ns(service) * 100 /
			load_percent / servers;
	double now_ns = 0;

	for (uint64_t i = 0; i < count; i++) {
		now_ns += exponential(gap_ns, uniform(seed, 2 * i));
		calls[i].arrival_ns = (uint64_t)now_ns;
		calls[i].service_ns =
			draw_service(service, uniform(seed, 2 * i + 1));
	}
}

void rpc_times_record(struct rpc_times *times, const struct rpc_call *call,
		      uint64_t sojourn_ns)
{
	histogram_record(&times->sojourn_ns, sojourn_ns);
	histogram_record(&times->slowdown,
			 sojourn_ns * RPC_SLOWDOWN_ONE / call->service_ns);
}

int rpc_simulate(const struct rpc_call *calls, uint64_t count, unsigned servers,
		 struct rpc_times *times)
{
	uint64_t *free_ns = calloc(servers, sizeof(*free_ns));

	if (free_ns == NULL)
		return -ENOMEM;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t *first = free_ns;
		uint64_t start;

		for (unsigned k = 1; k < servers; k++)
			if (free_ns[k] < *first)
				first = &free_ns[k];
		start = *first > calls[i].arrival_ns ? *first
						     : calls[i].arrival_ns;
		*first = start + calls[i].service_ns;
		rpc_times_record(times, &calls[i],
				 *first - calls[i].arrival_ns);
	}
	free(free_ns);
	return 0;
}
