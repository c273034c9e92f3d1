/* SPDX-License-Identifier: MIT */
/*
 * perf_group.c - libpfm turns names into events, perf_event_open counts them
 *
 * The events form a kernel group, so that they have counters at the same
 * times and ratios between them (instructions a cycle) hold. An event that
 * does not fit into the group counts alone. Inherited events cannot be read as
 * a group before Linux 6.13: each is read by itself.
 */
#include "probes/perf_group.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PARANOID_PATH "/proc/sys/kernel/perf_event_paranoid"

struct counter {
	const char *name;
	int fd;     /* -1: missing */
	bool leads; /* started and stopped itself, not by its group's leader */
};

struct perf_group {
	unsigned count;
	struct counter counter[PERF_GROUP_MAX_EVENTS];
};

/* What read(2) of a counter gives, by PERF_FORMAT. */
struct reading {
	uint64_t value;
	uint64_t enabled_ns;
	uint64_t running_ns;
};

#define PERF_FORMAT \
	(PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

/* Fill @attr for user mode; 0 or a libpfm error, which are negative too. */
static int encode(const char *name, struct perf_event_attr *attr)
{
	pfm_perf_encode_arg_t arg = { .attr = attr, .size = sizeof(arg) };
	int err = pfm_initialize();

	if (err != PFM_SUCCESS)
		return err;
	err = pfm_get_os_event_encoding(name, PFM_PLM3, PFM_OS_PERF_EVENT,
					&arg);
	if (err != PFM_SUCCESS)
		return err;
	attr->size = sizeof(*attr);
	attr->read_format = PERF_FORMAT;
	attr->inherit = 1;
	return 0;
}

/* A counter of the calling thread; a leader starts stopped. fd or -errno. */
static int open_event(struct perf_event_attr *attr, int leader_fd)
{
	long fd;

	attr->disabled = leader_fd < 0;
	fd = syscall(SYS_perf_event_open, attr, 0, -1, leader_fd,
		     PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : (int)fd;
}

/* The level at which the kernel refuses, for a message; -1: unknown. */
static int paranoid_level(void)
{
	FILE *file = fopen(PARANOID_PATH, "re");
	int level = -1;

	if (file == NULL)
		return -1;
	if (fscanf(file, "%d", &level) != 1)
		level = -1;
	fclose(file);
	return level;
}

static void explain(char *text, size_t size, const char *name, int err)
{
	const char *why = err == -ENOENT ? "this machine does not count it"
					 : strerrordesc_np(-err);
	int used;

	used = snprintf(text, size, "%s: %s", name, why ? why : "error");
	if (used < 0 || (size_t)used >= size)
		return;
	if (err == -EACCES || err == -EPERM)
		snprintf(text + used, size - (size_t)used,
			 " (kernel.perf_event_paranoid is %d)",
			 paranoid_level());
}

/* Open one event; -errno, and why in @text, if it is missing here. */
static int open_counter(struct counter *counter, int leader_fd, char *text,
			size_t size)
{
	struct perf_event_attr attr = { 0 };
	int err = encode(counter->name, &attr);

	if (err != 0) {
		snprintf(text, size, "%s: %s", counter->name,
			 pfm_strerror(err));
		return -ENOENT;
	}
	counter->fd = open_event(&attr, leader_fd);
	counter->leads = leader_fd < 0;
	if (counter->fd == -EINVAL && leader_fd >= 0) {
		counter->fd = open_event(&attr, -1);
		counter->leads = true;
	}
	if (counter->fd >= 0)
		return 0;
	err = counter->fd;
	counter->fd = -1;
	explain(text, size, counter->name, err);
	return err;
}

/* Append ", text" to the list of what is missing. */
static void add_missing(char *reason, size_t size, const char *text)
{
	size_t used = strlen(reason);

	snprintf(reason + used, size - used, "%s%s",
		 used == 0 ? "missing: " : ", ", text);
}

/*
 * Open what can be opened. On failure the reason is the first event's: what
 * keeps it from counting mostly keeps the others too.
 */
static int open_all(struct perf_group *group, char *reason, size_t size)
{
	char first[160] = "";
	int first_err = 0;
	int leader_fd = -1;

	for (unsigned i = 0; i < group->count; i++) {
		struct counter *counter = &group->counter[i];
		char text[160];
		int err = open_counter(counter, leader_fd, text, sizeof(text));

		if (err == 0) {
			if (leader_fd < 0)
				leader_fd = counter->fd;
			continue;
		}
		add_missing(reason, size, text);
		if (first_err == 0) {
			first_err = err;
			memcpy(first, text, sizeof(first));
		}
	}
	if (leader_fd >= 0)
		return 0;
	snprintf(reason, size, "no hardware counters: %s", first);
	return first_err;
}

int perf_group_open(struct perf_group **out, const char *const *names,
		    unsigned count, char *reason, size_t size)
{
	struct perf_group *group;
	int err;

	*out = NULL;
	reason[0] = '\0';
	if (count == 0 || count > PERF_GROUP_MAX_EVENTS) {
		snprintf(
			reason, size,
			"no hardware counters: %u events asked for, not 1 to %d",
			count, PERF_GROUP_MAX_EVENTS);
		return -EINVAL;
	}
	group = calloc(1, sizeof(*group));
	if (group == NULL) {
		snprintf(reason, size, "no hardware counters: no memory");
		return -ENOMEM;
	}
	group->count = count;
	for (unsigned i = 0; i < count; i++)
		group->counter[i] =
			(struct counter){ .name = names[i], .fd = -1 };
	err = open_all(group, reason, size);
	if (err != 0) {
		perf_group_close(group);
		return err;
	}
	*out = group;
	return 0;
}

/* The call reaches the inherited counters of the other threads as well. */
static int for_each_leader(struct perf_group *group, unsigned long request)
{
	for (unsigned i = 0; i < group->count; i++) {
		const struct counter *counter = &group->counter[i];

		if (counter->fd >= 0 && counter->leads &&
		    ioctl(counter->fd, request, 0) != 0)
			return -errno;
	}
	return 0;
}

int perf_group_start(struct perf_group *group)
{
	return for_each_leader(group, PERF_EVENT_IOC_ENABLE);
}

int perf_group_stop(struct perf_group *group)
{
	return for_each_leader(group, PERF_EVENT_IOC_DISABLE);
}

/* Scale a count that covers running_ns to enabled_ns. */
static uint64_t extrapolate(const struct reading *r)
{
	if (r->running_ns >= r->enabled_ns)
		return r->value;
	return (uint64_t)((double)r->value * (double)r->enabled_ns /
			  (double)r->running_ns);
}

int perf_group_read(const struct perf_group *group,
		    struct perf_group_values *out)
{
	struct reading r;

	*out = (struct perf_group_values){ .count = group->count,
					   .run_ratio = 1.0 };
	for (unsigned i = 0; i < group->count; i++) {
		const struct counter *counter = &group->counter[i];
		struct perf_group_event *event = &out->event[i];
		double ratio;
		ssize_t got;

		event->name = counter->name;
		if (counter->fd < 0)
			continue;
		got = read(counter->fd, &r, sizeof(r));
		if (got != (ssize_t)sizeof(r))
			return got < 0 ? -errno : -EIO;
		if (r.running_ns == 0)
			continue;
		event->counted = true;
		event->value = extrapolate(&r);
		ratio = (double)r.running_ns / (double)r.enabled_ns;
		if (ratio < out->run_ratio)
			out->run_ratio = ratio;
	}
	return 0;
}

void perf_group_close(struct perf_group *group)
{
	if (group == NULL)
		return;
	/* A group's leader last: without it the others would count on alone. */
	for (unsigned i = group->count; i-- > 0;)
		if (group->counter[i].fd >= 0)
			close(group->counter[i].fd);
	free(group);
}
