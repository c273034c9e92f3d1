/* SPDX-License-Identifier: MIT */
/**
 * policy.h - the victims of a simulated worker, and the workers that it wakes
 *
 * `runtime` is the library's own code. The others are what the design was chosen
 * from: they know the true state of all queues without reading them, and their
 * wake-ups and their counts cost nothing, so that they are better here than they
 * could be.
 */
#ifndef SKUA_BENCH_SIMULATOR_POLICY_H
#define SKUA_BENCH_SIMULATOR_POLICY_H

#include "bench/simulator/simulation.h"

/**
 * struct policy
 * @make: may set sim->policy. Return: 0; -ENOMEM. NULL: nothing to do
 * @free: NULL: nothing to do
 * @arrived: there are tasks in worker @i's queue that were not there before
 * @search: worker @i does a round: it steals, goes on, or parks
 *	@first: it has just run out of work, or woken, and is not yet searching, or
 *		already is
 * @woken: worker @i, which was parked, is about to search
 * @found: worker @i, which searched, has a task to run
 *	@stolen: it stole it
 * @emptied: a thief found worker @victim's queue empty, or left it so. NULL: nothing
 *	to do
 */
struct policy {
	const char *name;
	const char *description;
	int (*make)(struct simulation *sim);
	void (*free)(struct simulation *sim);
	void (*arrived)(struct simulation *sim, unsigned i);
	void (*search)(struct simulation *sim, unsigned i, bool first);
	void (*woken)(struct simulation *sim, unsigned i);
	void (*found)(struct simulation *sim, unsigned i, bool stolen);
	void (*emptied)(struct simulation *sim, unsigned victim);
};

extern const struct policy policy_runtime;
extern const struct policy policy_rand;
extern const struct policy policy_tier;
extern const struct policy policy_samp;
extern const struct policy policy_hint;
extern const struct policy policy_hintw;

/* policies - all of them; the first is the runtime's; NULL at the end */
extern const struct policy *const policies[];

/* policy_find - by its name; NULL: there is none */
const struct policy *policy_find(const char *name);

#endif
