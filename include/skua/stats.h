/* SPDX-License-Identifier: MIT */
/* stats.h - what the workers have done so far */
#ifndef SKUA_STATS_H
#define SKUA_STATS_H

#include <skua/base.h>

SKUA_BEGIN_DECLS

struct skua_runtime;

/**
 * struct skua_worker_stats - one worker's counters since its start
 * @tasks_spawned: tasks spawned by tasks that it ran
 * @tasks_polled: calls of poll functions
 * @tasks_stolen: tasks that it took from other workers' queues
 * @steal_attempts: looks at the queue of another worker that seemed to have tasks
 * @times_parked: times it went to sleep
 * @lifo_hits: polls of a task from its LIFO slot
 * @global_batch_fetches: batches taken from the injection queue
 * @overflows: times its full queue spilled half to the injection queue
 * @overflows_single: tasks that went to the injection queue one by one,
 *      because the full queue was being stolen from
 * @queue_depth: tasks in its local queue now
 * @jobs_stolen: jobs that it took from other threads
 * @tasks_stolen_far: of @tasks_stolen, those from workers on other NUMA nodes
 * @steals: times that it took tasks from another worker's queue
 * @searches_failed: times it went to sleep because it had found nothing
 * @stalls: polls of its tasks that were over their limit (stall_limit_ns of struct
 *      skua_config), reported or not
 * @reserved: 0; room for more counters
 */
struct skua_worker_stats {
	uint64_t tasks_spawned;
	uint64_t tasks_polled;
	uint64_t tasks_stolen;
	uint64_t steal_attempts;
	uint64_t times_parked;
	uint64_t lifo_hits;
	uint64_t global_batch_fetches;
	uint64_t overflows;
	uint64_t overflows_single;
	uint64_t queue_depth;
	uint64_t jobs_stolen;
	uint64_t tasks_stolen_far;
	uint64_t steals;
	uint64_t searches_failed;
	uint64_t stalls;
	uint64_t reserved[1];
};

/**
 * struct skua_stats - the runtime's counters since its start
 * @workers: how many workers it has
 * @tasks_spawned: tasks spawned, from inside and outside
 * @injection_depth: tasks in the injection queue now
 * @jobs_stolen_outside: jobs that threads in skua_run() took
 * @reserved: 0; room for more counters
 * @total: the sums of the workers' counters; its tasks_spawned leaves out
 *      what was spawned from outside
 */
struct skua_stats {
	uint64_t workers;
	uint64_t tasks_spawned;
	uint64_t injection_depth;
	uint64_t jobs_stolen_outside;
	uint64_t reserved[4];
	struct skua_worker_stats total;
};

/**
 * skua_runtime_stats - snapshot of the runtime's counters
 * @rt: live runtime, borrowed
 * @out: receives the counters
 *
 * Nobody is stopped: each counter is exact for some moment during the call,
 * not all for the same one.
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: 0; -EINVAL (an argument is NULL).
 */
SKUA_API int skua_runtime_stats(const struct skua_runtime *rt,
				struct skua_stats *out);

/**
 * skua_runtime_worker_stats - snapshot of one worker's counters
 * @rt: live runtime, borrowed
 * @worker: index, below skua_runtime_workers()
 * @out: receives the counters
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: 0; -EINVAL (a pointer is NULL, or there is no such worker).
 */
SKUA_API int skua_runtime_worker_stats(const struct skua_runtime *rt,
				       unsigned worker,
				       struct skua_worker_stats *out);

SKUA_END_DECLS

#endif
