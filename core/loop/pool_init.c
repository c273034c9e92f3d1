/* SPDX-License-Identifier: MIT */
/* pool_init.c - allocate and initialise a pool; see pool.h */
#include <errno.h>

#include "core/base/memory.h"
#include "core/loop/pool.h"
#include "core/loop/timers.h"
#include "core/os/membarrier.h"
#include "core/os/process_generation.h"

int pool_allocate(struct pool *pool, const struct config *config,
		  const struct llc_groups *groups)
{
	const struct skua_allocator *a = config->allocator;

	pool->idle.sleepers = memory_alloc(a, CACHE_PAIR, config->workers,
					   sizeof(*pool->idle.sleepers));
	pool->idle.by_group = memory_alloc(a, CACHE_PAIR, groups->count,
					   sizeof(*pool->idle.by_group));
	pool->deadlines = memory_alloc(a, CACHE_PAIR, groups->count,
				       sizeof(*pool->deadlines));
	pool->map.lines = memory_alloc(a, CACHE_PAIR, groups->count + 1,
				       sizeof(*pool->map.lines));
	pool->inject = memory_alloc(a, CACHE_PAIR, groups->count,
				    sizeof(*pool->inject));
	pool->drivers = memory_alloc(a, CACHE_PAIR, groups->count,
				     sizeof(*pool->drivers));
	pool->sentinel.sights = memory_alloc(a, CACHE_PAIR, config->workers,
					     sizeof(*pool->sentinel.sights));
	if (config->track_tasks)
		pool->telemetry.track = memory_alloc(
			a, CACHE_PAIR, 1, sizeof(*pool->telemetry.track));
	return pool->idle.sleepers && pool->idle.by_group && pool->deadlines &&
			       pool->map.lines && pool->inject &&
			       pool->drivers && pool->sentinel.sights &&
			       (pool->telemetry.track || !config->track_tasks)
		       ? 0
		       : -ENOMEM;
}

void pool_free(struct pool *pool, const struct config *config,
	       const struct llc_groups *groups)
{
	const struct skua_allocator *a = config->allocator;

	memory_free(a, pool->idle.sleepers, CACHE_PAIR, config->workers,
		    sizeof(*pool->idle.sleepers));
	memory_free(a, pool->idle.by_group, CACHE_PAIR, groups->count,
		    sizeof(*pool->idle.by_group));
	memory_free(a, pool->deadlines, CACHE_PAIR, groups->count,
		    sizeof(*pool->deadlines));
	memory_free(a, pool->map.lines, CACHE_PAIR, groups->count + 1,
		    sizeof(*pool->map.lines));
	memory_free(a, pool->inject, CACHE_PAIR, groups->count,
		    sizeof(*pool->inject));
	for (unsigned g = 0; pool->drivers && g < groups->count; g++)
		driver_close(&pool->drivers[g]);
	memory_free(a, pool->drivers, CACHE_PAIR, groups->count,
		    sizeof(*pool->drivers));
	memory_free(a, pool->sentinel.sights, CACHE_PAIR, config->workers,
		    sizeof(*pool->sentinel.sights));
	memory_free(a, pool->telemetry.track, CACHE_PAIR, 1,
		    sizeof(*pool->telemetry.track));
}

static void summon(void *ctx, unsigned group)
{
	sentinel_summon_leader(ctx, group);
}

int pool_init(struct pool *pool, const struct config *config,
	      const struct llc_groups *groups,
	      struct wait_samples *wait_samples)
{
	int code = process_generation_adopt(&pool->generation);

	pool->generation_here = process_generation_address();
	pool->worker_count = config->workers;
	pool->groups = groups;
	pool->tuning = config->tuning;
	pool->membarrier = membarrier_register();
	pool->telemetry.hooks = config->hooks;
	pool->telemetry.idle = &pool->idle;
	for (unsigned g = 0; g < groups->count; g++)
		inject_group_init(&pool->inject[g]);
	idle_init(&pool->idle, groups, pool->idle.by_group,
		  pool->idle.sleepers);
	/* The map has one line more, for the external threads. */
	work_map_init(&pool->map, pool->map.lines, groups->count + 1);
	team_init(&pool->team, pool->team.members, &pool->idle, &pool->map,
		  &pool->tuning,
		  config->placement.binding == SKUA_BOUND_CPU ||
			  config->placement.binding == SKUA_BOUND_CORE);
	pool->team.inject = pool->inject;
	pool->team.telemetry = &pool->telemetry;
	pool->telemetry.wait_samples = wait_samples;
	sentinel_init(&pool->sentinel, pool->sentinel.sights);
	for (unsigned g = 0; g < groups->count; g++)
		driver_init(&pool->drivers[g], g, pool->generation, summon,
			    pool);
	atomic_init(&pool->prioritises, 0);
	atomic_init(&pool->accepts_delayed, 0);
	atomic_init(&pool->delay_logged_ns, 0);
	atomic_init(&pool->attach_turn, 0);
	atomic_init(&pool->refused, 0);
	atomic_init(&pool->queued, 0);
	atomic_init(&pool->closing, 0);
	atomic_init(&pool->stopping, 0);
	atomic_init(&pool->telemetry.poll_flags,
		    pool->telemetry.track ? POLL_TRACK : 0);
	atomic_init(&pool->drainers, 0);
	atomic_init(&pool->drain_epoch, 0);
	return code;
}
