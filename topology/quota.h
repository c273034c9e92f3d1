/* SPDX-License-Identifier: MIT */
/**
 * quota.h - the CPU time that control groups allow to the process
 *
 * The quota of a process is the lowest quota of its group and of all visible groups above
 * it, because a limit applies to all groups below it. Versions 1 and 2 of cgroups are
 * supported; if both are mounted, the one with the cpu controller counts.
 */
#ifndef SKUA_TOPOLOGY_QUOTA_H
#define SKUA_TOPOLOGY_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

#include "skua/base.h"

/* Up to @runtime_us of CPU time in each @period_us; both 0: no limit. */
struct quota {
	uint64_t runtime_us, period_us;
};

/**
 * quota_read - read the quota of this process
 * @root: see machine_load()
 * @err: receives a description of the error; may be NULL
 *
 * Return: 0, also if there are no control groups; -ENOMEM; an error of sysfs_open().
 */
int quota_read(struct quota *out, const char *root, struct skua_error *err);

/* quota_below - tell whether the quota is less than @cpus CPUs */
bool quota_below(const struct quota *quota, unsigned cpus);

/* quota_cpus - return the quota as a number of CPUs, rounded up; 0: no limit */
unsigned quota_cpus(const struct quota *quota);

#endif
