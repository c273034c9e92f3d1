/* SPDX-License-Identifier: MIT */
/**
 * cgroups.h - make control groups for a test, version 1 or 2
 *
 * They are made below the group of the program, if the mount allows it. Controllers that
 * the machine lacks are left out.
 */
#ifndef SKUA_TESTS_CGROUPS_H
#define SKUA_TESTS_CGROUPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { CGROUP_PATH = 512 };

struct cgroups {
	char cpu[CGROUP_PATH];    /* with a quota; or empty */
	char cpuset[CGROUP_PATH]; /* with a set of CPUs; or empty */
	bool version_2;           /* if true, both are the same folder */
};

/* cgroups_make - make the groups that can be made. Return: false if none can. */
bool cgroups_make(struct cgroups *own);

/* cgroups_enter - move a process into the groups */
void cgroups_enter(const struct cgroups *own, pid_t process);

/* cgroups_quota - set the quota, in percent of one CPU; 0: no limit. Does nothing if no
 * group has a quota. */
void cgroups_quota(const struct cgroups *own, unsigned percent);

/* cgroups_set - set the CPUs, as "0-3,8". Does nothing if no group has a set of CPUs. */
void cgroups_set(const struct cgroups *own, const char *cpus);

/* cgroups_throttled - return how often the quota was used up */
uint64_t cgroups_throttled(const struct cgroups *own);

/* cgroups_remove - remove the groups, in which there must be no process any more */
void cgroups_remove(const struct cgroups *own);

#endif
