/* SPDX-License-Identifier: MIT */
/* perf_event.h - one event: its name, by libpfm, and a counter of the kernel's */
#ifndef SKUA_PROBES_PERF_EVENT_H
#define SKUA_PROBES_PERF_EVENT_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <sys/types.h>

/**
 * perf_event_encode - what the kernel calls the event
 * @name: as libpfm knows it
 * @attr: receives it, for user mode unless the name says otherwise
 * @why: receives a line on failure
 *
 * What the kernel does for a thread alone, such as to switch from it, is counted
 * in all modes. Return: 0 or -ENOENT.
 */
int perf_event_encode(const char *name, struct perf_event_attr *attr, char *why,
		      size_t size);

/* perf_event_open_on - a counter of thread @tid (0: the calling one), in the
 * group of @leader_fd (-1: none). Return: a descriptor or -errno */
int perf_event_open_on(struct perf_event_attr *attr, pid_t tid, int leader_fd);

/* perf_event_explain - why perf_event_open_on() has failed with @err, and what to
 * do about it, as a line */
void perf_event_explain(const struct perf_event_attr *attr, int err, char *why,
			size_t size);

#endif
