/* SPDX-License-Identifier: MIT */
/**
 * steal_order.h - the order in which a worker tries its victims
 *
 * The order has tiers, the nearest first: workers that share the thief's core, its last
 * cache, its node; then those of other nodes, by distance. A thief begins each tier at a
 * random worker.
 */
#ifndef SKUA_TOPOLOGY_STEAL_ORDER_H
#define SKUA_TOPOLOGY_STEAL_ORDER_H

#include "topology/machine.h"

/* The nearest unit that the workers of a tier share with the thief. Nodes at different
 * distances are different tiers. */
enum steal_tier {
	STEAL_TIER_CORE,
	STEAL_TIER_LLC,
	STEAL_TIER_NODE,
	STEAL_TIER_REMOTE,
};

struct steal_order {
	unsigned *victims; /* all other workers */
	unsigned count;
	struct steal_order_tier {
		enum steal_tier kind;
		unsigned distance; /* of nodes */
		unsigned end; /* after its last victim; it begins at the end
				    * of the tier before */
	} * tiers;            /* none is empty */
	unsigned tier_count;
};

/**
 * steal_order_make - make the order of one worker
 * @out: receives the order; to be given to steal_order_free()
 * @cpus: the CPU of each worker; one that @machine does not have counts as its first CPU
 * @workers: their number; one or more
 * @thief: below @workers
 *
 * Return: 0; -ENOMEM.
 */
int steal_order_make(struct steal_order *out, const struct machine *machine,
		     const unsigned *cpus, unsigned workers, unsigned thief);

void steal_order_free(struct steal_order *order);

#endif
