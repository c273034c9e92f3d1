/* SPDX-License-Identifier: MIT */
/* stats.h - counters and time histograms of the workers */
#ifndef SKUA_STATS_H
#define SKUA_STATS_H

#include <skua/task.h>

SKUA_BEGIN_DECLS

struct skua_runtime;

/**
 * struct skua_worker_stats - the counters of one worker since its start
 * @tasks_spawned: spawns by tasks that it polled
 * @tasks_polled: calls of poll functions
 * @tasks_stolen: tasks that it stole from other workers
 * @steal_attempts: attempts to steal from a worker that seemed to have tasks
 * @times_parked: how often it parked
 * @lifo_hits: polls of a task from its LIFO slot
 * @global_batch_fetches: batches that it took from the injection queue
 * @overflows: how often its full local queue spilled half of its tasks to the
 *             injection queue
 * @overflows_single: tasks that went to the injection queue one by one, because a
 *         thief was stealing from the full local queue
 * @queue_depth: tasks in its local queue now
 * @jobs_stolen: jobs that it took from other threads
 * @tasks_stolen_far: the part of @tasks_stolen from workers on other NUMA nodes
 * @steals: successful steals; each took one or more tasks
 * @searches_failed: how often it parked because its search had found nothing
 * @stalls: polls of its tasks that took longer than their limit (stall_limit_ns of
 *          struct skua_config), reported or not
 * @stacks_missing: polls of fibers for which there was no memory for a stack: each fiber
 *          tried again after a millisecond
 * @io_reaps: batches of events of descriptors that it took from the driver
 * @io_events: events in these batches
 * @io_parks: how often it slept in the driver; part of @times_parked, in which the sleeps
 *          between two searches count once
 * @io_takeovers: how often it took the driver away from a worker in a long poll, for itself
 *                or for another worker
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
	uint64_t stacks_missing;
	uint64_t io_reaps;
	uint64_t io_events;
	uint64_t io_parks;
	uint64_t io_takeovers;
};

/**
 * struct skua_stats - the counters of a runtime since its start
 * @workers: number of workers
 * @tasks_spawned: tasks spawned, by tasks and by outside threads
 * @injection_depth: tasks in the injection queues of all groups of workers now
 * @jobs_stolen_outside: jobs that outside threads in skua_run() took
 * @accepts_delayed: how often an accept failed because descriptors or memory were exhausted,
 *         and was tried again after a delay
 * @reserved: 0; space for more counters
 * @total: sums over all workers; its tasks_spawned does not include spawns by outside
 *         threads
 */
struct skua_stats {
	uint64_t workers;
	uint64_t tasks_spawned;
	uint64_t injection_depth;
	uint64_t jobs_stolen_outside;
	uint64_t accepts_delayed;
	uint64_t reserved[3];
	struct skua_worker_stats total;
};

/**
 * skua_runtime_stats - return a snapshot of the counters of a runtime
 * @rt: live runtime, borrowed
 * @out: receives the counters
 *
 * The workers go on meanwhile: each counter is exact for some moment during the call,
 * but not all for the same moment.
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: 0; -EINVAL (an argument is NULL); -EOWNERDEAD (in a forked child).
 */
SKUA_API int skua_runtime_stats(const struct skua_runtime *rt,
				struct skua_stats *out);

/**
 * skua_runtime_worker_stats - return a snapshot of the counters of one worker
 * @rt: live runtime, borrowed
 * @worker: index of the worker, below skua_runtime_workers()
 * @out: receives the counters
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: 0; -EINVAL (a pointer is NULL, or there is no such worker); -EOWNERDEAD (in
 * a forked child).
 */
SKUA_API int skua_runtime_worker_stats(const struct skua_runtime *rt,
				       unsigned worker,
				       struct skua_worker_stats *out);

/**
 * enum skua_times_of - which times skua_runtime_times() returns
 * @SKUA_TIMES_POLL: durations of polls. Estimated from a sample: each poll that is
 *         timed also counts for the polls since the last timed one. The first poll after
 *         a search is timed more often than others, so if such polls take longer, the
 *         mean is too large; a recording (skua_record_start()) has each poll
 * @SKUA_TIMES_WAIT: waits of tasks from a spawn or wake-up to the poll. Estimated
 *         from a sample, in the same way
 * @SKUA_TIMES_STEAL: search times of workers before each successful steal
 * @SKUA_TIMES_PARK: sleeps of workers
 */
enum skua_times_of {
	SKUA_TIMES_POLL,
	SKUA_TIMES_WAIT,
	SKUA_TIMES_STEAL,
	SKUA_TIMES_PARK
};

#define SKUA_TIMES_BUCKETS 272

/**
 * struct skua_times - a histogram of times
 * @count: number of times in all buckets
 * @sum_ns: sum of all times, in nanoseconds
 * @longest_ns: the longest time, in nanoseconds
 * @reserved: 0
 * @bucket: number of times that are at least the shortest time of the bucket
 *          (skua_times_bucket_ns()) and shorter than that of the next bucket. There
 *          are eight buckets for each doubling, so a time is rounded down by less
 *          than 12.5 %. Times of a minute or longer are in the last bucket
 */
struct skua_times {
	uint64_t count;
	uint64_t sum_ns;
	uint64_t longest_ns;
	uint64_t reserved[5];
	uint64_t bucket[SKUA_TIMES_BUCKETS];
};

/**
 * skua_runtime_times - return a histogram of times, over all workers
 * @rt: live runtime, borrowed
 * @of: which times
 * @out: receives the histogram since the start of the runtime
 *
 * For the times in an interval, subtract an earlier histogram bucket by bucket. The
 * workers go on meanwhile: each word is exact for some moment during the call, but
 * not all for the same moment.
 *
 * Threads: any. Blocks: never; reads 2 KB for each worker. Allocates: nothing.
 * Return: 0; -EINVAL (a pointer is NULL, or @of is not a value of the enum);
 * -EOWNERDEAD (in a forked child).
 */
SKUA_API int skua_runtime_times(const struct skua_runtime *rt,
				enum skua_times_of of, struct skua_times *out);

/**
 * skua_times_bucket_ns - return the shortest time that a bucket counts
 * @bucket: index, below SKUA_TIMES_BUCKETS
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: nanoseconds; UINT64_MAX if there is no such bucket.
 */
SKUA_API uint64_t skua_times_bucket_ns(unsigned bucket);

/**
 * skua_times_quantile - return the time that a given part of all times does not
 * exceed
 * @times: a histogram, or the difference of two; borrowed
 * @part: the part, 0 to 1; for example 0.99
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: nanoseconds, rounded down to the start of a bucket; 0 if there are no
 * times, @times is NULL, or @part is not within 0 to 1.
 */
SKUA_API uint64_t skua_times_quantile(const struct skua_times *times,
				      double part);

/**
 * struct skua_type_stats - measurements of the tasks of one type
 * @type: the type. NULL for tasks without a type, which have one row for each poll
 *        function
 * @poll: the poll function; if there is a type, the poll function of some task of
 *        that type. If both @type and @poll are NULL, the row is the sum of all tasks
 *        for which the table had no room
 * @polls: calls of poll functions. This field and those below are estimates
 * @run_ns: sum of the durations of these calls, in nanoseconds
 * @longest_ns: duration of the longest call that was timed, in nanoseconds
 * @waits: waits in queues, from a spawn or wake-up to the poll; never more than
 *         @polls
 * @wait_ns: sum of the durations of these waits, in nanoseconds
 * @longest_wait_ns: duration of the longest wait that was timed, in nanoseconds
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
 * skua_runtime_type_stats - return measurements of each type of tasks, over all
 * workers
 * @rt: live runtime, borrowed
 * @out: receives a row for each type, in no particular order
 * @room: number of rows that @out has, at least 1. If there are more types, the last
 *        row is the sum of the remaining ones
 *
 * Each worker distinguishes 31 types, and counts further types together. The workers
 * go on meanwhile: each word is exact for some moment during the call, but not all
 * for the same moment.
 *
 * Threads: any. Blocks: never; reads 2 KB for each worker. Allocates: nothing.
 * Return: the number of rows that were written, 0 or more; -EINVAL (a pointer is
 * NULL, or @room is 0); -EOWNERDEAD (in a forked child).
 */
SKUA_API int skua_runtime_type_stats(const struct skua_runtime *rt,
				     struct skua_type_stats *out,
				     unsigned room);

SKUA_END_DECLS

#endif
