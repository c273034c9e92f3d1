/* SPDX-License-Identifier: MIT */
/**
 * perf_group.h - count events of threads: hardware's where there are counters
 *
 * What is counted is the user-mode part, unless an event's name says otherwise
 * ("cycles:uk"). The kernel's part is left out, so that the figures do not depend on
 * the user, and users without privileges can have them.
 *
 * A machine may have no counters, or forbid them: perf_group_open() then says
 * why. It may also lack a single event, which is reported as missing while
 * the others count. Of another process's thread, what the kernel counts in
 * software is read in /proc where counting is forbidden.
 *
 * Threads: one at a time.
 */
#ifndef SKUA_PROBES_PERF_GROUP_H
#define SKUA_PROBES_PERF_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The number that processors can count at once without taking turns. */
#define PERF_GROUP_AT_ONCE 6

#define PERF_GROUP_MAX_EVENTS 24

/* The thread that opens the group, and each that is created from it later. Only
 * the same thread then starts threads that are counted. */
#define PERF_GROUP_OWN 0

struct perf_group;

/**
 * struct perf_group_event - one counter
 * @name: as given to perf_group_open(), borrowed from there
 * @why: a line: why it is missing, or ""; of the group
 * @counted: false: the event is missing here, or never got a counter
 * @from_proc: read in /proc, in which there is no user mode
 * @together: events of the same number had counters at the same times, so that
 *            ratios between them hold
 * @value: the count; extrapolated if the event had a counter part-time
 * @run_ratio: the part of the time that it had one, 0 to 1; 1 means exact
 * @raw, @enabled_ns, @running_ns: what value and ratio are made from
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
 * @run_ratio: the least of all that were counted
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
 * @count: 1 to PERF_GROUP_MAX_EVENTS. So many as PERF_GROUP_AT_ONCE, in their
 *         order, have counters together, if the machine can do that
 * @reason: receives a line: why nothing can be counted on failure, which
 *          events are missing on success, or ""
 * @size: of @reason
 *
 * Return: 0 if at least one event can be counted; -EINVAL (a bad @count);
 * -ENOMEM; else why the first event cannot be counted (-ENOENT: the machine
 * does not have it; -EACCES or -EPERM: not allowed; -ESRCH: no such thread;
 * -ENOSYS ...).
 */
int perf_group_open(struct perf_group **out, pid_t tid,
		    const char *const *names, unsigned count, char *reason,
		    size_t size);

/* perf_group_start - count on from here. Return: 0 or -errno */
int perf_group_start(struct perf_group *group);

/* perf_group_stop - count no more until the next start. Return: 0 or -errno */
int perf_group_stop(struct perf_group *group);

/**
 * perf_group_read - the counts of all spans from start to stop since the open
 *
 * Also between a start and a stop, up to then. Takes some microseconds an event.
 * Return: 0 or -errno; -ESRCH: the thread has ended, and /proc tells no more.
 */
int perf_group_read(const struct perf_group *group,
		    struct perf_group_values *out);

/* perf_group_between - what was counted from one perf_group_read() to the next.
 * In a thread that did not run meanwhile that is 0. @after and @out may be the
 * same */
void perf_group_between(const struct perf_group_values *before,
			const struct perf_group_values *after,
			struct perf_group_values *out);

/* perf_group_close - give the counters back; @group may be NULL */
void perf_group_close(struct perf_group *group);

#endif
