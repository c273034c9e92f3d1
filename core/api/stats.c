/* SPDX-License-Identifier: MIT */
/* stats.c - snapshots of the counters */
#include <errno.h>
#include <string.h>

#include "core/runtime/runtime.h"
#include "skua/stats.h"

/* skua/stats.h lists the counters by hand. A counter that is missing there does
 * not compile below; one that is missing in probes/counter_list.h makes the
 * sizes differ. */
_Static_assert(
	sizeof(struct skua_worker_stats) -
			sizeof(((struct skua_worker_stats *)0)->queue_depth) ==
		COUNTER_LIST_COUNT * sizeof(uint64_t),
	"skua_worker_stats and COUNTER_LIST name different counters: add the "
	"missing one");

static void read_worker(const struct worker *worker,
			struct skua_worker_stats *out)
{
	const struct area_counters *c = &worker->area.counters;

	*out = (struct skua_worker_stats){
		.queue_depth = local_queue_length(worker->queue),
#define READ(name, ...) .name = counter_read(&c->name),
		COUNTER_LIST(READ)
#undef READ
	};
}

static void add(struct skua_worker_stats *sum,
		const struct skua_worker_stats *one)
{
#define ADD(name, ...) sum->name += one->name;
	COUNTER_LIST(ADD)
#undef ADD
	sum->queue_depth += one->queue_depth;
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
	/* Acquire: makes the spawn of each task that is counted as refused
	 * visible to the loads below. Pairs with the release in
	 * pool_end_spawn(). */
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
	out->injection_depth = pool_length(&rt->pool);
	/* Relaxed: a count. */
	out->accepts_delayed = atomic_load_relaxed(&rt->pool.accepts_delayed);
	return 0;
}
