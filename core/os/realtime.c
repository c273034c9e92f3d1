/* SPDX-License-Identifier: MIT */
/* realtime.c - see realtime.h */
#include "core/os/realtime.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "topology/error.h"

/* The lowest one, so that real-time threads of the program can have a higher
 * one. */
#define PRIORITY 1

static int ask(pthread_attr_t *attr, int priority)
{
	const struct sched_param param = { .sched_priority = priority };
	int code = pthread_attr_setinheritsched(attr, PTHREAD_EXPLICIT_SCHED);

	if (!code)
		code = pthread_attr_setschedpolicy(attr, SCHED_FIFO);
	if (!code)
		code = pthread_attr_setschedparam(attr, &param);
	return -code;
}

int realtime_ask(pthread_attr_t *attr)
{
	return ask(attr, PRIORITY);
}

int realtime_ask_above(pthread_attr_t *attr)
{
	return ask(attr, PRIORITY + 1);
}

/* Print a limit of this process; @unit follows a number. */
static const char *limit_text(struct rlimit limit, const char *unit, char *text,
			      size_t size)
{
	if (limit.rlim_cur == RLIM_INFINITY)
		snprintf(text, size, "unlimited");
	else
		snprintf(text, size, "%llu%s",
			 (unsigned long long)limit.rlim_cur, unit);
	return text;
}

int realtime_refused(struct skua_error *err)
{
	struct rlimit limit = { 0, 0 };
	char text[32];

	getrlimit(RLIMIT_RTPRIO, &limit);
	return error_set(
		err, -EPERM,
		"flags: SKUA_REALTIME: the kernel refused SCHED_FIFO; the "
		"process needs CAP_SYS_NICE, or an RLIMIT_RTPRIO of %d (it is "
		"%s), and real-time CPU time in its control group",
		PRIORITY, limit_text(limit, "", text, sizeof(text)));
}

int realtime_lock_memory(struct skua_error *err)
{
	int saved = errno; /* the library never sets it */
	int code = mlockall(MCL_CURRENT | MCL_FUTURE) == 0 ? 0 : -errno;
	struct rlimit limit = { 0, 0 };
	char text[32];

	errno = saved;
	if (!code)
		return 0;
	getrlimit(RLIMIT_MEMLOCK, &limit);
	return error_set(err, code,
			 "flags: SKUA_LOCK_MEMORY: mlockall() failed: %s; the "
			 "process needs CAP_IPC_LOCK, or an RLIMIT_MEMLOCK of "
			 "all that it maps (it is %s)",
			 strerror(-code),
			 limit_text(limit, " bytes", text, sizeof(text)));
}
