/* SPDX-License-Identifier: MIT */
/* perf_event.h - encode a named event by libpfm, and open a kernel counter for it */
#ifndef SKUA_PROBES_PERF_EVENT_H
#define SKUA_PROBES_PERF_EVENT_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <sys/types.h>

/**
 * perf_event_encode - translate the name of an event into attributes for the kernel
 * @name: a name that libpfm knows
 * @attr: receives the attributes; user mode only, unless the name says otherwise
 * @why: receives a line on failure
 * @size: of @why
 *
 * Events that the kernel counts only in kernel mode, such as context switches, are counted
 * in all modes. Return: 0 or -ENOENT.
 */
int perf_event_encode(const char *name, struct perf_event_attr *attr, char *why,
		      size_t size);

/* perf_event_open_on - open a counter of thread @tid (0: the calling thread), in the group
 * of @leader_fd (-1: none). Return: a descriptor or -errno */
int perf_event_open_on(struct perf_event_attr *attr, pid_t tid, int leader_fd);

/* perf_event_explain - describe in a line why perf_event_open_on() failed with @err, and
 * what to do about it */
void perf_event_explain(const struct perf_event_attr *attr, int err, char *why,
			size_t size);

#endif
