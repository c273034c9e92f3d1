/* SPDX-License-Identifier: MIT */
/* perf_event.c - see perf_event.h */
#include "probes/perf_event.h"

#include <errno.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PARANOID_PATH "/proc/sys/kernel/perf_event_paranoid"

/* is_of_kernel - tell whether the kernel counts this event only in kernel mode */
static bool is_of_kernel(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE &&
	       (attr->config == PERF_COUNT_SW_CONTEXT_SWITCHES ||
		attr->config == PERF_COUNT_SW_CPU_MIGRATIONS);
}

int perf_event_encode(const char *name, struct perf_event_attr *attr, char *why,
		      size_t size)
{
	pfm_perf_encode_arg_t arg = { .attr = attr, .size = sizeof(arg) };
	int err = pfm_initialize();

	memset(attr, 0, sizeof(*attr));
	if (err == PFM_SUCCESS)
		err = pfm_get_os_event_encoding(name, PFM_PLM3,
						PFM_OS_PERF_EVENT, &arg);
	if (err != PFM_SUCCESS) {
		snprintf(why, size, "%s", pfm_strerror(err));
		return -ENOENT;
	}
	attr->size = sizeof(*attr);
	if (is_of_kernel(attr))
		attr->exclude_kernel = 0;
	return 0;
}

int perf_event_open_on(struct perf_event_attr *attr, pid_t tid, int leader_fd)
{
	long fd = syscall(SYS_perf_event_open, attr, tid, -1, leader_fd,
			  PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

/* paranoid_level - return the value of kernel.perf_event_paranoid; -1: unknown */
static int paranoid_level(void)
{
	FILE *file = fopen(PARANOID_PATH, "re");
	int level = -1;

	if (file == NULL)
		return -1;
	if (fscanf(file, "%d", &level) != 1)
		level = -1;
	fclose(file);
	return level;
}

static void explain_refusal(const struct perf_event_attr *attr, int err,
			    char *why, size_t size)
{
	int level = paranoid_level();

	if (level >= 3)
		snprintf(why, size,
			 "not allowed, as kernel.perf_event_paranoid is %d: "
			 "needs CAP_PERFMON, or a level of 2",
			 level);
	else if (level >= 2 && !attr->exclude_kernel)
		snprintf(why, size,
			 "not allowed, as kernel.perf_event_paranoid is %d: "
			 "counting the kernel needs CAP_PERFMON, or a level "
			 "of 1",
			 level);
	else if (err == -EACCES)
		snprintf(why, size,
			 "not allowed (kernel.perf_event_paranoid is %d): "
			 "another user's thread needs CAP_PERFMON",
			 level);
	else
		snprintf(why, size,
			 "not allowed (kernel.perf_event_paranoid is %d): a "
			 "container may forbid perf_event_open()",
			 level);
}

void perf_event_explain(const struct perf_event_attr *attr, int err, char *why,
			size_t size)
{
	switch (err) {
	case -ENOENT:
	case -EOPNOTSUPP:
		snprintf(why, size, "this machine does not count it");
		return;
	case -EACCES:
	case -EPERM:
		explain_refusal(attr, err, why, size);
		return;
	case -ESRCH:
		snprintf(why, size, "there is no such thread");
		return;
	case -EMFILE:
		snprintf(why, size, "too many open files: ulimit -n");
		return;
	default:
		snprintf(why, size, "%s", strerror(-err));
	}
}
