/* SPDX-License-Identifier: MIT */
/* placement.c - see placement.h */
#include "topology/placement.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KEYS 7

/* The first key in which two seats differ decides. */
struct keys {
	unsigned of[KEYS];
};

/* A CPU, with what the policies sort by. */
struct seat {
	struct keys keys; /* of the current order */
	struct skua_cpu is;
	unsigned listed;      /* its index in the given list */
	unsigned far;         /* its distance from the start */
	unsigned sibling;     /* the CPUs of its core before it */
	unsigned core_number; /* the cores of its cache before its core */
	unsigned
		turn; /* the CPUs of its node before it, when caches take turns */
	unsigned at; /* its index in the placement */
	struct placement_range core, cache;
};

struct seats {
	struct seat *all;
	unsigned count;
};

static struct skua_cpu look_up(const struct machine *machine, unsigned cpu)
{
	const struct skua_cpu *known =
		machine ? machine_cpu(machine, cpu) : NULL;

	return known ? *known : (struct skua_cpu){ .cpu = cpu, .core = cpu };
}

static unsigned farness(const struct machine *machine,
			const struct skua_cpu *from, const struct skua_cpu *to)
{
	if (from->node == to->node)
		return from->llc != to->llc;
	/* Another node is farther than the own, also if the machine is unknown. */
	return 2 +
	       (machine ? machine_distance(machine, from->node, to->node) : 0);
}

static int sit(struct seats *out, const struct placement_ask *ask)
{
	struct skua_cpu start = look_up(ask->machine, ask->start);

	out->count = ask->cpus->count;
	out->all = calloc(out->count, sizeof(*out->all));
	if (!out->all)
		return -ENOMEM;
	for (unsigned i = 0; i < out->count; i++) {
		struct seat *seat = &out->all[i];

		seat->is = look_up(ask->machine, ask->cpus->cpus[i]);
		seat->listed = i;
		if (ask->limited)
			seat->far = farness(ask->machine, &start, &seat->is);
	}
	return 0;
}

/* ---- orders ---------------------------------------------------------------- */

/* Isolated CPUs come first: somebody gave them to this process on purpose. */
static unsigned rest(const struct seat *seat)
{
	return !seat->is.isolated;
}

static struct keys by_number(const struct seat *s)
{
	return (struct keys){ { s->is.cpu } };
}

static struct keys by_list(const struct seat *s)
{
	return (struct keys){ { s->listed } };
}

static struct keys by_place(const struct seat *s)
{
	return (struct keys){ { s->is.node, s->is.llc, s->is.core,
				s->is.cpu } };
}

static struct keys by_compact(const struct seat *s)
{
	return (struct keys){ { rest(s), s->far, s->is.node, s->is.llc,
				s->is.core, s->is.cpu } };
}

/* Each core once, before any core gets a second worker; fast cores first. */
static struct keys by_core(const struct seat *s)
{
	return (struct keys){ { rest(s), s->sibling,
				UINT32_MAX - s->is.capacity, s->far, s->is.node,
				s->is.llc, s->is.cpu } };
}

/* Within a node, its caches take turns, before any core gets a second worker. */
static struct keys by_turn_in_node(const struct seat *s)
{
	return (struct keys){ { rest(s), s->is.node, s->sibling, s->core_number,
				s->is.llc } };
}

/* The nodes take turns as well. */
static struct keys by_scatter(const struct seat *s)
{
	return (struct keys){ { rest(s), s->sibling, s->turn, s->is.node } };
}

static int compare(const void *a, const void *b)
{
	const unsigned *left = ((const struct seat *)a)->keys.of;
	const unsigned *right = ((const struct seat *)b)->keys.of;
	unsigned i = 0;

	while (i + 1 < KEYS && left[i] == right[i])
		i++;
	return (left[i] > right[i]) - (left[i] < right[i]);
}

/* Sort the first @count seats. */
static void sort(struct seats *seats, unsigned count,
		 struct keys (*keys)(const struct seat *seat))
{
	for (unsigned i = 0; i < count; i++)
		seats->all[i].keys = keys(&seats->all[i]);
	qsort(seats->all, count, sizeof(*seats->all), compare);
}

/* ---- ranges and turns ------------------------------------------------------- */

/* The range of seats, sorted by place, that share the core or the cache of seat @i. */
static struct placement_range range_of(const struct seats *seats, unsigned i,
				       bool core)
{
	const struct skua_cpu *it = &seats->all[i].is;
	unsigned first = i, end = i;

	while (first > 0 && seats->all[first - 1].is.node == it->node &&
	       seats->all[first - 1].is.llc == it->llc &&
	       (!core || seats->all[first - 1].is.core == it->core))
		first--;
	while (end < seats->count && seats->all[end].is.node == it->node &&
	       seats->all[end].is.llc == it->llc &&
	       (!core || seats->all[end].is.core == it->core))
		end++;
	return (struct placement_range){ first, end - first };
}

/* Find the ranges of all seats, sorted by place. A seat after the end of a range begins
 * the next. */
static void find_ranges(struct seats *seats)
{
	for (unsigned i = 0; i < seats->count; i++) {
		struct seat *seat = &seats->all[i];
		const struct seat *before = i > 0 ? seat - 1 : NULL;

		seat->at = i;
		seat->core =
			before && i < before->core.first + before->core.count
				? before->core
				: range_of(seats, i, true);
		seat->cache =
			before && i < before->cache.first + before->cache.count
				? before->cache
				: range_of(seats, i, false);
		seat->sibling = i - seat->core.first;
		if (i > seat->cache.first)
			seat->core_number =
				before->core_number + (seat->sibling == 0);
	}
}

static void find_turns(struct seats *seats)
{
	sort(seats, seats->count, by_turn_in_node);
	for (unsigned i = 1; i < seats->count; i++) {
		struct seat *seat = &seats->all[i];

		if (rest(&seat[-1]) == rest(seat) &&
		    seat[-1].is.node == seat->is.node &&
		    seat[-1].sibling == seat->sibling)
			seat->turn = seat[-1].turn + 1;
	}
}

/* ---- policies -------------------------------------------------------------- */

/* Keep one seat of each core, or of each cache. */
static void leave_first(struct seats *seats, enum skua_placement policy)
{
	unsigned left = 0;

	for (unsigned i = 0; i < seats->count; i++) {
		const struct seat *seat = &seats->all[i];

		if (seat->at == (policy == SKUA_PLACE_CORES
					 ? seat->core.first
					 : seat->cache.first))
			seats->all[left++] = *seat;
	}
	seats->count = left;
}

/* Keep the seats where the policy has places, in the order in which workers take them. */
static void choose(struct seats *seats, enum skua_placement policy)
{
	switch (policy) {
	case SKUA_PLACE_COMPACT:
		sort(seats, seats->count, by_compact);
		return;
	case SKUA_PLACE_SCATTER:
		find_turns(seats);
		sort(seats, seats->count, by_scatter);
		return;
	case SKUA_PLACE_LISTED:
		sort(seats, seats->count, by_list);
		return;
	case SKUA_PLACE_CORES:
	case SKUA_PLACE_CACHES:
		leave_first(seats, policy);
		break;
	case SKUA_PLACE_DEFAULT:
		break;
	}
	sort(seats, seats->count, by_core);
}

static unsigned count_workers(const struct placement_ask *ask, unsigned places)
{
	unsigned workers = ask->workers ? ask->workers : places;

	return !ask->workers && ask->max_workers > 0 &&
			       ask->max_workers < workers
		       ? ask->max_workers
		       : workers;
}

static enum skua_binding binding_of(const struct placement_ask *ask,
				    unsigned workers, unsigned places)
{
	if (ask->unpinned || workers > places)
		return SKUA_BOUND_NOT;
	if (ask->limited || ask->policy == SKUA_PLACE_CACHES)
		return SKUA_BOUND_CACHE;
	return ask->policy == SKUA_PLACE_CORES ? SKUA_BOUND_CORE
					       : SKUA_BOUND_CPU;
}

static struct placement_worker take(const struct seat *seat,
				    enum skua_placement policy)
{
	struct placement_worker worker = { .cpu = seat->is.cpu,
					   .own = { seat->at, 1 },
					   .cache = seat->cache };

	if (policy == SKUA_PLACE_CORES)
		worker.own = seat->core;
	if (policy == SKUA_PLACE_CACHES)
		worker.own = seat->cache;
	return worker;
}

static int place_all(struct placement *out, const struct placement_ask *ask,
		     struct seats *seats)
{
	const struct placement_range all = { 0, out->cpu_count };
	unsigned used;

	out->worker_count = count_workers(ask, seats->count);
	out->binding = binding_of(ask, out->worker_count, seats->count);
	out->workers = calloc(out->worker_count, sizeof(*out->workers));
	if (!out->workers)
		return -ENOMEM;
	used = seats->count;
	if (out->worker_count < used)
		used = out->worker_count;
	/* Workers take the first seats, and are on them in the order of the CPUs'
	 * numbers, unless the policy has an order of its own. */
	if (ask->policy == SKUA_PLACE_DEFAULT ||
	    ask->policy == SKUA_PLACE_CORES || ask->policy == SKUA_PLACE_CACHES)
		sort(seats, used, by_number);
	for (unsigned i = 0; i < out->worker_count; i++) {
		out->workers[i] = take(&seats->all[i % used], ask->policy);
		if (i >= used || ask->unpinned)
			out->workers[i].own = out->workers[i].cache = all;
	}
	return 0;
}

int placement_make(struct placement *out, const struct placement_ask *ask)
{
	struct seats seats;
	int code = sit(&seats, ask);

	*out = (struct placement){ .cpu_count = ask->cpus->count };
	if (code)
		return code;
	out->cpus = calloc(out->cpu_count, sizeof(*out->cpus));
	if (!out->cpus) {
		code = -ENOMEM;
	} else {
		sort(&seats, seats.count, by_place);
		find_ranges(&seats);
		for (unsigned i = 0; i < seats.count; i++)
			out->cpus[i] = seats.all[i].is.cpu;
		choose(&seats, ask->policy);
		code = place_all(out, ask, &seats);
	}
	free(seats.all);
	if (code)
		placement_free(out);
	return code;
}

unsigned placement_tell(const struct placement *placement, unsigned *cpus,
			unsigned room)
{
	for (unsigned i = 0; cpus && i < room && i < placement->worker_count;
	     i++)
		cpus[i] = placement->workers[i].cpu;
	return placement->worker_count;
}

void placement_free(struct placement *placement)
{
	free(placement->cpus);
	free(placement->workers);
	*placement = (struct placement){ .cpus = NULL };
}
