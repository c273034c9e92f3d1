/* SPDX-License-Identifier: MIT */
/**
 * perf.h - the parts of skua perf: count what the workers of a process spend
 *
 * A group of counters follows the thread of each worker that exists at the
 * start. The debug area shows how many tasks a worker has polled meanwhile.
 */
#ifndef SKUA_BPF_PERF_H
#define SKUA_BPF_PERF_H

#include <stdio.h>

#include "bpf/target/target.h"
#include "probes/perf_group.h"

/**
 * struct perf_worker - a worker, and its last span (the time between two
 * readings)
 * @runtime: number of its runtime, from 0
 * @index: its index in the runtime
 * @address, @started_ns: identify the runtime
 * @tid: its thread, as numbered in this process's namespace
 * @group: NULL: nothing is counted, because it has ended or has no thread
 * @last: previous reading
 * @span: counts of the last span
 * @polled_last: tasks polled, at the previous reading
 * @polled: tasks polled in the last span
 * @gone: the number of tasks polled can no longer be read
 */
struct perf_worker {
	unsigned runtime;
	unsigned index;
	uint64_t address, started_ns;
	pid_t tid;
	struct perf_group *group;
	struct perf_group_values last, span;
	uint64_t polled_last, polled;
	bool gone;
};

/**
 * struct perf_session - a process that is being counted
 * @comm: name of the process
 * @names, @count: events
 * @workers, @worker_count: all workers of all runtimes
 * @runtimes: number of runtimes
 * @last_ns: time of the previous reading
 * @seconds: length of the last span
 * @total: counts of the last span, of all workers
 * @polled: tasks that all workers polled in the last span
 * @has_polled: false: @polled lacks some worker
 * @reason: why something failed, or what is missing
 */
struct perf_session {
	struct target *target;
	char comm[TARGET_NAME];
	const char *const *names;
	unsigned count;
	struct perf_worker *workers;
	unsigned worker_count;
	unsigned runtimes;
	uint64_t last_ns;
	double seconds;
	struct perf_group_values total;
	uint64_t polled;
	bool has_polled;
	char reason[1000];
};

/* perf_open - find the workers and begin to count. Return: 0, or -errno with
 * the reason in @session->reason. The caller must call perf_close() in either
 * case */
int perf_open(struct perf_session *session, struct target *target,
	      const char *const *names, unsigned count);

/* perf_next - end a span and begin the next. A worker that ends meanwhile is
 * counted up to its end. Return: 0; -ESRCH: no worker can be read any more */
int perf_next(struct perf_session *session);

void perf_close(struct perf_session *session);

/* perf_per_cycle - return the instructions per cycle; below 0 if the two events
 * were not counted, or not at the same times */
double perf_per_cycle(const struct perf_group_values *values);

void perf_print(FILE *file, const struct perf_session *session, unsigned width);

/* perf_print_json - print one line of JSON. Return: false if memory is short */
bool perf_print_json(FILE *file, const struct perf_session *session);

#endif
