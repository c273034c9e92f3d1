/* SPDX-License-Identifier: MIT */
/**
 * steal_order.h - whom a worker steals from first
 *
 * By tiers, the nearest first: who shares its core, its last cache, its node; then
 * the other nodes, by distance. Within a tier all are alike, and are tried from a
 * random one on.
 */
#ifndef SKUA_TOPOLOGY_STEAL_ORDER_H
#define SKUA_TOPOLOGY_STEAL_ORDER_H

#include "topology/machine.h"

/* What the workers of a tier have in common with the thief; nodes that are not
 * alike far away are a tier each. */
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
		unsigned end;      /* behind its last victim; the first follows
				    * the tier before */
	} * tiers;                 /* none is empty */
	unsigned tier_count;
};

/**
 * steal_order_make - the order of one worker
 * @out: receives it; to be given to steal_order_free()
 * @cpus: of each worker; those that are not on @machine count as of its first CPU
 * @workers: how many, one or more
 * @thief: below @workers
 *
 * Return: 0; -ENOMEM.
 */
int steal_order_make(struct steal_order *out, const struct machine *machine,
		     const unsigned *cpus, unsigned workers, unsigned thief);

void steal_order_free(struct steal_order *order);

#endif
