/* SPDX-License-Identifier: MIT */
/* tasks.c - the cases with many tasks: spawn_many_*, chained_spawn, parallel_map, uts */
#include <stdio.h>
#include <string.h>

#include "bench/peers/harness/case.h"

/* ---- spawn_many_*, chained_spawn ------------------------------------------ */

static void clear_runs(struct harness *h)
{
	memset(h->runs, 0, sizeof(h->runs));
}

static bool check_runs(const struct harness *h, unsigned tasks,
		       uint64_t expected)
{
	for (unsigned i = 0; i < tasks; i++) {
		if (h->runs[i].runs == expected)
			continue;
		fprintf(stderr, "task %u ran %ju times, not %ju\n", i,
			(uintmax_t)h->runs[i].runs, (uintmax_t)expected);
		return false;
	}
	return true;
}

static bool check_spawn(const struct harness *h)
{
	return check_runs(h, SPAWN_TASKS, SPAWN_REPEAT);
}

static bool check_chain(const struct harness *h)
{
	return check_runs(h, CHAIN_TASKS, CHAIN_REPEAT);
}

static void print_tasks(FILE *file, unsigned tasks, unsigned repeat)
{
	fprintf(file, "{\"tasks\":%u,\"repeat\":%u}", tasks, repeat);
}

static void spawn_params(const struct harness *h, FILE *file)
{
	(void)h;
	print_tasks(file, SPAWN_TASKS, SPAWN_REPEAT);
}

static void chain_params(const struct harness *h, FILE *file)
{
	(void)h;
	print_tasks(file, CHAIN_TASKS, CHAIN_REPEAT);
}

/* ---- parallel_map --------------------------------------------------------- */

static void clear_results(struct harness *h)
{
	memset(h->results, 0xff, sizeof(h->results));
}

static bool check_map(const struct harness *h)
{
	for (uint64_t i = 0; i < MAP_ITEMS; i++) {
		if (h->results[i].number == i &&
		    h->results[i].value == compute(i, MAP_COST))
			continue;
		fprintf(stderr, "parallel_map: item %ju is wrong\n",
			(uintmax_t)i);
		return false;
	}
	return true;
}

static void map_params(const struct harness *h, FILE *file)
{
	(void)h;
	fprintf(file, "{\"items\":%u,\"cost\":%u}", MAP_ITEMS, MAP_COST);
}

/* ---- uts ------------------------------------------------------------------ */

static void clear_counts(struct harness *h)
{
	memset(&h->counts, 0, sizeof(h->counts));
}

static bool check_uts(const struct harness *h)
{
	const struct uts_tree *tree = h->tree;

	if (h->counts.nodes == tree->nodes &&
	    h->counts.leaves == tree->leaves && h->counts.depth == tree->depth)
		return true;
	fprintf(stderr, "uts %s: %ju nodes, %ju leaves, depth %u\n", tree->name,
		(uintmax_t)h->counts.nodes, (uintmax_t)h->counts.leaves,
		h->counts.depth);
	return false;
}

static uint64_t uts_nodes(const struct harness *h)
{
	return h->tree->nodes;
}

static void uts_params(const struct harness *h, FILE *file)
{
	fprintf(file, "{\"tree\":\"%s\"}", h->tree->name);
}

/* ---- all ------------------------------------------------------------------ */

const struct harness_case harness_tasks[] = {
	HARNESS_CASE("parallel_map",
		     "Compute a function of many numbers, one task for each",
		     .ops = MAP_ITEMS, .params = map_params,
		     .prepare = clear_results, .check = check_map),
	HARNESS_CASE("uts", "Search an unbalanced tree, one task for each node",
		     .takes_tree = true, .count = uts_nodes,
		     .params = uts_params, .prepare = clear_counts,
		     .check = check_uts),
	HARNESS_CASE("spawn_many_local",
		     "Spawn 10,000 empty tasks from outside, wait for all",
		     .ops = SPAWN_TASKS * SPAWN_REPEAT, .params = spawn_params,
		     .prepare = clear_runs, .check = check_spawn),
	HARNESS_CASE("spawn_many_worker",
		     "Spawn 10,000 empty tasks from inside, wait for all",
		     .ops = SPAWN_TASKS * SPAWN_REPEAT, .params = spawn_params,
		     .prepare = clear_runs, .check = check_spawn),
	HARNESS_CASE("chained_spawn", "Each of 1,000 tasks spawns the next one",
		     .ops = CHAIN_TASKS * CHAIN_REPEAT, .params = chain_params,
		     .prepare = clear_runs, .check = check_chain),
	{ .name = NULL },
};
