/* SPDX-License-Identifier: MIT */
/* steal_order.c - see steal_order.h */
#include "topology/steal_order.h"

#include <errno.h>
#include <stdlib.h>

/* A worker that may be stolen from, with its distance from the thief. */
struct victim {
	enum steal_tier kind;
	unsigned distance, worker;
};

static const struct skua_cpu *place_of(const struct machine *machine,
				       unsigned cpu)
{
	const struct skua_cpu *place = machine_cpu(machine, cpu);

	return place ? place : &machine->cpus[0];
}

static enum steal_tier kind_of(const struct skua_cpu *a,
			       const struct skua_cpu *b)
{
	if (a->core == b->core)
		return STEAL_TIER_CORE;
	if (a->llc == b->llc)
		return STEAL_TIER_LLC;
	return a->node == b->node ? STEAL_TIER_NODE : STEAL_TIER_REMOTE;
}

static int compare_tiers(const struct victim *a, const struct victim *b)
{
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return (a->distance > b->distance) - (a->distance < b->distance);
}

static int compare_victims(const void *a, const void *b)
{
	const struct victim *left = a, *right = b;
	int tiers = compare_tiers(left, right);

	return tiers ? tiers
		     : (left->worker > right->worker) -
			       (left->worker < right->worker);
}

static void find_victims(struct victim *victims, const struct machine *machine,
			 const unsigned *cpus, unsigned workers, unsigned thief)
{
	const struct skua_cpu *own = place_of(machine, cpus[thief]);

	for (unsigned i = 0; i < workers; i++) {
		const struct skua_cpu *other = place_of(machine, cpus[i]);

		if (i != thief)
			*victims++ = (struct victim){
				.kind = kind_of(own, other),
				.distance = machine_distance(machine, own->node,
							     other->node),
				.worker = i,
			};
	}
}

static void cut_tiers(struct steal_order *order, const struct victim *victims)
{
	for (unsigned i = 0; i < order->count; i++) {
		if (i == 0 || compare_tiers(&victims[i - 1], &victims[i]) != 0)
			order->tiers[order->tier_count++] =
				(struct steal_order_tier){
					.kind = victims[i].kind,
					.distance = victims[i].distance,
				};
		order->tiers[order->tier_count - 1].end = i + 1;
		order->victims[i] = victims[i].worker;
	}
}

int steal_order_make(struct steal_order *out, const struct machine *machine,
		     const unsigned *cpus, unsigned workers, unsigned thief)
{
	struct victim *victims = calloc(workers, sizeof(*victims));

	*out = (struct steal_order){
		.victims = calloc(workers, sizeof(*out->victims)),
		.tiers = calloc(workers, sizeof(*out->tiers)),
		.count = workers - 1,
	};
	if (!victims || !out->victims || !out->tiers) {
		free(victims);
		steal_order_free(out);
		return -ENOMEM;
	}
	find_victims(victims, machine, cpus, workers, thief);
	qsort(victims, out->count, sizeof(*victims), compare_victims);
	cut_tiers(out, victims);
	free(victims);
	return 0;
}

void steal_order_free(struct steal_order *order)
{
	free(order->victims);
	free(order->tiers);
	*order = (struct steal_order){ .victims = NULL };
}
