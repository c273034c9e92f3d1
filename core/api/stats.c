/* SPDX-License-Identifier: MIT */
/* stats.c - snapshots of the counters */
#include <errno.h>
#include <string.h>

#include "core/runtime/runtime.h"
#include "skua/stats.h"

static void read_worker(const struct worker *worker,
			struct skua_worker_stats *out)
{
	const struct area_counters *c = &worker->area.counters;

	*out = (struct skua_worker_stats){
		.tasks_spawned = counter_read(&c->tasks_spawned),
		.tasks_polled = counter_read(&c->tasks_polled),
		.tasks_stolen = counter_read(&c->tasks_stolen),
		.steal_attempts = counter_read(&c->steal_attempts),
		.times_parked = counter_read(&c->times_parked),
		.lifo_hits = counter_read(&c->lifo_hits),
		.global_batch_fetches = counter_read(&c->global_batch_fetches),
		.overflows = counter_read(&c->overflows),
		.overflows_single = counter_read(&c->overflows_single),
		.queue_depth = local_queue_length(worker->queue),
		.jobs_stolen = counter_read(&c->jobs_stolen),
		.tasks_stolen_far = counter_read(&c->tasks_stolen_far),
		.steals = counter_read(&c->steals),
		.searches_failed = counter_read(&c->searches_failed),
		.stalls = counter_read(&c->stalls),
	};
}

static void add(struct skua_worker_stats *sum,
		const struct skua_worker_stats *one)
{
	sum->tasks_spawned += one->tasks_spawned;
	sum->tasks_polled += one->tasks_polled;
	sum->tasks_stolen += one->tasks_stolen;
	sum->steal_attempts += one->steal_attempts;
	sum->times_parked += one->times_parked;
	sum->lifo_hits += one->lifo_hits;
	sum->global_batch_fetches += one->global_batch_fetches;
	sum->overflows += one->overflows;
	sum->overflows_single += one->overflows_single;
	sum->queue_depth += one->queue_depth;
	sum->jobs_stolen += one->jobs_stolen;
	sum->tasks_stolen_far += one->tasks_stolen_far;
	sum->steals += one->steals;
	sum->searches_failed += one->searches_failed;
	sum->stalls += one->stalls;
}

int skua_runtime_worker_stats(const struct skua_runtime *rt, unsigned worker,
			      struct skua_worker_stats *out)
{
	if (!rt || !out || worker >= rt->pool.worker_count)
		return -EINVAL;
	if (!runtime_alive(rt))
		return -EOWNERDEAD;
	read_worker(rt->pool.workers[worker], out);
	return 0;
}

int skua_runtime_stats(const struct skua_runtime *rt, struct skua_stats *out)
{
	struct skua_worker_stats one;
	uint64_t refused;

	if (!rt || !out)
		return -EINVAL;
	if (!runtime_alive(rt))
		return -EOWNERDEAD;
	memset(out, 0, sizeof(*out));
	/* Acquire: each task that is seen refused is seen spawned below. Pairs
	 * with the release in pool_enter_spawn(). */
	refused = atomic_load_acquire(&rt->pool.refused);
	out->workers = rt->pool.worker_count;
	for (unsigned i = 0; i < rt->pool.worker_count; i++) {
		read_worker(rt->pool.workers[i], &one);
		add(&out->total, &one);
	}
	out->tasks_spawned = out->total.tasks_spawned +
			     pool_spawned_outside(&rt->pool) - refused;
	for (unsigned i = 0; i < TEAM_EXTERNALS; i++)
		out->jobs_stolen_outside += counter_read(
			&rt->pool.telemetry.area.external_jobs_stolen[i]);
	out->injection_depth = inject_queue_length(&rt->pool.inject);
	return 0;
}
