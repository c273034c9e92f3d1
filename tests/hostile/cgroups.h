/* SPDX-License-Identifier: MIT */
/**
 * cgroups.h - control groups of the program's own, version 1 or 2
 *
 * They lie below the one the program is in, where its mount lets it make one.
 * Controllers that the machine lacks are left out.
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
	bool version_2;           /* both are the same folder then */
};

/* cgroups_make - make what can be made; false if that is nothing */
bool cgroups_make(struct cgroups *own);

/* cgroups_enter - move a process into them */
void cgroups_enter(const struct cgroups *own, pid_t process);

/* cgroups_quota - so many hundredths of a CPU, 0: all there are; if there is a
 * quota */
void cgroups_quota(const struct cgroups *own, unsigned percent);

/* cgroups_set - the CPUs, as "0-3,8"; if there is a set */
void cgroups_set(const struct cgroups *own, const char *cpus);

/* cgroups_throttled - how often the quota was used up */
uint64_t cgroups_throttled(const struct cgroups *own);

/* cgroups_remove - remove them: nobody is in them any more */
void cgroups_remove(const struct cgroups *own);

#endif
