/* SPDX-License-Identifier: MIT */
/*
 * parallel_map.c - compute a function of many numbers, with one task for each number
 *
 * An external thread spawns all tasks, then waits until they are done. Each task stores
 * its number and the function's value.
 */
#include <errno.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>

#include "bpf/cli/args.h"
#include "bench/kernels/compute.h"
#include "bench/workloads/workloads.h"

struct map_options {
	uint64_t items;
	uint64_t cost;
};

struct map_result {
	uint64_t number;
	uint64_t value;
};

struct map_task {
	alignas(64) struct skua_task task; /* first: it is cast back */
	uint64_t number;
	uint64_t cost;
	struct map_result *result;
};

struct map {
	uint64_t items;
	uint64_t cost;
	struct map_task *tasks;
	struct map_result *results;
	uint64_t *expected;
};

static enum skua_poll poll_item(struct skua_task *self)
{
	struct map_task *t = (struct map_task *)self;

	t->result->value = compute(t->number, t->cost);
	t->result->number = t->number;
	return SKUA_DONE;
}

static int map_setup(struct workload_run *run)
{
	const struct map_options *options = run->options;
	struct map *map = run->state;

	run->ops = options->items;
	map->items = options->items;
	map->cost = options->cost;
	map->tasks = aligned_alloc(alignof(struct map_task),
				   map->items * sizeof(*map->tasks));
	map->results = calloc(map->items, sizeof(*map->results));
	map->expected = calloc(map->items, sizeof(*map->expected));
	if (map->tasks == NULL || map->results == NULL || map->expected == NULL)
		return -ENOMEM;
	for (uint64_t i = 0; i < map->items; i++)
		map->expected[i] = compute(i, map->cost);
	return 0;
}

static void map_teardown(struct workload_run *run)
{
	struct map *map = run->state;

	free(map->tasks);
	free(map->results);
	free(map->expected);
}

static void map_prepare(struct workload_run *run)
{
	struct map *map = run->state;

	for (uint64_t i = 0; i < map->items; i++)
		map->results[i] = (struct map_result){ UINT64_MAX, 0 };
}

static int map_round(struct workload_run *run)
{
	struct map *map = run->state;

	for (uint64_t i = 0; i < map->items; i++) {
		struct map_task *t = &map->tasks[i];
		int err;

		t->number = i;
		t->cost = map->cost;
		t->result = &map->results[i];
		skua_task_init(&t->task, poll_item);
		err = skua_task_spawn(run->rt, &t->task);
		if (err != 0) {
			skua_runtime_drain(run->rt);
			return err;
		}
	}
	return skua_runtime_drain(run->rt);
}

static bool map_check(struct workload_run *run)
{
	const struct map *map = run->state;

	for (uint64_t i = 0; i < map->items; i++) {
		const struct map_result *result = &map->results[i];

		if (result->number == i && result->value == map->expected[i])
			continue;
		fprintf(stderr,
			"parallel_map: item %ju is (%ju, %ju), not (%ju, "
			"%ju)\n",
			(uintmax_t)i, (uintmax_t)result->number,
			(uintmax_t)result->value, (uintmax_t)i,
			(uintmax_t)map->expected[i]);
		return false;
	}
	return true;
}

/* ---- options ------------------------------------------------------------- */

static json_t *map_params(const void *arg)
{
	const struct map_options *options = arg;

	return json_pack("{s:I, s:I}", "items", (json_int_t)options->items,
			 "cost", (json_int_t)options->cost);
}

static const struct map_options defaults = { .items = 10000, .cost = 1 };

WORKLOAD(parallel_map, "Compute a function of many numbers, one task for each",
	 ARGS_OPTIONS(
		 ARGS_NUMBER_OF(struct map_options, "items", items, 1, 10000000,
				"N", "Numbers, and tasks (default 10000)"),
		 ARGS_NUMBER_OF(
			 struct map_options, "cost", cost, 0, 1000000, "N",
			 "Approximate work of a task, in microseconds (default "
			 "1)")),
	 .options_size = sizeof(struct map_options), .defaults = &defaults,
	 .report = &defaults, .report_count = 1, .params = map_params,
	 WORKLOAD_CALLS(map, struct map));
