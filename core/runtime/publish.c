/* SPDX-License-Identifier: MIT */
/* publish.c - see publish.h */
#include "core/runtime/publish.h"

#include <unistd.h>

#include "core/base/clock.h"
#include "core/io/table.h"
#include "core/runtime/runtime.h"
#include "core/telemetry/track.h"
#include "probes/root.h"

_Static_assert(AREA_EXTERNALS == TEAM_EXTERNALS,
	       "each external thread has a word");

#define ADDRESS(x) ((uint64_t)(uintptr_t)(x))

static void publish_queues(const struct pool *pool, struct area_runtime *area)
{
	const struct inject_group *first = &pool->inject[0];
	const struct inject_queue *urgent = &first->lanes[INJECT_URGENT];
	const struct inject_queue *normal = &first->lanes[INJECT_NORMAL];

	area->outside = ADDRESS(&first->outside);
	area->refused = ADDRESS(&pool->refused);
	area->inject_pushed = ADDRESS(&normal->pushed);
	area->inject_taken = ADDRESS(&normal->taken);
	area->urgent_pushed = ADDRESS(&urgent->pushed);
	area->urgent_taken = ADDRESS(&urgent->taken);
	area->group_count = pool->groups->count;
	area->group_bytes = sizeof(*first);
}

void publish(struct skua_runtime *rt)
{
	struct pool *pool = &rt->pool;
	struct area_runtime *area = &pool->telemetry.area;

	pthread_mutex_init(&rt->names.lock, NULL);
	rt->names.first = 0;
	area->magic = AREA_RUNTIME_MAGIC;
	area->abi = AREA_ABI;
	area->bytes = sizeof(*area);
	area->pid = (uint32_t)getpid();
	area->flags = rt->config.caller_driven ? AREA_CALLER_DRIVEN : 0;
	area->worker_count = pool->worker_count;
	area->worker_bytes = sizeof(struct area_worker);
	area->sample = TELEMETRY_MAX_SAMPLE;
	area->worker_offset = offsetof(struct worker, area);
	area->workers = ADDRESS(pool->workers);
	area->started_ns = clock_now_ns();
	area->stall_limit_ns = rt->config.stall_limit_ns;
	area->tasks = ADDRESS(pool->telemetry.track);
	area->task_slots = pool->telemetry.track ? TRACK_SLOTS : 0;
	area->stacks = ADDRESS(&rt->worker_memory.allocs.nodes->stacks.area);
	area->stacks_count = rt->worker_memory.allocs.count;
	area->stacks_bytes = sizeof(*rt->worker_memory.allocs.nodes);
	area->names = ADDRESS(&rt->names.first);
	area->calls = ADDRESS(&rt->worker_memory.externals->call);
	area->calls_count = TEAM_EXTERNALS;
	area->calls_bytes = sizeof(*rt->worker_memory.externals);
	area->blocking = ADDRESS(&rt->blocking.area);
	area->descriptors = ADDRESS(table_chunks);
	area->descriptor_chunks = TABLE_CHUNKS;
	area->descriptor_slots = TABLE_CHUNK_SLOTS;
	area->descriptor_owner = ADDRESS(pool);
	area->accepts_delayed = ADDRESS(&pool->accepts_delayed);
	publish_queues(pool, area);
	root_add(area, pool->generation);
}

void publish_end(struct skua_runtime *rt)
{
	if (rt->pool.telemetry.area.magic)
		root_remove(&rt->pool.telemetry.area, rt->pool.generation);
}
