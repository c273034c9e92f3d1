/* SPDX-License-Identifier: MIT */
/*
 * imbalance.c - balance four pieces of work of different size, each started on one worker
 *
 * The pieces are 100, 100, 200 and 350 ms of work, scaled down, and each is cut into
 * small tasks. All tasks of a piece start on one worker: a feeder task that is bound to
 * that worker spawns them. Without stealing, the largest piece would decide how long a
 * round takes. The figure is the utilisation: the share of the workers' time that they
 * spend in tasks.
 */
#include <errno.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/cli/args.h"
#include "bench/harness/clock.h"
#include "bench/kernels/compute.h"
#include "bench/workloads/workloads.h"

/* Distance in bytes between fields that different threads write. Two cache
 * lines, because the processor may fetch lines in pairs. */
#define CACHE_PAIR 128

enum { PIECES = 4 };

static const uint64_t piece_ms[PIECES] = { 100, 100, 200, 350 };

struct imbalance_options {
	uint64_t scale;    /* percent of 100, 100, 200, 350 ms */
	uint64_t grain_us; /* work in each small task */
};

struct item {
	alignas(64) struct skua_task task; /* first: it is cast back */
	struct imbalance *all;
	uint64_t number;
	uint64_t value;
	uint64_t runs;
};

struct feeder {
	struct skua_task task; /* first: it is cast back */
	struct imbalance *all;
	struct item *items;
	uint64_t count;
	unsigned worker;
	int err;
};

/* Written by one worker while a round runs. */
struct busy {
	alignas(CACHE_PAIR) uint64_t ns;
};

struct imbalance {
	struct skua_runtime *rt;
	unsigned workers;
	uint64_t grain_us;
	struct feeder feeders[PIECES];
	struct item *items;
	uint64_t count;
	uint64_t *expected;
	struct busy *busy; /* by worker */

	/* Sums over all timed rounds. */
	uint64_t busy_ns;
	uint64_t elapsed_ns;
};

/* ---- a round ------------------------------------------------------------- */

static enum skua_poll poll_item(struct skua_task *self)
{
	uint64_t start = clock_ns();
	struct item *item = (struct item *)self;
	struct imbalance *all = item->all;

	item->value = compute(item->number, all->grain_us);
	item->runs++;
	all->busy[skua_worker_index(all->rt)].ns += clock_ns() - start;
	return SKUA_DONE;
}

static enum skua_poll poll_feeder(struct skua_task *self)
{
	struct feeder *f = (struct feeder *)self;
	int err = 0;

	for (uint64_t i = 0; err == 0 && i < f->count; i++) {
		skua_task_init(&f->items[i].task, poll_item);
		err = skua_task_spawn(f->all->rt, &f->items[i].task);
	}
	f->err = err;
	return SKUA_DONE;
}

static int imbalance_round(struct workload_run *run)
{
	struct imbalance *all = run->state;
	int err = 0;
	int drain_err;

	for (unsigned i = 0; err == 0 && i < PIECES; i++) {
		struct feeder *f = &all->feeders[i];

		skua_task_init(&f->task, poll_feeder);
		err = skua_task_spawn_on(all->rt, f->worker, &f->task);
	}
	drain_err = skua_runtime_drain(all->rt);
	for (unsigned i = 0; err == 0 && i < PIECES; i++)
		err = all->feeders[i].err;
	return err != 0 ? err : drain_err;
}

/* ---- set-up -------------------------------------------------------------- */

/* Compute how many tasks each piece has, at least one. */
static void plan(struct imbalance *all, const struct imbalance_options *options)
{
	for (unsigned i = 0; i < PIECES; i++) {
		uint64_t us = piece_ms[i] * options->scale * 10;
		uint64_t count = us / options->grain_us;

		all->feeders[i].all = all;
		all->feeders[i].count = count > 0 ? count : 1;
		all->feeders[i].worker = i % all->workers;
		all->count += all->feeders[i].count;
	}
}

static int allocate(struct imbalance *all)
{
	all->items = aligned_alloc(alignof(struct item),
				   all->count * sizeof(*all->items));
	all->expected = calloc(all->count, sizeof(*all->expected));
	all->busy =
		aligned_alloc(CACHE_PAIR, all->workers * sizeof(*all->busy));
	return all->items == NULL || all->expected == NULL || all->busy == NULL
		       ? -ENOMEM
		       : 0;
}

static void number_items(struct imbalance *all)
{
	struct item *next = all->items;

	for (unsigned i = 0; i < PIECES; i++) {
		all->feeders[i].items = next;
		next += all->feeders[i].count;
	}
	for (uint64_t i = 0; i < all->count; i++) {
		all->items[i].all = all;
		all->items[i].number = i;
		all->expected[i] = compute(i, all->grain_us);
	}
}

static int imbalance_setup(struct workload_run *run)
{
	const struct imbalance_options *options = run->options;
	struct imbalance *all = run->state;
	int err;

	all->rt = run->rt;
	all->workers = run->workers;
	all->grain_us = options->grain_us;
	plan(all, options);
	run->ops = all->count;
	err = allocate(all);
	if (err == 0)
		number_items(all);
	return err;
}

static void imbalance_teardown(struct workload_run *run)
{
	struct imbalance *all = run->state;

	free(all->items);
	free(all->expected);
	free(all->busy);
}

static void imbalance_prepare(struct workload_run *run)
{
	struct imbalance *all = run->state;

	for (uint64_t i = 0; i < all->count; i++) {
		all->items[i].value = 0;
		all->items[i].runs = 0;
	}
	memset(all->busy, 0, all->workers * sizeof(*all->busy));
}

/* ---- results ------------------------------------------------------------- */

static bool imbalance_check(struct workload_run *run)
{
	const struct imbalance *all = run->state;

	for (uint64_t i = 0; i < all->count; i++) {
		const struct item *item = &all->items[i];

		if (item->runs == 1 && item->value == all->expected[i])
			continue;
		fprintf(stderr,
			"imbalance: task %ju ran %ju times and got %ju, "
			"not once and %ju\n",
			(uintmax_t)i, (uintmax_t)item->runs,
			(uintmax_t)item->value, (uintmax_t)all->expected[i]);
		return false;
	}
	return true;
}

static double imbalance_sample(struct workload_run *run, uint64_t round_ns)
{
	struct imbalance *all = run->state;

	for (unsigned i = 0; i < all->workers; i++)
		all->busy_ns += all->busy[i].ns;
	all->elapsed_ns += round_ns;
	return (double)round_ns / (double)run->ops;
}

/* Return the utilisation that the workers would have without any steal. */
static double static_utilisation(const struct imbalance *all)
{
	uint64_t most = 0;

	for (unsigned worker = 0; worker < PIECES; worker++) {
		uint64_t load = 0;

		for (unsigned i = 0; i < PIECES; i++)
			if (all->feeders[i].worker == worker)
				load += all->feeders[i].count;
		if (load > most)
			most = load;
	}
	return (double)all->count / ((double)all->workers * (double)most);
}

static json_t *imbalance_figures(struct workload_run *run)
{
	const struct imbalance *all = run->state;
	double available_ns = (double)all->workers * (double)all->elapsed_ns;

	return json_pack("{s:f, s:f}", "utilisation_percent",
			 100 * (double)all->busy_ns / available_ns,
			 "static_utilisation_percent",
			 100 * static_utilisation(all));
}

/* ---- options ------------------------------------------------------------- */

static json_t *imbalance_params(const void *arg)
{
	const struct imbalance_options *options = arg;

	return json_pack("{s:I, s:I}", "scale", (json_int_t)options->scale,
			 "grain", (json_int_t)options->grain_us);
}

static const struct imbalance_options defaults = {
	.scale = 10,
	.grain_us = 20,
};

WORKLOAD(imbalance, "Four pieces of uneven size, each started on one worker",
	 ARGS_OPTIONS(
		 ARGS_NUMBER_OF(
			 struct imbalance_options, "scale", scale, 1, 1000, "N",
			 "Size of the four pieces, in percent of 100, 100, 200 "
			 "and "
			 "350 ms of work (default 10)"),
		 ARGS_NUMBER_OF(
			 struct imbalance_options, "grain", grain_us, 1,
			 1000000, "N",
			 "Approximate work of a small task, in microseconds "
			 "(default 20)")),
	 .options_size = sizeof(struct imbalance_options),
	 .defaults = &defaults, .report = &defaults, .report_count = 1,
	 .params = imbalance_params, .sample = imbalance_sample,
	 .figures = imbalance_figures,
	 WORKLOAD_CALLS(imbalance, struct imbalance));
