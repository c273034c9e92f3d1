/* SPDX-License-Identifier: MIT */
/*
 * perf_group.c - count events that libpfm names, by perf_event_open(2)
 *
 * The events form kernel groups. The events of one group have counters at the same times,
 * so that ratios between them (instructions per cycle) are valid. An event that does not
 * fit into a group begins the next one. A group is read by one call. Before Linux 6.13
 * this is not possible for inherited events, so each of these is read by itself.
 */
#include "probes/perf_group.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "probes/perf_event.h"
#include "probes/perf_proc.h"

#define NONE (-1)

struct reading {
	uint64_t value;
	uint64_t enabled_ns;
	uint64_t running_ns;
};

struct counter {
	const char *name;
	char why[128];
	int fd;          /* or NONE */
	unsigned leader; /* the first event of its kernel group */

	/* For an event that is read from /proc: its value at the last start, and the
	 * sum of its counts in the earlier spans, each from a start to the next
	 * stop. */
	bool from_proc;
	uint64_t config;
	struct reading base, sum;
};

struct perf_group {
	pid_t tid;
	bool started;
	unsigned count;
	struct counter counter[PERF_GROUP_MAX_EVENTS];
};

/* ---- open ------------------------------------------------------------------ */

/* The kernel group that is being filled. */
struct filling {
	int leader; /* index of its first event, or NONE */
	unsigned members;
};

static void set_format(struct perf_event_attr *attr, pid_t tid)
{
	attr->read_format =
		PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	if (tid == PERF_GROUP_OWN)
		attr->inherit = 1;
	else
		attr->read_format |= PERF_FORMAT_GROUP;
}

/* open_member - open a counter in the group that is being filled or, if it does not fit,
 * in a new group, whose leader starts disabled. Return: 0 or -errno */
static int open_member(struct perf_group *group, unsigned index,
		       struct perf_event_attr *attr, struct filling *filling)
{
	struct counter *counter = &group->counter[index];
	int fd = -EINVAL;

	if (filling->leader != NONE && filling->members < PERF_GROUP_AT_ONCE)
		fd = perf_event_open_on(attr, group->tid,
					group->counter[filling->leader].fd);
	if (fd == -EINVAL) {
		attr->disabled = 1;
		fd = perf_event_open_on(attr, group->tid, -1);
		if (fd >= 0)
			*filling = (struct filling){ .leader = (int)index };
	}
	if (fd < 0)
		return fd;
	filling->members++;
	counter->fd = fd;
	counter->leader = (unsigned)filling->leader;
	return 0;
}

static bool is_in_proc(const struct perf_group *group,
		       const struct perf_event_attr *attr)
{
	uint64_t value;

	return group->tid != PERF_GROUP_OWN && perf_proc_has(attr) &&
	       perf_proc_read(group->tid, attr->config, &value) == 0;
}

/* open_counter - open one event. Return: 0; -errno, and the reason in its why */
static int open_counter(struct perf_group *group, unsigned index,
			struct filling *filling)
{
	struct counter *counter = &group->counter[index];
	struct perf_event_attr attr;
	int err = perf_event_encode(counter->name, &attr, counter->why,
				    sizeof(counter->why));

	if (err != 0)
		return err;
	set_format(&attr, group->tid);
	err = open_member(group, index, &attr, filling);
	if (err == 0)
		return 0;
	if (is_in_proc(group, &attr)) {
		counter->from_proc = true;
		counter->config = attr.config;
		counter->leader = index;
		return 0;
	}
	perf_event_explain(&attr, err, counter->why, sizeof(counter->why));
	return err;
}

/* add_missing - append ", name: why" to the list of missing events */
static void add_missing(char *reason, size_t size,
			const struct counter *counter)
{
	size_t used = strlen(reason);

	snprintf(reason + used, size - used, "%s%s: %s",
		 used == 0 ? "missing: " : ", ", counter->name, counter->why);
}

/*
 * open_all - open all events that can be opened
 *
 * If none can, the reason is that of the first event: mostly the others have the same.
 */
static int open_all(struct perf_group *group, char *reason, size_t size)
{
	const struct counter *first = NULL;
	struct filling filling = { .leader = NONE };
	unsigned opened = 0;
	int first_err = 0;

	for (unsigned i = 0; i < group->count; i++) {
		int err = open_counter(group, i, &filling);

		if (err == 0) {
			opened++;
			continue;
		}
		add_missing(reason, size, &group->counter[i]);
		if (first == NULL) {
			first = &group->counter[i];
			first_err = err;
		}
	}
	if (opened > 0)
		return 0;
	snprintf(reason, size, "nothing can be counted: %s: %s", first->name,
		 first->why);
	return first_err;
}

int perf_group_open(struct perf_group **out, pid_t tid,
		    const char *const *names, unsigned count, char *reason,
		    size_t size)
{
	struct perf_group *group;
	int err;

	*out = NULL;
	reason[0] = '\0';
	if (count == 0 || count > PERF_GROUP_MAX_EVENTS) {
		snprintf(
			reason, size,
			"nothing can be counted: %u events asked for, not 1 to %d",
			count, PERF_GROUP_MAX_EVENTS);
		return -EINVAL;
	}
	group = calloc(1, sizeof(*group));
	if (group == NULL) {
		snprintf(reason, size, "nothing can be counted: no memory");
		return -ENOMEM;
	}
	group->tid = tid;
	group->count = count;
	for (unsigned i = 0; i < count; i++)
		group->counter[i] =
			(struct counter){ .name = names[i], .fd = NONE };
	err = open_all(group, reason, size);
	if (err != 0) {
		perf_group_close(group);
		return err;
	}
	*out = group;
	return 0;
}

/* ---- /proc ----------------------------------------------------------------- */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) +
	       (uint64_t)now.tv_nsec;
}

/* read_proc - read the count since the thread began; only differences of times count */
static int read_proc(const struct perf_group *group,
		     const struct counter *counter, struct reading *out)
{
	out->enabled_ns = out->running_ns = now_ns();
	return perf_proc_read(group->tid, counter->config, &out->value);
}

static void add_span(struct reading *sum, const struct reading *from,
		     const struct reading *to)
{
	sum->value += to->value - from->value;
	sum->enabled_ns += to->enabled_ns - from->enabled_ns;
	sum->running_ns += to->running_ns - from->running_ns;
}

static int start_proc(struct perf_group *group, struct counter *counter)
{
	return group->started ? 0 : read_proc(group, counter, &counter->base);
}

static int stop_proc(struct perf_group *group, struct counter *counter)
{
	struct reading now;
	int err = group->started ? read_proc(group, counter, &now) : 0;

	if (group->started && err == 0)
		add_span(&counter->sum, &counter->base, &now);
	return err;
}

static int read_span(const struct perf_group *group,
		     const struct counter *counter, struct reading *out)
{
	struct reading now;
	int err = group->started ? read_proc(group, counter, &now) : 0;

	*out = counter->sum;
	if (group->started && err == 0)
		add_span(out, &counter->base, &now);
	return err;
}

/* ---- start and stop -------------------------------------------------------- */

/* for_each - start or stop all counters; ioctl() also reaches the inherited counters of
 * other threads */
static int for_each(struct perf_group *group, unsigned long request,
		    int (*proc)(struct perf_group *, struct counter *))
{
	for (unsigned i = 0; i < group->count; i++) {
		struct counter *counter = &group->counter[i];
		int err = 0;

		if (counter->from_proc)
			err = proc(group, counter);
		else if (counter->fd != NONE && counter->leader == i &&
			 ioctl(counter->fd, request, 0) != 0)
			err = -errno;
		if (err != 0)
			return err;
	}
	return 0;
}

int perf_group_start(struct perf_group *group)
{
	int err = for_each(group, PERF_EVENT_IOC_ENABLE, start_proc);

	group->started |= err == 0;
	return err;
}

int perf_group_stop(struct perf_group *group)
{
	int err = for_each(group, PERF_EVENT_IOC_DISABLE, stop_proc);

	group->started &= err != 0;
	return err;
}

/* ---- read ------------------------------------------------------------------ */

static int read_exactly(int fd, void *to, size_t bytes)
{
	ssize_t got = read(fd, to, bytes);

	if (got < 0)
		return -errno;
	return (size_t)got == bytes ? 0 : -EIO;
}

/* read_together - read the events of the kernel group that @leader leads; the kernel
 * returns them in the order in which they were opened */
static int read_together(const struct perf_group *group, unsigned leader,
			 struct reading *out)
{
	uint64_t words[3 + PERF_GROUP_AT_ONCE];
	unsigned members = 0;
	int err;

	for (unsigned i = leader; i < group->count; i++)
		members += group->counter[i].fd != NONE &&
			   group->counter[i].leader == leader;
	err = read_exactly(group->counter[leader].fd, words,
			   (3 + members) * sizeof(words[0]));
	if (err != 0 || words[0] != members)
		return err != 0 ? err : -EIO;
	for (unsigned i = group->count; i-- > leader;)
		if (group->counter[i].fd != NONE &&
		    group->counter[i].leader == leader)
			out[i] =
				(struct reading){ .value = words[2 + members--],
						  .enabled_ns = words[1],
						  .running_ns = words[2] };
	return 0;
}

static int read_all(const struct perf_group *group, struct reading *out)
{
	int err = 0;

	for (unsigned i = 0; i < group->count && err == 0; i++) {
		const struct counter *counter = &group->counter[i];

		if (counter->from_proc)
			err = read_span(group, counter, &out[i]);
		else if (counter->fd == NONE)
			continue;
		else if (group->tid == PERF_GROUP_OWN)
			err = read_exactly(counter->fd, &out[i],
					   sizeof(out[i]));
		else if (counter->leader == i)
			err = read_together(group, i, out);
	}
	return err;
}

/* extrapolate - scale the count from running_ns, when it had a counter, to enabled_ns */
static void extrapolate(struct perf_group_event *event)
{
	event->counted = event->running_ns > 0;
	event->value = event->raw;
	event->run_ratio = event->counted ? 1.0 : 0.0;
	if (!event->counted || event->running_ns >= event->enabled_ns)
		return;
	event->run_ratio =
		(double)event->running_ns / (double)event->enabled_ns;
	event->value = (uint64_t)((double)event->raw / event->run_ratio);
}

static void extrapolate_all(struct perf_group_values *values)
{
	values->run_ratio = 1.0;
	for (unsigned i = 0; i < values->count; i++) {
		struct perf_group_event *event = &values->event[i];

		extrapolate(event);
		if (event->counted && event->run_ratio < values->run_ratio)
			values->run_ratio = event->run_ratio;
	}
}

int perf_group_read(const struct perf_group *group,
		    struct perf_group_values *out)
{
	struct reading readings[PERF_GROUP_MAX_EVENTS] = { 0 };
	int err = read_all(group, readings);

	*out = (struct perf_group_values){ .count = group->count };
	if (err != 0)
		return err;
	for (unsigned i = 0; i < group->count; i++) {
		const struct counter *counter = &group->counter[i];

		out->event[i] = (struct perf_group_event){
			.name = counter->name,
			.why = counter->why,
			.from_proc = counter->from_proc,
			.together = counter->leader,
			.raw = readings[i].value,
			.enabled_ns = readings[i].enabled_ns,
			.running_ns = readings[i].running_ns,
		};
	}
	extrapolate_all(out);
	return 0;
}

void perf_group_between(const struct perf_group_values *before,
			const struct perf_group_values *after,
			struct perf_group_values *out)
{
	if (out != after)
		*out = *after;
	for (unsigned i = 0; i < out->count; i++) {
		struct perf_group_event *event = &out->event[i];

		event->raw -= before->event[i].raw;
		event->enabled_ns -= before->event[i].enabled_ns;
		event->running_ns -= before->event[i].running_ns;
	}
	extrapolate_all(out);
	for (unsigned i = 0; i < out->count; i++) {
		struct perf_group_event *event = &out->event[i];

		/* A thread that slept all the time has a valid count of 0. */
		if (event->why[0] == '\0' && event->enabled_ns == 0) {
			event->counted = true;
			event->run_ratio = 1.0;
		}
	}
}

void perf_group_close(struct perf_group *group)
{
	if (group == NULL)
		return;
	/* Close the leader of a group last: without it the other events of the group
	 * would count on alone. */
	for (unsigned i = group->count; i-- > 0;)
		if (group->counter[i].fd != NONE)
			close(group->counter[i].fd);
	free(group);
}
