/* SPDX-License-Identifier: MIT */
/**
 * perf.h - the parts of skua perf: what the workers of a process spend
 *
 * A group of counters follows the thread of each worker that there is at the
 * start. How many tasks a worker polled meanwhile is read in the debug area.
 */
#ifndef SKUA_BPF_PERF_H
#define SKUA_BPF_PERF_H

#include <stdio.h>

#include "bpf/target/target.h"
#include "probes/perf_group.h"

/**
 * struct perf_worker - a worker, and its last span
 * @runtime: which, from 0, and @index: its index there
 * @address, @started_ns: of the runtime
 * @tid: of its thread, as this process sees it
 * @group: NULL: nothing is counted, as it has ended, or has no thread
 * @last: what was read before
 * @span: what was counted since then
 * @polled_last, @polled: likewise, of tasks
 * @gone: it can no longer be read how many tasks
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
 * struct perf_session - a process that is looked at
 * @comm: what the process is called
 * @names, @count: of the events
 * @workers, @worker_count: all of them
 * @runtimes: how many
 * @seconds: how long the last span was
 * @total: of the last span, and @polled: of tasks
 * @has_polled: false: that is not known of all
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

/* perf_open - find the workers, and begin to count. Return: 0 or -errno, with
 * @session->reason. To be closed in any case */
int perf_open(struct perf_session *session, struct target *target,
	      const char *const *names, unsigned count);

/* perf_next - end a span, and begin the next. A worker that ends meanwhile is
 * counted up to then. Return: 0; -ESRCH: nothing can be read any more */
int perf_next(struct perf_session *session);

void perf_close(struct perf_session *session);

/* perf_per_cycle - instructions a cycle; below 0: not counted together */
double perf_per_cycle(const struct perf_group_values *values);

void perf_print(FILE *file, const struct perf_session *session, unsigned width);

/* perf_print_json - a line. Return: false: no memory */
bool perf_print_json(FILE *file, const struct perf_session *session);

#endif
