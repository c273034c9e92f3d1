/* SPDX-License-Identifier: MIT */
/**
 * perf_group.h - count hardware and software events of threads
 *
 * Only user mode is counted, unless the name of an event says otherwise ("cycles:uk").
 * So the counts do not depend on the privileges of the user, and users without privileges
 * can have them.
 *
 * A machine may have no counters, or forbid them: then perf_group_open() fails and gives
 * a reason. If only some events are unavailable, they are reported as missing, and the
 * others count. If counting is forbidden, software events of a thread of another process
 * are read from /proc.
 *
 * Threads: one at a time.
 */
#ifndef SKUA_PROBES_PERF_GROUP_H
#define SKUA_PROBES_PERF_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The number of events that most processors can count at once without taking turns. */
#define PERF_GROUP_AT_ONCE 6

#define PERF_GROUP_MAX_EVENTS 24

/* As @tid: count the thread that opens the group, and each thread that it, or a counted
 * thread, creates later. Threads that other threads create are not counted. */
#define PERF_GROUP_OWN 0

struct perf_group;

/**
 * struct perf_group_event - one counter
 * @name: as given to perf_group_open(), which it borrows
 * @why: a line that says why the event is missing, or ""; owned by the group
 * @counted: false: the event is missing, or never had a counter
 * @from_proc: read from /proc, which counts all modes
 * @together: events with the same number had counters at the same times, so that ratios
 *            between them are valid
 * @value: the count; extrapolated if the event had a counter for a part of the time
 * @run_ratio: the part of the time that it had a counter, 0 to 1; 1 means exact
 * @raw, @enabled_ns, @running_ns: the input for @value and @run_ratio
 */
struct perf_group_event {
	const char *name;
	const char *why;
	bool counted;
	bool from_proc;
	unsigned together;
	uint64_t value;
	double run_ratio;
	uint64_t raw;
	uint64_t enabled_ns;
	uint64_t running_ns;
};

/**
 * struct perf_group_values - all counters
 * @count: events, in the order of perf_group_open()
 * @run_ratio: the least of all events that were counted
 */
struct perf_group_values {
	unsigned count;
	double run_ratio;
	struct perf_group_event event[PERF_GROUP_MAX_EVENTS];
};

/**
 * perf_group_open - prepare to count
 * @out: receives the group, stopped; NULL on failure
 * @tid: a thread of any process, alone; or PERF_GROUP_OWN
 * @names: event names as libpfm knows them ("cycles", "perf::PAGE-FAULTS");
 *         borrowed until the close
 * @count: 1 to PERF_GROUP_MAX_EVENTS. PERF_GROUP_AT_ONCE events at a time, in their
 *         order, have counters together, if the machine can do that
 * @reason: receives a line: on failure, why nothing can be counted; on success, which
 *          events are missing, or ""
 * @size: of @reason
 *
 * Return: 0 if at least one event can be counted; -EINVAL (a bad @count); -ENOMEM;
 * another code says why the first event cannot be counted (-ENOENT: the machine does
 * not have it; -EACCES or -EPERM: not allowed; -ESRCH: no such thread; -ENOSYS ...).
 */
int perf_group_open(struct perf_group **out, pid_t tid,
		    const char *const *names, unsigned count, char *reason,
		    size_t size);

/* perf_group_start - start counting, or continue. Return: 0 or -errno */
int perf_group_start(struct perf_group *group);

/* perf_group_stop - stop counting until the next start. Return: 0 or -errno */
int perf_group_stop(struct perf_group *group);

/**
 * perf_group_read - read the counts of all spans from a start to a stop since the open
 *
 * Between a start and a stop, it counts up to now. Takes some microseconds an event.
 * Return: 0 or -errno; -ESRCH: the thread has ended, and /proc tells no more.
 */
int perf_group_read(const struct perf_group *group,
		    struct perf_group_values *out);

/* perf_group_between - compute the counts between two calls of perf_group_read(): 0 for a
 * thread that did not run meanwhile. @after and @out may be the same */
void perf_group_between(const struct perf_group_values *before,
			const struct perf_group_values *after,
			struct perf_group_values *out);

/* perf_group_close - close all counters; @group may be NULL */
void perf_group_close(struct perf_group *group);

#endif
