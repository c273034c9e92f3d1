/* SPDX-License-Identifier: MIT */
/**
 * steal_order.h - the order in which a worker tries its victims
 *
 * The order has tiers, nearest first: the workers that share the thief's core, its
 * last-level cache, its node; then the workers of other nodes, by distance. A thief begins
 * each tier at a random worker.
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
		unsigned end; /* index after its last victim; a tier begins at
				    * the end of the tier before it */
	} * tiers;            /* none is empty */
	unsigned tier_count;
};

/**
 * steal_order_make - make the order of one worker
 * @out: receives the order; the caller releases it with steal_order_free()
 * @cpus: the CPU of each worker; a CPU that @machine does not have counts as its first CPU
 * @workers: the number of workers; one or more
 * @thief: below @workers
 *
 * Return: 0; -ENOMEM.
 */
int steal_order_make(struct steal_order *out, const struct machine *machine,
		     const unsigned *cpus, unsigned workers, unsigned thief);

void steal_order_free(struct steal_order *order);

#endif
