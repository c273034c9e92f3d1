/* SPDX-License-Identifier: MIT */
/* worker.h - the scheduler loop and what belongs to one worker (L3) */
#ifndef SKUA_CORE_WORKER_H
#define SKUA_CORE_WORKER_H

#include "core/lifo_slot.h"
#include "core/local_queue.h"
#include "core/pool.h"
#include "core/rng.h"
#include "probes/counters.h"

struct worker {
	/* Constant while the workers run; read by thieves. */
	alignas(CACHE_PAIR) struct pool *pool;
	struct local_queue *queue; /* of struct skua_task */
	unsigned index;

	/* The worker's own. */
	alignas(CACHE_PAIR) struct rng rng;
	uint32_t polls_until_inject;
	uint32_t lifo_streak;

	alignas(CACHE_PAIR) struct lifo_slot lifo; /* of struct skua_task */

	/* Writer: the worker. Readers: any. */
	alignas(CACHE_PAIR) struct worker_counters counters;
	/* Writer: the worker. Readers: drains. Wraps at 2^64. */
	atomic_u64 finished;
};

/* worker_init - prepare a worker; @queue is its empty local queue */
void worker_init(struct worker *worker, struct pool *pool, unsigned index,
		 struct local_queue *queue);

/* worker_run - the loop, on the calling thread, until pool_stop() */
void worker_run(struct worker *worker);

/* worker_spawn_owner - queue a task in state SCHEDULED, to run next */
void worker_spawn_owner(struct worker *worker, struct skua_task *task);

/*
 * The worker that runs on this thread, or NULL. Initial-exec: one load, also
 * in the shared library, for 8 bytes of the static TLS block.
 */
extern _Thread_local struct worker *worker_current
	__attribute__((tls_model("initial-exec")));

#endif
