/* SPDX-License-Identifier: MIT */
/* placement.c - see placement.h */
#include "topology/placement.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KEYS 7

/* Sort keys: the first key in which two candidates differ decides. */
struct keys {
	unsigned of[KEYS];
};

/* A CPU on which a worker may be placed, with the values by which the policies sort. */
struct candidate {
	struct keys keys; /* of the current order */
	struct skua_cpu is;
	unsigned listed;      /* index in the given list */
	unsigned far;         /* distance from the start; 0 unless limited */
	unsigned sibling;     /* number of earlier CPUs on its core */
	unsigned core_number; /* number of earlier cores of its cache */
	/* Number of earlier CPUs of its node when the caches take turns. */
	unsigned turn;
	unsigned at; /* index in placement.cpus */
	struct placement_range core, cache;
};

struct candidates {
	struct candidate *all;
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
	/* Another node is farther than this node, even if the distance is unknown. */
	return 2 +
	       (machine ? machine_distance(machine, from->node, to->node) : 0);
}

static int make_candidates(struct candidates *out,
			   const struct placement_request *request)
{
	struct skua_cpu start = look_up(request->machine, request->start);

	out->count = request->cpus->count;
	out->all = calloc(out->count, sizeof(*out->all));
	if (!out->all)
		return -ENOMEM;
	for (unsigned i = 0; i < out->count; i++) {
		struct candidate *candidate = &out->all[i];

		candidate->is =
			look_up(request->machine, request->cpus->cpus[i]);
		candidate->listed = i;
		if (request->limited)
			candidate->far = farness(request->machine, &start,
						 &candidate->is);
	}
	return 0;
}

/* ---- orders ---------------------------------------------------------------- */

/* Isolated CPUs come first: an administrator gave them to this process on purpose. */
static unsigned rest(const struct candidate *candidate)
{
	return !candidate->is.isolated;
}

static struct keys by_number(const struct candidate *s)
{
	return (struct keys){ { s->is.cpu } };
}

static struct keys by_list(const struct candidate *s)
{
	return (struct keys){ { s->listed } };
}

static struct keys by_place(const struct candidate *s)
{
	return (struct keys){ { s->is.node, s->is.llc, s->is.core,
				s->is.cpu } };
}

static struct keys by_compact(const struct candidate *s)
{
	return (struct keys){ { rest(s), s->far, s->is.node, s->is.llc,
				s->is.core, s->is.cpu } };
}

/* Use each core once before any core gets a second worker; fast cores first. */
static struct keys by_core(const struct candidate *s)
{
	return (struct keys){ { rest(s), s->sibling,
				UINT32_MAX - s->is.capacity, s->far, s->is.node,
				s->is.llc, s->is.cpu } };
}

/* Within a node the caches take turns, before any core gets a second worker. */
static struct keys by_turn_in_node(const struct candidate *s)
{
	return (struct keys){ { rest(s), s->is.node, s->sibling, s->core_number,
				s->is.llc } };
}

/* The nodes take turns as well. */
static struct keys by_scatter(const struct candidate *s)
{
	return (struct keys){ { rest(s), s->sibling, s->turn, s->is.node } };
}

static int compare(const void *a, const void *b)
{
	const unsigned *left = ((const struct candidate *)a)->keys.of;
	const unsigned *right = ((const struct candidate *)b)->keys.of;
	unsigned i = 0;

	while (i + 1 < KEYS && left[i] == right[i])
		i++;
	return (left[i] > right[i]) - (left[i] < right[i]);
}

/* Sort the first @count candidates. */
static void sort(struct candidates *candidates, unsigned count,
		 struct keys (*keys)(const struct candidate *candidate))
{
	for (unsigned i = 0; i < count; i++)
		candidates->all[i].keys = keys(&candidates->all[i]);
	qsort(candidates->all, count, sizeof(*candidates->all), compare);
}

/* ---- ranges and turns ------------------------------------------------------- */

/* range_of - return the range of the candidates that share the core, or the cache, of
 * candidate @i; the candidates are sorted by place */
static struct placement_range range_of(const struct candidates *candidates,
				       unsigned i, bool core)
{
	const struct skua_cpu *it = &candidates->all[i].is;
	unsigned first = i, end = i;

	while (first > 0 && candidates->all[first - 1].is.node == it->node &&
	       candidates->all[first - 1].is.llc == it->llc &&
	       (!core || candidates->all[first - 1].is.core == it->core))
		first--;
	while (end < candidates->count &&
	       candidates->all[end].is.node == it->node &&
	       candidates->all[end].is.llc == it->llc &&
	       (!core || candidates->all[end].is.core == it->core))
		end++;
	return (struct placement_range){ first, end - first };
}

/* find_ranges - set the ranges of all candidates, which are sorted by place
 *
 * A candidate after the end of a range begins the next one. */
static void find_ranges(struct candidates *candidates)
{
	for (unsigned i = 0; i < candidates->count; i++) {
		struct candidate *candidate = &candidates->all[i];
		const struct candidate *before = i > 0 ? candidate - 1 : NULL;

		candidate->at = i;
		candidate->core =
			before && i < before->core.first + before->core.count
				? before->core
				: range_of(candidates, i, true);
		candidate->cache =
			before && i < before->cache.first + before->cache.count
				? before->cache
				: range_of(candidates, i, false);
		candidate->sibling = i - candidate->core.first;
		if (i > candidate->cache.first)
			candidate->core_number =
				before->core_number + (candidate->sibling == 0);
	}
}

static void find_turns(struct candidates *candidates)
{
	sort(candidates, candidates->count, by_turn_in_node);
	for (unsigned i = 1; i < candidates->count; i++) {
		struct candidate *candidate = &candidates->all[i];

		if (rest(&candidate[-1]) == rest(candidate) &&
		    candidate[-1].is.node == candidate->is.node &&
		    candidate[-1].sibling == candidate->sibling)
			candidate->turn = candidate[-1].turn + 1;
	}
}

/* ---- policies -------------------------------------------------------------- */

/* Keep one candidate of each core, or of each cache. */
static void leave_first(struct candidates *candidates,
			enum skua_placement policy)
{
	unsigned left = 0;

	for (unsigned i = 0; i < candidates->count; i++) {
		const struct candidate *candidate = &candidates->all[i];

		if (candidate->at == (policy == SKUA_PLACE_CORES
					      ? candidate->core.first
					      : candidate->cache.first))
			candidates->all[left++] = *candidate;
	}
	candidates->count = left;
}

/* choose - keep the candidates that the policy uses, in the order in which workers take
 * them */
static void choose(struct candidates *candidates, enum skua_placement policy)
{
	switch (policy) {
	case SKUA_PLACE_COMPACT:
		sort(candidates, candidates->count, by_compact);
		return;
	case SKUA_PLACE_SCATTER:
		find_turns(candidates);
		sort(candidates, candidates->count, by_scatter);
		return;
	case SKUA_PLACE_LISTED:
		sort(candidates, candidates->count, by_list);
		return;
	case SKUA_PLACE_CORES:
	case SKUA_PLACE_CACHES:
		leave_first(candidates, policy);
		break;
	case SKUA_PLACE_DEFAULT:
		break;
	}
	sort(candidates, candidates->count, by_core);
}

static unsigned count_workers(const struct placement_request *request,
			      unsigned places)
{
	unsigned workers = request->workers ? request->workers : places;

	return !request->workers && request->max_workers > 0 &&
			       request->max_workers < workers
		       ? request->max_workers
		       : workers;
}

static enum skua_binding binding_of(const struct placement_request *request,
				    unsigned workers, unsigned places)
{
	if (request->unpinned || workers > places)
		return SKUA_BOUND_NOT;
	if (request->limited || request->policy == SKUA_PLACE_CACHES)
		return SKUA_BOUND_CACHE;
	return request->policy == SKUA_PLACE_CORES ? SKUA_BOUND_CORE
						   : SKUA_BOUND_CPU;
}

static struct placement_worker take(const struct candidate *candidate,
				    enum skua_placement policy)
{
	struct placement_worker worker = { .cpu = candidate->is.cpu,
					   .own = { candidate->at, 1 },
					   .cache = candidate->cache };

	if (policy == SKUA_PLACE_CORES)
		worker.own = candidate->core;
	if (policy == SKUA_PLACE_CACHES)
		worker.own = candidate->cache;
	return worker;
}

static int place_all(struct placement *out,
		     const struct placement_request *request,
		     struct candidates *candidates)
{
	const struct placement_range all = { 0, out->cpu_count };
	unsigned used;

	out->worker_count = count_workers(request, candidates->count);
	out->binding =
		binding_of(request, out->worker_count, candidates->count);
	out->workers = calloc(out->worker_count, sizeof(*out->workers));
	if (!out->workers)
		return -ENOMEM;
	used = candidates->count;
	if (out->worker_count < used)
		used = out->worker_count;
	/* The workers get the first candidates. Unless the policy has an order of its own,
	 * they get these in the order of the CPU numbers. */
	if (request->policy == SKUA_PLACE_DEFAULT ||
	    request->policy == SKUA_PLACE_CORES ||
	    request->policy == SKUA_PLACE_CACHES)
		sort(candidates, used, by_number);
	for (unsigned i = 0; i < out->worker_count; i++) {
		out->workers[i] =
			take(&candidates->all[i % used], request->policy);
		if (i >= used || request->unpinned)
			out->workers[i].own = out->workers[i].cache = all;
	}
	return 0;
}

int placement_make(struct placement *out,
		   const struct placement_request *request)
{
	struct candidates candidates;
	int code = make_candidates(&candidates, request);

	*out = (struct placement){ .cpu_count = request->cpus->count };
	if (code)
		return code;
	out->cpus = calloc(out->cpu_count, sizeof(*out->cpus));
	if (!out->cpus) {
		code = -ENOMEM;
	} else {
		sort(&candidates, candidates.count, by_place);
		find_ranges(&candidates);
		for (unsigned i = 0; i < candidates.count; i++)
			out->cpus[i] = candidates.all[i].is.cpu;
		choose(&candidates, request->policy);
		code = place_all(out, request, &candidates);
	}
	free(candidates.all);
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
