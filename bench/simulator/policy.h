/* SPDX-License-Identifier: MIT */
/**
 * policy.h - how simulated workers choose their victims and the workers to wake
 *
 * The policy `runtime` is the library's own code. The other policies (sketches) are those
 * from which the design was chosen. They know the true state of all queues without
 * reading them, and in the simulation they wake and count at no cost, so they do better
 * here than they could on a machine.
 */
#ifndef SKUA_BENCH_SIMULATOR_POLICY_H
#define SKUA_BENCH_SIMULATOR_POLICY_H

#include "bench/simulator/simulation.h"

/**
 * struct policy - the functions that the simulation calls at each step
 * @make: makes the policy's data, and may set sim->policy to it. Returns 0 or -ENOMEM.
 *	NULL: nothing to do
 * @free: frees that data, also after @make failed. NULL: nothing to do
 * @arrived: called when tasks have been added to worker @i's queue
 * @injected: called when a thread that is no worker has pushed tasks to the queue at
 *	@group. NULL: the policy has no such queues
 * @next: called when worker @i has run its last task, before it searches. Returns whether
 *	it has begun another one. NULL: never
 * @search: does a round of the search of worker @i: the worker steals, searches on, or
 *	parks
 *	@first: the first round after the worker ran out of work or was woken
 * @woken: called when worker @i, which was parked, is about to search
 * @found: called when worker @i, which searched, has a task to run
 *	@stolen: the worker stole that task
 * @emptied: called when a thief finds worker @victim's queue empty, or leaves it empty.
 *	NULL: nothing to do
 */
struct policy {
	const char *name;
	const char *description;
	int (*make)(struct simulation *sim);
	void (*free)(struct simulation *sim);
	void (*arrived)(struct simulation *sim, unsigned i);
	void (*injected)(struct simulation *sim, unsigned group);
	bool (*next)(struct simulation *sim, unsigned i);
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

/* policies - all policies, the runtime's first, ended by NULL */
extern const struct policy *const policies[];

/* policy_find - return the policy with this name; NULL: there is none */
const struct policy *policy_find(const char *name);

#endif
