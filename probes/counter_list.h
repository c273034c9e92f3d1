/* SPDX-License-Identifier: MIT */
/**
 * counter_list.h - the counters of a worker, one entry each
 *
 * All code that names every counter takes the names from here: struct area_counters
 * (area.h), skua_runtime_stats(), `skua stats`, `skua metrics`, the benchmarks. To add
 * a counter, add an entry at the end and a member to struct skua_worker_stats, which
 * is written out for the readers of skua/stats.h; core/api/stats.c does not compile
 * while the two differ.
 *
 * COUNTER(name, place, kind, column, title, help):
 * @name: of the member, and in JSON; `skua metrics` shows it as skua_NAME_total
 * @place: position among all counters in JSON and metrics, from 0
 * @kind: TASKS, SEARCH or IO: the table of `skua stats` that shows it
 * @column: position among the columns of that table, from 0
 * @title: of the column
 * @help: what is counted, for `skua metrics`
 *
 * The order of the entries is the order of the words in a debug area, and so part of
 * the ABI: entries are never moved or removed.
 */
#ifndef SKUA_PROBES_COUNTER_LIST_H
#define SKUA_PROBES_COUNTER_LIST_H

#define COUNTER_LIST(COUNTER)                                                 \
	COUNTER(tasks_spawned, 0, TASKS, 1, "spawned",                        \
		"Tasks spawned by the worker.")                               \
	/* Counted before each poll, so that it is the number of the poll. */ \
	COUNTER(tasks_polled, 1, TASKS, 0, "polled", "Polls of tasks.")       \
	COUNTER(tasks_stolen, 2, TASKS, 3, "stolen",                          \
		"Tasks taken from other workers.")                            \
	COUNTER(steal_attempts, 5, SEARCH, 2, "looks",                        \
		"Attempts to take tasks from another worker.")                \
	COUNTER(times_parked, 7, SEARCH, 0, "parks",                          \
		"Sleeps for lack of work.")                                   \
	COUNTER(lifo_hits, 8, TASKS, 2, "LIFO hits",                          \
		"Polls of a task from the LIFO slot.")                        \
	COUNTER(global_batch_fetches, 9, SEARCH, 4, "fetches",                \
		"Batches taken from the injection queue.")                    \
	COUNTER(overflows, 10, SEARCH, 5, "spills",                           \
		"Batches moved from a full local queue.")                     \
	COUNTER(overflows_single, 11, SEARCH, 6, "singles",                   \
		"Single tasks that found the local queue full.")              \
	COUNTER(jobs_stolen, 12, TASKS, 5, "jobs",                            \
		"Jobs taken from other threads.")                             \
	COUNTER(tasks_stolen_far, 3, TASKS, 4, "far",                         \
		"Tasks taken from workers of other NUMA nodes.")              \
	COUNTER(steals, 4, SEARCH, 1, "steals", "Steals that took tasks.")    \
	COUNTER(searches_failed, 6, SEARCH, 3, "failed",                      \
		"Searches that found nothing.")                               \
	/* Writer: the thread that watches the workers (stall.h). */          \
	COUNTER(stalls, 13, TASKS, 6, "stalls",                               \
		"Polls that took longer than their limit.")                   \
	COUNTER(stacks_missing, 14, TASKS, 7, "no stack",                     \
		"Polls of fibers that found no memory for a stack.")          \
	COUNTER(io_reaps, 15, IO, 1, "batches",                               \
		"Batches of events taken from the driver.")                   \
	COUNTER(io_events, 16, IO, 2, "events", "Events of descriptors.")     \
	COUNTER(io_parks, 17, IO, 0, "sleeps", "Sleeps in the driver.")       \
	COUNTER(io_takeovers, 18, IO, 3, "takeovers",                         \
		"Roles taken from leaders in long polls.")

/* The number of counters. */
#define COUNTER_LIST_ONE(...) +1
#define COUNTER_LIST_COUNT    (0 COUNTER_LIST(COUNTER_LIST_ONE))

#endif
