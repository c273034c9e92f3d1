/* SPDX-License-Identifier: MIT */
/**
 * quota.h - how much CPU time a control group has
 *
 * That of the process is the lowest of its group and of all above it that can be
 * seen: a limit anywhere holds for all below. Version 1 and 2 of cgroups; where
 * both are there, the one that has the cpu controller.
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
 * quota_read - the quota of this process
 * @root: as of machine_load()
 * @err: receives what was wrong; may be NULL
 *
 * Return: 0, also if there are no control groups; -ENOMEM; what sysfs_open()
 * returned.
 */
int quota_read(struct quota *out, const char *root, struct skua_error *err);

/* quota_below - is that less than so many CPUs? */
bool quota_below(const struct quota *quota, unsigned cpus);

/* quota_cpus - how many CPUs that is, rounded up, one at least; 0: no limit */
unsigned quota_cpus(const struct quota *quota);

#endif
