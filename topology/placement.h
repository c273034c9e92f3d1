/* SPDX-License-Identifier: MIT */
/**
 * placement.h - choose the CPUs on which each worker runs
 *
 * A placement follows from the machine, the allowed CPUs, the number of workers and a
 * policy. These functions neither read nor change the system.
 */
#ifndef SKUA_TOPOLOGY_PLACEMENT_H
#define SKUA_TOPOLOGY_PLACEMENT_H

#include "topology/machine.h"

/* The input of placement_make(). */
struct placement_request {
	const struct machine *machine; /* NULL: unknown */
	const struct cpu_list *cpus;   /* the allowed CPUs; with
				        * SKUA_PLACE_LISTED in any order */
	enum skua_placement policy;
	unsigned workers;     /* 0: one for each place of the policy */
	unsigned max_workers; /* the most if workers is 0; 0: no limit */
	bool unpinned;        /* each worker may run on all CPUs */
	/* There is CPU time for a part of the CPUs only: bind each worker to all CPUs
	 * of a last-level cache. The cache of the CPU @start comes first. */
	bool limited;
	unsigned start;
};

/* A part of a placement's CPUs. */
struct placement_range {
	unsigned first, count;
};

struct placement {
	unsigned *cpus; /* sorted by node, last-level cache and core, so that
			 * the CPUs of a worker are adjacent */
	unsigned cpu_count;
	struct placement_worker {
		unsigned cpu;               /* one of its CPUs */
		struct placement_range own; /* its CPUs */
		struct placement_range
			cache; /* its CPUs while time is limited */
	} * workers;
	unsigned worker_count;
	enum skua_binding binding;
};

/**
 * placement_make - place the workers
 * @out: receives the placement; the caller releases it with placement_free()
 *
 * Each CPU that @request's machine does not have counts as a core of its own; all of
 * these share one cache, on node 0. If there are more workers than places, the rest
 * run on all CPUs.
 *
 * Return: 0; -ENOMEM.
 */
int placement_make(struct placement *out,
		   const struct placement_request *request);

void placement_free(struct placement *placement);

/* placement_tell - write the CPUs of the first @room workers to @cpus, which may be NULL.
 * Return: the number of workers. */
unsigned placement_tell(const struct placement *placement, unsigned *cpus,
			unsigned room);

/* placement_range - return the CPUs on which worker @i runs; with @limited: those on
 * which it runs while CPU time is limited */
static inline struct placement_range
placement_range(const struct placement *placement, unsigned i, bool limited)
{
	return limited ? placement->workers[i].cache
		       : placement->workers[i].own;
}

#endif
