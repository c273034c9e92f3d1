/* SPDX-License-Identifier: MIT */
/* worker.h - the data of a worker */
#ifndef SKUA_CORE_LOOP_WORKER_H
#define SKUA_CORE_LOOP_WORKER_H

#include "core/fork_join/fork_join.h"
#include "core/queue/lifo_slot.h"
#include "core/queue/local_queue.h"
#include "core/loop/pollers.h"
#include "core/loop/pool.h"
#include "core/base/rng.h"
#include "core/task/slab.h"
#include "core/telemetry/telemetry.h"
#include "core/base/tick.h"
#include "core/loop/timers.h"
#include "core/idle/victims.h"
#include "probes/area.h"

struct worker {
	/* Constant while the workers run; read by thieves. */
	alignas(CACHE_PAIR) struct pool *pool;
	struct local_queue *queue;   /* of struct skua_task */
	struct fork_join *fork_join; /* its jobs */
	unsigned index;
	unsigned group; /* its LLC group */

	/* The worker's own. */
	alignas(CACHE_PAIR) struct rng rng;
	struct work_flag flag; /* its bit of the pool's map */
	struct tick tick;
	uint64_t affinity_due_ns; /* pool.recheck_affinity; UINT64_MAX: never */
	uint32_t polls_until_inject;
	uint32_t lifo_streak;        /* polls from the LIFO slot in a row */
	uint32_t prioritised_streak; /* of urgent or bound tasks in a row */
	bool inbox_turn;             /* see work_next() */
	struct pollers pollers;
	struct slab_cache slab;
	struct stolen_job job; /* that it found, and is going to run */
	bool spare;            /* its spare reference is still there */
	bool finishing;        /* a task that is not counted finished yet */
	bool driven_idle;      /* loop_drive() left it parked */
	uint32_t polls_within; /* polls within the outermost one */
	/* Polls begun by the last fork within a poll: that one may have jobs, on top of
	 * which no other poll may fork. */
	uint64_t forked_at;
	uint64_t spin_ns;       /* spin.h; 0: not yet */
	uint64_t idle_since_ns; /* when it had nothing to do any more */
	struct worker_telemetry telemetry;

	struct timers timers;

	/* Of struct skua_task. Writers: any, to push; the worker takes. */
	struct inject_queue inbox;

	alignas(CACHE_PAIR) struct lifo_slot lifo; /* of struct skua_task */

	/* Writer: the worker. Readers: any, and other processes. */
	struct area_worker area;
	/* Writer: the worker. Readers: drains. Wraps at 2^64. */
	atomic_u64 finished;
};

/* worker_init - prepare a worker in zeroed memory; @queue is its empty local
 * queue, and the team has a place for it, or none for anybody */
void worker_init(struct worker *worker, struct pool *pool, unsigned index,
		 struct local_queue *queue);

void worker_destroy(struct worker *worker);

/* worker_polls_any - is it polling a task? By itself. */
static inline bool worker_polls_any(const struct worker *worker)
{
	return worker->area.task != 0;
}

#endif
