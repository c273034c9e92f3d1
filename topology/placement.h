/* SPDX-License-Identifier: MIT */
/**
 * placement.h - on which CPUs each worker runs
 *
 * From a machine, the CPUs that there are for us, how many workers and a policy.
 * Nothing is read or changed here.
 */
#ifndef SKUA_TOPOLOGY_PLACEMENT_H
#define SKUA_TOPOLOGY_PLACEMENT_H

#include "topology/machine.h"

/* What is asked for. */
struct placement_ask {
	const struct machine *machine; /* NULL: nothing is known of it */
	const struct cpu_list *cpus;   /* those to place them on; with
				        * SKUA_PLACE_LISTED in any order */
	enum skua_placement policy;
	unsigned workers; /* 0: one for each place that the policy has, */
	unsigned most;    /* but no more than so many; 0: no limit */
	bool unpinned;    /* all on all CPUs */
	/* There is CPU time for a part of the CPUs: each worker is to be on all
	 * of a last cache's, that of the CPU @start first. */
	bool limited;
	unsigned start;
};

/* A part of a placement's CPUs. */
struct placement_range {
	unsigned first, count;
};

struct placement {
	unsigned *cpus; /* by node, last cache and core, so that those of a
			 * worker are next to each other */
	unsigned cpu_count;
	struct placement_worker {
		unsigned cpu;                 /* one of its own */
		struct placement_range own;   /* where it runs; */
		struct placement_range cache; /* and while time is limited */
	} * workers;
	unsigned worker_count;
	enum skua_binding binding;
};

/**
 * placement_make - place the workers
 * @out: receives it; to be given to placement_free()
 *
 * CPUs that @ask's machine does not have are a core each, and share a cache on
 * node 0. Workers for which there is no place are on all CPUs.
 *
 * Return: 0; -ENOMEM.
 */
int placement_make(struct placement *out, const struct placement_ask *ask);

void placement_free(struct placement *placement);

/* placement_tell - the CPUs of the first @room workers, in @cpus, which may be
 * NULL. Return: how many workers there are. */
unsigned placement_tell(const struct placement *placement, unsigned *cpus,
			unsigned room);

/* placement_range - which of the CPUs are worker @i's, with limited time or not */
static inline struct placement_range
placement_range(const struct placement *placement, unsigned i, bool limited)
{
	return limited ? placement->workers[i].cache
		       : placement->workers[i].own;
}

#endif
