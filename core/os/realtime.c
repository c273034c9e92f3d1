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

/* Below whatever the user's own threads of that class have. */
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

/* A limit of this process, for a person. */
static const char *limit_text(struct rlimit limit, char *text, size_t size)
{
	if (limit.rlim_cur == RLIM_INFINITY)
		snprintf(text, size, "unlimited");
	else
		snprintf(text, size, "%llu",
			 (unsigned long long)limit.rlim_cur);
	return text;
}

int realtime_refused(struct skua_error *err)
{
	struct rlimit limit = { 0, 0 };
	char text[32];

	getrlimit(RLIMIT_RTPRIO, &limit);
	return error_set(
		err, -EPERM,
		"flags: SKUA_REALTIME, but SCHED_FIFO was refused: "
		"needed is CAP_SYS_NICE, or RLIMIT_RTPRIO of %d (it is "
		"%s); and real-time CPU time in the control group",
		PRIORITY, limit_text(limit, text, sizeof(text)));
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
			 "flags: SKUA_LOCK_MEMORY, but mlockall() was refused: "
			 "%s; needed is CAP_IPC_LOCK, or RLIMIT_MEMLOCK of all "
			 "that the process maps (it is %s bytes)",
			 strerror(-code),
			 limit_text(limit, text, sizeof(text)));
}
