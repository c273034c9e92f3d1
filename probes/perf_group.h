/* SPDX-License-Identifier: MIT */
/**
 * perf_group.h - count hardware events of this process
 *
 * A group counts the user-mode part of the thread that opened it and of every
 * thread created from that one later, between start and stop. The kernel's
 * part is left out, so that the figures do not depend on who runs it.
 *
 * A machine may have no counters, or forbid them: perf_group_open() then says
 * why. It may also lack a single event, which is reported as missing while
 * the others count.
 *
 * Threads: one at a time, and only the thread that opened the group starts
 * threads that are counted.
 */
#ifndef SKUA_PROBES_PERF_GROUP_H
#define SKUA_PROBES_PERF_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What processors can count at once without taking turns. */
#define PERF_GROUP_MAX_EVENTS 6

struct perf_group;

/**
 * struct perf_group_event - one counter
 * @name: as given to perf_group_open(), borrowed from there
 * @counted: false: the event is missing here, or never got a counter
 * @value: the count; extrapolated if the event had a counter part-time
 */
struct perf_group_event {
	const char *name;
	bool counted;
	uint64_t value;
};

/**
 * struct perf_group_values - all counters
 * @count: events, in the order of perf_group_open()
 * @run_ratio: the part of the time that the events had counters for, 0 to 1,
 *             the least of all that were counted; 1 means exact
 */
struct perf_group_values {
	unsigned count;
	double run_ratio;
	struct perf_group_event event[PERF_GROUP_MAX_EVENTS];
};

/**
 * perf_group_open - prepare to count
 * @out: receives the group, stopped; NULL on failure
 * @names: event names as libpfm knows them ("cycles", "perf::PAGE-FAULTS");
 *         borrowed until the close
 * @count: 1 to PERF_GROUP_MAX_EVENTS
 * @reason: receives a line: why nothing can be counted on failure, which
 *          events are missing on success, or ""
 * @size: of @reason
 *
 * Return: 0 if at least one event can be counted; -EINVAL (a bad @count);
 * -ENOMEM; else why the first event cannot be counted (-ENOENT: the machine
 * does not have it; -EACCES or -EPERM: not allowed; -ENOSYS ...).
 */
int perf_group_open(struct perf_group **out, const char *const *names,
		    unsigned count, char *reason, size_t size);

/* perf_group_start - count on from here. Return: 0 or -errno */
int perf_group_start(struct perf_group *group);

/* perf_group_stop - count no more until the next start. Return: 0 or -errno */
int perf_group_stop(struct perf_group *group);

/**
 * perf_group_read - the counts of all spans from start to stop since the open
 *
 * Takes some microseconds an event. Return: 0 or -errno.
 */
int perf_group_read(const struct perf_group *group,
		    struct perf_group_values *out);

/* perf_group_close - give the counters back; @group may be NULL */
void perf_group_close(struct perf_group *group);

#endif
