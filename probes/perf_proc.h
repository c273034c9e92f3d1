/* SPDX-License-Identifier: MIT */
/* perf_proc.h - what /proc tells of a thread, to whom may not count */
#ifndef SKUA_PROBES_PERF_PROC_H
#define SKUA_PROBES_PERF_PROC_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* perf_proc_has - is this event one that /proc tells of? */
bool perf_proc_has(const struct perf_event_attr *attr);

/**
 * perf_proc_read - how often it has happened to a thread since that began
 * @config: enum perf_sw_ids
 *
 * A time is in nanoseconds, of all modes. Return: 0; -ENOENT: this kernel does
 * not tell; -ESRCH: there is no such thread; or another -errno.
 */
int perf_proc_read(pid_t tid, uint64_t config, uint64_t *out);

#endif
