/* SPDX-License-Identifier: MIT */
/* arrivals.c - see arrivals.h */
#include "bench/simulator/arrivals.h"

/* Return a pseudo-random number in [0, 1), from the upper 53 bits of
 * xorshift64. */
static double uniform(struct arrivals *a)
{
	a->random ^= a->random << 13;
	a->random ^= a->random >> 7;
	a->random ^= a->random << 17;
	return (double)(a->random >> 11) * 0x1p-53;
}

static unsigned below(struct arrivals *a, unsigned bound)
{
	return (unsigned)(uniform(a) * bound);
}

static double exponential(struct arrivals *a, double mean)
{
	return -mean * log(1 - uniform(a));
}

uint32_t arrivals_service_ns(struct arrivals *a)
{
	if (a->kind == WORKLOAD_TREE || a->kind == WORKLOAD_ONCE)
		return (uint32_t)a->service_ns;
	return 1 + (uint32_t)exponential(a, (double)a->service_ns);
}

static unsigned any_of(struct arrivals *a, struct span span)
{
	return a->layout->order[span.first + below(a, span.count)];
}

static unsigned somebody(struct arrivals *a)
{
	const struct layout *layout = a->layout;
	unsigned nodes = layout->groups.node_count, share;

	switch (a->kind) {
	case WORKLOAD_EVEN:
		return below(a, layout->groups.worker_count);
	case WORKLOAD_SKEW:
		share = below(a, nodes + 2);
		return any_of(a, layout->node[share < 3 ? 0 : share - 2]);
	case WORKLOAD_OUTSIDE:
		return layout->order[layout->group[below(a, ARRIVALS_THREADS) *
						   layout->groups.count /
						   ARRIVALS_THREADS]
					     .first];
	case WORKLOAD_BURST:
		return layout->order[layout->node[below(a, nodes)].first];
	default:
		return layout->order[0];
	}
}

/* Draw the time until the next arrival. */
static double gap_ns(struct arrivals *a)
{
	double busy = a->layout->groups.worker_count * (a->percent / 100.0);

	return exponential(a, a->count * (double)a->service_ns / busy);
}

void arrivals_begin(struct arrivals *a, const struct layout *layout,
		    uint64_t seed)
{
	a->layout = layout;
	a->random = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
	a->exact_ns = 0;
	a->next_ns = 0;
	a->count = a->kind == WORKLOAD_BURST ? ARRIVALS_BURST : 1;
	a->worker = somebody(a);
}

void arrivals_next(struct arrivals *a)
{
	if (a->kind == WORKLOAD_TREE || a->kind == WORKLOAD_ONCE) {
		a->next_ns = UINT64_MAX;
		return;
	}
	a->exact_ns += gap_ns(a);
	a->next_ns = (uint64_t)a->exact_ns;
	a->worker = somebody(a);
}
