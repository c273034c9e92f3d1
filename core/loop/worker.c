/* SPDX-License-Identifier: MIT */
/* worker.c - see worker.h */
#include "core/loop/work.h"
#include "core/loop/worker.h"

void worker_init(struct worker *worker, struct pool *pool, unsigned index,
		 struct local_queue *queue, struct timer_slot *slots)
{
	worker->pool = pool;
	worker->generation = pool->generation;
	worker->generation_here = pool->generation_here;
	worker->queue = queue;
	worker->index = index;
	worker->area.index = index;
	worker->area.queue_head = (uintptr_t)&queue->head;
	worker->area.queue_tail = (uintptr_t)&queue->tail;
	worker->area.finished = (uintptr_t)&worker->finished;
	worker->area.inbox_pushed = (uintptr_t)&worker->inbox.pushed;
	worker->area.inbox_taken = (uintptr_t)&worker->inbox.taken;
	worker->group = idle_group_of(&pool->idle, index);
	worker->inject = &pool->inject[worker->group];
	worker->driver = &pool->drivers[worker->group];
	work_flag_init(&worker->flag, &pool->map, worker->group,
		       pool->groups->places[index].bit);
	if (pool->team.members)
		worker->fork_join = pool->team.members[index];
	tick_init(&worker->tick);
	worker->affinity_due_ns = UINT64_MAX;
	turns_init(&worker->turns);
	worker->polls_until_inject = worker->turns.polls;
	worker->others = (struct others){ .ticks = OTHERS_TICKS, .step = 1 };
	inject_queue_init(&worker->inbox);
	timers_init(&worker->timers, slots,
		    &pool->deadlines[worker->group]
			     .next_ns[pool->groups->places[index].bit]);
	timers_begin_turns(worker);
	pollers_init(&worker->pollers);
	rng_init(&worker->rng, index);
	lifo_slot_init(&worker->lifo, pool->membarrier);
	atomic_init(&worker->burst, 0);
	telemetry_init(&worker->telemetry, &pool->telemetry, &worker->area,
		       &worker->tick);
	atomic_init(&worker->finished, 0);
}

void worker_destroy(struct worker *worker)
{
	telemetry_destroy(&worker->telemetry);
}
