/* SPDX-License-Identifier: MIT */
/* perf_proc.h - read software events of a thread from /proc, if counting is forbidden */
#ifndef SKUA_PROBES_PERF_PROC_H
#define SKUA_PROBES_PERF_PROC_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* perf_proc_has - tell whether /proc may have this event */
bool perf_proc_has(const struct perf_event_attr *attr);

/**
 * perf_proc_read - read how often an event happened since the thread began
 * @config: enum perf_sw_ids
 * @out: receives the number; for a clock, nanoseconds, of all modes
 *
 * Return: 0; -ENOENT: this kernel does not tell; -ESRCH: there is no such thread; or
 * another -errno.
 */
int perf_proc_read(pid_t tid, uint64_t config, uint64_t *out);

#endif
