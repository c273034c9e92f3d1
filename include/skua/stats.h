/* SPDX-License-Identifier: MIT */
/* stats.h - what the workers have done so far, and how long it took */
#ifndef SKUA_STATS_H
#define SKUA_STATS_H

#include <skua/task.h>

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

/**
 * enum skua_times_of - of what skua_runtime_times() tells the times
 * @SKUA_TIMES_POLL: polls of tasks. Estimated: some polls are timed, and each
 *      counts for those since the last that was
 * @SKUA_TIMES_WAIT: from the spawn or wake of a task to its poll. Estimated,
 *      likewise
 * @SKUA_TIMES_STEAL: each successful steal: how long the worker had searched
 * @SKUA_TIMES_PARK: each sleep of a worker
 */
enum skua_times_of {
	SKUA_TIMES_POLL,
	SKUA_TIMES_WAIT,
	SKUA_TIMES_STEAL,
	SKUA_TIMES_PARK
};

#define SKUA_TIMES_BUCKETS 272

/**
 * struct skua_times - a histogram, in nanoseconds
 * @count: how many there are in all buckets
 * @sum_ns: all times added up
 * @longest_ns: the longest
 * @reserved: 0
 * @bucket: how many times were as long as the bucket's shortest time or longer, and
 *      shorter than the next bucket's: eight buckets an octave, so that a time is
 *      rounded down by less than 12.5 %. Times of a minute and longer are in the
 *      last one
 */
struct skua_times {
	uint64_t count;
	uint64_t sum_ns;
	uint64_t longest_ns;
	uint64_t reserved[5];
	uint64_t bucket[SKUA_TIMES_BUCKETS];
};

/**
 * skua_runtime_times - how long something took, over all workers
 * @rt: live runtime, borrowed
 * @of: what
 * @out: receives the histogram since the start of the runtime
 *
 * For an interval, subtract an earlier one bucket by bucket. Nobody is stopped:
 * each word is exact for some moment during the call, not all for the same one.
 *
 * Threads: any. Blocks: never; reads 2 KB a worker. Allocates: nothing.
 * Return: 0; -EINVAL (a pointer is NULL, or @of is none of the above).
 */
SKUA_API int skua_runtime_times(const struct skua_runtime *rt,
				enum skua_times_of of, struct skua_times *out);

/**
 * skua_times_bucket_ns - the shortest time that a bucket counts
 * @bucket: index, below SKUA_TIMES_BUCKETS
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: nanoseconds; UINT64_MAX if there is no such bucket.
 */
SKUA_API uint64_t skua_times_bucket_ns(unsigned bucket);

/**
 * skua_times_quantile - a time that this part of all times does not exceed
 * @times: a histogram, or the difference of two
 * @part: 0 to 1, as 0.99
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: nanoseconds, rounded down to the bucket; 0 if there are no times, @times
 * is NULL, or @part is not within 0 to 1.
 */
SKUA_API uint64_t skua_times_quantile(const struct skua_times *times,
				      double part);

/**
 * struct skua_type_stats - what was seen of the tasks of one type
 * @type: the type, or NULL: a row of tasks without a type has one poll function
 * @poll: the poll function; if there is a type, that of some of its tasks. If both are
 *      NULL, the row is of all tasks for which the table had no room
 * @polls: calls of poll functions. This field and those below are estimates
 * @run_ns: sum of the times of these calls
 * @longest_ns: the longest call that was timed
 * @waits: waits in queues, from a spawn or wake to the poll; never more than @polls
 * @wait_ns: sum of the times of these waits
 * @longest_wait_ns: the longest wait that was timed
 * @reserved: 0
 */
struct skua_type_stats {
	const struct skua_task_type *type;
	skua_task_fn poll;
	uint64_t polls;
	uint64_t run_ns;
	uint64_t longest_ns;
	uint64_t waits;
	uint64_t wait_ns;
	uint64_t longest_wait_ns;
	uint64_t reserved[4];
};

/**
 * skua_runtime_type_stats - what was seen of each type of tasks, over all workers
 * @rt: live runtime, borrowed
 * @out: receives a row for each type, in no order
 * @room: rows that @out has, at least 1. The last row is of all other types if
 *      there are more
 *
 * A worker tells 31 types apart, and counts further ones as others. Nobody is
 * stopped: as skua_runtime_times().
 *
 * Threads: any. Blocks: never; reads 2 KB a worker. Allocates: nothing.
 * Return: how many rows were written, 0 or more; -EINVAL (a pointer is NULL, or
 * @room is 0).
 */
SKUA_API int skua_runtime_type_stats(const struct skua_runtime *rt,
				     struct skua_type_stats *out,
				     unsigned room);

SKUA_END_DECLS

#endif
