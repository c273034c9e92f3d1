/* SPDX-License-Identifier: MIT */
/* policy_sketches.c - the policies from which the design was chosen (policy.h) */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/simulator/policy.h"
#include "core/base/rng.h"

#define ROUNDS_MIN  16u /* rounds of a search before a worker parks, at least */
#define SEARCH_NS   5000u /* time of a search before a worker parks, at least */
#define PATIENCE_NS 2000u /* hintw: time of a search in its own node */
#define STEAL_MAX   32u

struct crowd {
	struct rng rng;
	unsigned searching;
	unsigned *searching_in; /* workers of each group */
	unsigned *parked_in;    /* workers of each node */
};

static unsigned group_of(const struct simulation *sim, unsigned i)
{
	return sim->layout->groups.places[i].group;
}

static unsigned below(struct simulation *sim, unsigned bound)
{
	struct crowd *crowd = sim->policy;

	return rng_below(&crowd->rng, bound);
}

static unsigned any_of(struct simulation *sim, struct span span)
{
	return sim->layout->order[span.first + below(sim, span.count)];
}

static struct span everybody(const struct simulation *sim)
{
	return (struct span){ 0, sim->layout->groups.worker_count };
}

/* ---- counting and waking ----------------------------------------------------------- */

static void count_searcher(struct simulation *sim, unsigned i, bool begins)
{
	struct crowd *crowd = sim->policy;

	crowd->searching += begins ? 1u : -1u;
	crowd->searching_in[group_of(sim, i)] += begins ? 1u : -1u;
}

static void claim(struct simulation *sim, unsigned i)
{
	struct crowd *crowd = sim->policy;

	crowd->parked_in[layout_node_of(sim->layout, i)]--;
	count_searcher(sim, i, true);
	simulation_claim(sim, i);
}

/* Wake the first parked worker of @span, from a random one on. Return:
 * whether there was one. */
static bool wake_of(struct simulation *sim, struct span span)
{
	unsigned start = below(sim, span.count);

	for (unsigned k = 0; k < span.count; k++) {
		unsigned i =
			sim->layout
				->order[span.first + (start + k) % span.count];

		if (sim->workers[i].state == SIM_PARKED) {
			claim(sim, i);
			return true;
		}
	}
	return false;
}

/* Wake the parked worker that is nearest to worker @i, for @i's tasks,
 * unless a worker searches already. */
static void wake(struct simulation *sim, unsigned i)
{
	struct crowd *crowd = sim->policy;
	const struct layout *layout = sim->layout;
	unsigned node = layout_node_of(layout, i);

	if (sim->plan.wake_by_group ? crowd->searching_in[group_of(sim, i)] > 0
				    : crowd->searching > 0)
		return;
	if (sim->in_state[SIM_PARKED] == 0 ||
	    wake_of(sim, layout->group[group_of(sim, i)]) ||
	    (crowd->parked_in[node] > 0 && wake_of(sim, layout->node[node])))
		return;
	wake_of(sim, everybody(sim));
}

static void sketch_arrived(struct simulation *sim, unsigned i)
{
	if (sim->workers[i].state == SIM_PARKED)
		claim(sim, i);
	else if (sim->workers[i].state != SIM_SEARCHES)
		wake(sim, i);
}

static void sketch_found(struct simulation *sim, unsigned i, bool stolen)
{
	count_searcher(sim, i, false);
	if (stolen && task_ring_length(&sim->workers[i].tasks) > 0)
		wake(sim, i);
}

static void sketch_woken(struct simulation *sim, unsigned i)
{
	(void)sim;
	(void)i;
}

/* ---- searching --------------------------------------------------------------------------- */

static void begin(struct simulation *sim, unsigned i, bool first)
{
	struct sim_worker *w = &sim->workers[i];

	if (first) {
		w->rounds = 0;
		w->search_ns = injected.now_ns;
		if (w->state == SIM_RUNS)
			count_searcher(sim, i, true);
		simulation_enter(sim, i, SIM_SEARCHES);
	}
	simulation_round(sim);
}

/* End a round that found nothing: search once more, or park. */
static void end(struct simulation *sim, unsigned i, uint64_t began_ns)
{
	struct crowd *crowd = sim->policy;
	struct sim_worker *w = &sim->workers[i];

	simulation_failed(sim, i, began_ns);
	if (++w->rounds < ROUNDS_MIN ||
	    injected.now_ns - w->search_ns <= SEARCH_NS)
		return;
	count_searcher(sim, i, false);
	crowd->parked_in[layout_node_of(sim->layout, i)]++;
	simulation_enter(sim, i, SIM_PARKED);
}

static bool try(struct simulation *sim, unsigned i, unsigned victim)
{
	return victim != i && simulation_steal(sim, i, victim, STEAL_MAX);
}

/* Try to steal from each worker of @span that is at least as far away as
 * @nearest, from a random one on. */
static bool sweep(struct simulation *sim, unsigned i, struct span span,
		  enum tier nearest)
{
	unsigned start = below(sim, span.count);

	for (unsigned k = 0; k < span.count; k++) {
		unsigned victim =
			sim->layout
				->order[span.first + (start + k) % span.count];

		if (layout_tier(sim->layout, i, victim) >= nearest &&
		    try(sim, i, victim))
			return true;
	}
	return false;
}

static struct span own_node(const struct simulation *sim, unsigned i)
{
	return sim->layout->node[layout_node_of(sim->layout, i)];
}

static struct span own_socket(const struct simulation *sim, unsigned i)
{
	const struct layout *layout = sim->layout;

	return layout->socket[layout->socket_of[layout_node_of(layout, i)]];
}

static void search_rand(struct simulation *sim, unsigned i, bool first)
{
	uint64_t began_ns = injected.now_ns;

	begin(sim, i, first);
	for (unsigned k = 0; k < 8; k++) {
		if (try(sim, i, any_of(sim, everybody(sim))))
			return;
	}
	end(sim, i, began_ns);
}

static void search_tier(struct simulation *sim, unsigned i, bool first)
{
	uint64_t began_ns = injected.now_ns;

	begin(sim, i, first);
	if (sweep(sim, i, sim->layout->group[group_of(sim, i)], TIER_CORE) ||
	    sweep(sim, i, own_node(sim, i), TIER_NODE) ||
	    sweep(sim, i, own_socket(sim, i), TIER_SOCKET) ||
	    sweep(sim, i, everybody(sim), TIER_FAR))
		return;
	end(sim, i, began_ns);
}

static void search_samp(struct simulation *sim, unsigned i, bool first)
{
	uint64_t began_ns = injected.now_ns;
	bool found;

	begin(sim, i, first);
	found = sweep(sim, i, sim->layout->group[group_of(sim, i)], TIER_CORE);
	for (unsigned k = 0; k < 8 && !found; k++)
		found = try(sim, i,
			    any_of(sim, k < 4   ? own_node(sim, i)
					: k < 6 ? own_socket(sim, i)
						: everybody(sim)));
	if (!found)
		end(sim, i, began_ns);
}

/* ---- searches by group --------------------------------------------------------------------- */

/* Try to steal from the workers of a group that have tasks, from a random
 * one on: from the first of them, or, if @all, from each. */
static bool try_group(struct simulation *sim, unsigned i, unsigned group,
		      bool all)
{
	struct span span = sim->layout->group[group];
	unsigned start = below(sim, span.count);

	for (unsigned k = 0; k < span.count; k++) {
		unsigned victim =
			sim->layout
				->order[span.first + (start + k) % span.count];

		if (task_ring_length(&sim->workers[victim].tasks) == 0)
			continue;
		if (try(sim, i, victim))
			return true;
		if (!all)
			return false;
	}
	return false;
}

static bool try_node(struct simulation *sim, unsigned i)
{
	const struct llc_groups *groups = &sim->layout->groups;
	const struct llc_node *node =
		&groups->nodes[layout_node_of(sim->layout, i)];
	unsigned start = below(sim, node->count);

	for (unsigned k = 0; k < node->count; k++) {
		unsigned group = node->first + (start + k) % node->count;

		if (group == group_of(sim, i))
			continue;
		simulation_read_line(sim, i, group);
		if (try_group(sim, i, group, false))
			return true;
	}
	return false;
}

/* Try two random groups of the socket and two of the whole machine. */
static bool try_samples(struct simulation *sim, unsigned i)
{
	const struct layout *layout = sim->layout;
	unsigned node = layout_node_of(layout, i);
	struct span socket = layout->socket_groups[layout->socket_of[node]];

	for (unsigned k = 0; k < 4; k++) {
		bool far = k >= 2;
		unsigned group = far ? below(sim, layout->groups.count)
				     : socket.first + below(sim, socket.count);

		if (layout->groups.groups[group].node == node)
			continue;
		simulation_read_line(sim, i, group);
		if (try_group(sim, i, group, false))
			return true;
	}
	return false;
}

static void search_groups(struct simulation *sim, unsigned i, bool first,
			  uint64_t patience_ns)
{
	uint64_t began_ns = injected.now_ns;

	begin(sim, i, first);
	if (try_group(sim, i, group_of(sim, i), true))
		return;
	simulation_read_line(sim, i, group_of(sim, i));
	if (try_node(sim, i))
		return;
	if (began_ns - sim->workers[i].search_ns >= patience_ns &&
	    try_samples(sim, i))
		return;
	end(sim, i, began_ns);
}

static void search_hint(struct simulation *sim, unsigned i, bool first)
{
	search_groups(sim, i, first, 0);
}

static void search_hintw(struct simulation *sim, unsigned i, bool first)
{
	search_groups(sim, i, first, PATIENCE_NS);
}

/* ---- memory ------------------------------------------------------------------------------ */

static void sketch_free(struct simulation *sim)
{
	struct crowd *crowd = sim->policy;

	if (!crowd)
		return;
	free(crowd->searching_in);
	free(crowd->parked_in);
	free(crowd);
}

static int sketch_make(struct simulation *sim)
{
	const struct llc_groups *groups = &sim->layout->groups;
	struct crowd *crowd = calloc(1, sizeof(*crowd));

	if (!crowd)
		return -ENOMEM;
	sim->policy = crowd;
	rng_init(&crowd->rng, sim->plan.seed);
	crowd->searching_in =
		calloc(groups->count, sizeof(*crowd->searching_in));
	crowd->parked_in =
		calloc(groups->node_count, sizeof(*crowd->parked_in));
	return crowd->searching_in && crowd->parked_in ? 0 : -ENOMEM;
}

/* ---- all --------------------------------------------------------------------------------- */

#define SKETCH(word, text)                    \
	const struct policy policy_##word = { \
		.name = #word,                \
		.description = text,          \
		.make = sketch_make,          \
		.free = sketch_free,          \
		.arrived = sketch_arrived,    \
		.search = search_##word,      \
		.woken = sketch_woken,        \
		.found = sketch_found,        \
	}

SKETCH(rand, "tries random workers");
SKETCH(tier, "tries all queues, from near to far");
SKETCH(samp, "tries the near queues, and samples of the far ones");
SKETCH(hint, "reads one line for each group: its node, and samples beyond");
SKETCH(hintw, "like hint, but beyond its node only after 2 us");

const struct policy *const policies[] = {
	&policy_runtime, &policy_rand,  &policy_tier, &policy_samp,
	&policy_hint,    &policy_hintw, NULL
};

const struct policy *policy_find(const char *name)
{
	for (unsigned i = 0; policies[i] != NULL; i++) {
		if (strcmp(policies[i]->name, name) == 0)
			return policies[i];
	}
	return NULL;
}
