/* SPDX-License-Identifier: MIT */
/* descriptors.h - the limit of open files, for verbs that need many */
#ifndef SKUA_BPF_CLI_DESCRIPTORS_H
#define SKUA_BPF_CLI_DESCRIPTORS_H

#include <stdint.h>
#include <sys/resource.h>

/* descriptors_raise - raise the soft limit to the hard one */
static inline void descriptors_raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* descriptors_limit - return the soft limit; 0: it is not known */
static inline uintmax_t descriptors_limit(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

#endif
