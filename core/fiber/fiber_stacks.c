/* SPDX-License-Identifier: MIT */
/* fiber_stacks.c - see fiber_stacks.h */
#include "core/fiber/fiber_stacks.h"

#include "core/base/clock.h"
#include "core/loop/timers.h"
#include "core/loop/worker.h"
#include "core/os/log.h"

static const struct skua_task_type trim_type =
	SKUA_TASK_TYPE("skua: return stacks");

static void wait_to_trim(struct worker *worker, uint64_t now_ns)
{
	struct fiber_stacks *stacks = worker->fiber_stacks;

	stacks->trims = true;
	timers_add_exact(worker, (struct timer *)&stacks->timer, &stacks->trim,
			 now_ns + STACKS_IDLE_NS);
}

static enum skua_poll trim(struct skua_task *self)
{
	struct fiber_stacks *stacks =
		SKUA_CONTAINER_OF(self, struct fiber_stacks, trim);
	struct pool *pool = self->pool;
	uint64_t now_ns = clock_now_ns();

	/* Many stacks: let other tasks run in between. */
	if (stacks_trim_node(stacks->cache.stacks, now_ns))
		return SKUA_YIELD;
	stacks->trims = false;
	if (stacks_trim(&stacks->cache, now_ns))
		wait_to_trim(pool->workers[self->home - 1], now_ns);
	return SKUA_PENDING;
}

static __attribute__((noinline)) void start(struct worker *worker)
{
	struct fiber_stacks *stacks = worker->fiber_stacks;

	stacks->cache.stacks = worker->stacks;
	stacks->trim = (struct skua_task)SKUA_TASK_INIT(trim);
	stacks->trim.pool = worker->pool;
	stacks->trim.type = &trim_type;
	stacks->trim.home = worker->index + 1;
	stacks->trim.flags = worker->pool->generation * TASK_GENERATION_UNIT;
	/* It waits, as after a first poll. */
	stacks->trim.state = TASK_SPAWN_REFERENCES * TASK_REFERENCE;
}

struct stack *fiber_stacks_take(struct worker *worker, unsigned order)
{
	struct fiber_stacks *stacks = worker->fiber_stacks;

	if (!stacks->cache.stacks)
		start(worker);
	return stacks_take(worker->stacks, &stacks->cache,
			   order ? order : worker->stacks->default_order);
}

void fiber_stacks_give(struct worker *worker, struct stack *stack)
{
	struct fiber_stacks *stacks;

	if (!worker || worker->stacks != stack->arena->owner) {
		stacks_give(NULL, stack);
		return;
	}
	stacks = worker->fiber_stacks;
	if (!stacks->cache.stacks)
		start(worker);
	stacks_give(&stacks->cache, stack);
	if (!stacks->trims)
		wait_to_trim(worker, clock_now_ns());
}

void fiber_stacks_missing(struct worker *worker)
{
	struct fiber_stacks *stacks = worker->fiber_stacks;
	uint64_t now_ns = clock_now_ns();

	counter_add_owner(&worker->area.counters.stacks_missing, 1);
	if (stacks->said_ns != 0 && now_ns < stacks->said_ns + NS_PER_S)
		return;
	stacks->said_ns = now_ns;
	log_say(&worker->pool->telemetry.hooks, SKUA_LOG_WARNING,
		"worker %u has no memory for the stack of a fiber, %llu times so "
		"far: fibers wait until others end. Check the limits of memory "
		"and of mappings (vm.max_map_count)",
		worker->index,
		(unsigned long long)worker->area.counters.stacks_missing);
}
