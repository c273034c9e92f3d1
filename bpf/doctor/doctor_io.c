/* SPDX-License-Identifier: MIT */
/* doctor_io.c - checks: io_uring, and the limits of open files, watched
 * descriptors and memory maps, beside what is in use */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/doctor/doctor.h"

/* A limit is near when more than this share of it is in use, in percent. */
#define NEAR_PERCENT 80u

/* ---- io_uring -------------------------------------------------------------- */

#define ALLOW_URING "sysctl kernel.io_uring_disabled=0"

/* Try to create a ring. Return: 0 or -errno. */
static int try_uring(void)
{
	struct io_uring_params params = { 0 };
	long fd = syscall(SYS_io_uring_setup, 1, &params);

	if (fd < 0)
		return -errno;
	close((int)fd);
	return 0;
}

static void refuse_uring(struct doctor_report *report, int err)
{
	doctor_found(report, "refused: %s", strerror(-err));
	if (err == -ENOSYS)
		doctor_lacks(report, DOCTOR_MISSING,
			     "a kernel with CONFIG_IO_URING, or a container "
			     "profile that allows io_uring_setup()",
			     "the kernel or a filter of system calls has no "
			     "io_uring; threads read and write files instead");
	else if (err == -ENOMEM)
		doctor_lacks(report, DOCTOR_MISSING,
			     "ulimit -l unlimited, or LimitMEMLOCK=infinity "
			     "in a unit",
			     "the limit of locked memory leaves no room for a "
			     "ring; threads read and write files instead");
	else
		doctor_lacks(report, DOCTOR_MISSING,
			     "a container profile that allows "
			     "io_uring_setup()",
			     "a filter of system calls forbids it, as those of "
			     "containers do; threads read and write files "
			     "instead");
}

/* Judge kernel.io_uring_disabled. Return: whether the check is complete. */
static bool judge_switch(const struct doctor *doctor,
			 struct doctor_report *report)
{
	char text[16];
	long disabled;

	if (!doctor_read(doctor, "/proc/sys/kernel/io_uring_disabled", text,
			 sizeof(text)))
		return false;
	disabled = strtol(text, NULL, 10);
	doctor_found(report, "kernel.io_uring_disabled is %ld", disabled);
	if (disabled >= 2)
		doctor_lacks(report, DOCTOR_MISSING, ALLOW_URING,
			     "no process may use it; threads read and write "
			     "files instead");
	else if (disabled == 1 && !doctor_can(doctor, CAP_SYS_ADMIN))
		doctor_lacks(report, DOCTOR_PARTLY,
			     ALLOW_URING
			     ", or the group of kernel.io_uring_group",
			     "only members of kernel.io_uring_group, and "
			     "processes with CAP_SYS_ADMIN, may use it");
	return report->state != DOCTOR_OK;
}

/* The switch allows it, but seccomp may filter the process that is examined. */
static void judge_filter(const struct doctor *doctor,
			 struct doctor_report *report)
{
	char text[16];

	doctor_line(doctor, "/proc/self/status", "Seccomp", text, sizeof(text));
	if (strtol(text, NULL, 10) == 2)
		doctor_lacks(report, DOCTOR_PARTLY,
			     "a container profile that allows "
			     "io_uring_setup()",
			     "seccomp filters the system calls of the process, "
			     "and perhaps this one");
}

void doctor_uring(const struct doctor *doctor, struct doctor_report *report)
{
	int err;

	if (judge_switch(doctor, report))
		return;
	if (doctor->root != NULL || doctor->pid != 0) {
		if (report->found[0] == '\0')
			doctor_found(report, "no kernel.io_uring_disabled");
		judge_filter(doctor, report);
		return;
	}
	err = try_uring();
	if (err != 0)
		refuse_uring(report, err);
	else
		doctor_found(report, "a ring can be created");
}

/* ---- limits beside what is in use ------------------------------------------ */

#define UNKNOWN UINT64_MAX /* what is in use cannot be read */

static bool is_near(uint64_t used, uint64_t limit)
{
	return used != UNKNOWN && used > limit / 100 * NEAR_PERCENT;
}

/* Report @used of @limit, and with @advice and @then if the limit is near. */
static void judge_use(struct doctor_report *report, uint64_t used,
		      uint64_t limit, const char *advice, const char *then)
{
	if (used == UNKNOWN)
		doctor_found(report, "up to %" PRIu64, limit);
	else
		doctor_found(report, "%" PRIu64 " of %" PRIu64 " in use", used,
			     limit);
	if (is_near(used, limit))
		doctor_lacks(report, DOCTOR_PARTLY, advice, "%s", then);
}

static void locate_process(const struct doctor *doctor, const char *name,
			   char *path, size_t size)
{
	snprintf(path, size, "/proc/%d/%s",
		 doctor->pid != 0 ? doctor->pid : getpid(), name);
}

static uint64_t count_open(const struct doctor *doctor)
{
	struct dirent *entry;
	uint64_t count = 0;
	char path[64];
	DIR *folder;

	locate_process(doctor, "fd", path, sizeof(path));
	folder = doctor->root == NULL ? opendir(path) : NULL;
	if (folder == NULL)
		return UNKNOWN;
	while ((entry = readdir(folder)) != NULL)
		count += entry->d_name[0] != '.';
	closedir(folder);
	return count;
}

void doctor_files(const struct doctor *doctor, struct doctor_report *report)
{
	char line[200];
	uint64_t limit;

	doctor_line(doctor, "/proc/self/limits", "Max open files", line,
		    sizeof(line));
	limit = strtoull(line, NULL, 10);
	if (limit == 0)
		doctor_found(report, "%s",
			     line[0] == 'u' ? "no limit" : "not reported");
	else
		judge_use(report, count_open(doctor), limit,
			  "ulimit -n, or LimitNOFILE in a unit",
			  "each connection needs a descriptor");
}

/* The kernel counts the descriptors that a user has in epoll, but does not
 * report the count. /proc/PID/fdinfo lists those of one epoll, but holds its
 * lock meanwhile, which stops a service that has many. A process has at most as
 * many as it has open files. */
void doctor_watches(const struct doctor *doctor, struct doctor_report *report)
{
	char text[32];
	uint64_t limit;

	if (!doctor_read(doctor, "/proc/sys/fs/epoll/max_user_watches", text,
			 sizeof(text))) {
		doctor_found(report, "not reported");
		return;
	}
	limit = strtoull(text, NULL, 10);
	doctor_found(report, "up to %" PRIu64 " for all processes of a user",
		     limit);
	if (is_near(count_open(doctor), limit))
		doctor_lacks(report, DOCTOR_PARTLY,
			     "sysctl fs.epoll.max_user_watches",
			     "the process has almost as many open files; "
			     "beyond the limit, epoll takes no descriptor");
}

static uint64_t count_maps(const struct doctor *doctor)
{
	uint64_t count = 0;
	char path[64];
	FILE *file;
	int c;

	locate_process(doctor, "maps", path, sizeof(path));
	file = doctor->root == NULL ? fopen(path, "re") : NULL;
	if (file == NULL)
		return UNKNOWN;
	while ((c = getc(file)) != EOF)
		count += c == '\n';
	fclose(file);
	return count;
}

void doctor_maps(const struct doctor *doctor, struct doctor_report *report)
{
	char text[32];

	if (!doctor_read(doctor, "/proc/sys/vm/max_map_count", text,
			 sizeof(text))) {
		doctor_found(report, "not reported");
		return;
	}
	judge_use(report, count_maps(doctor), strtoull(text, NULL, 10),
		  "sysctl vm.max_map_count",
		  "before Linux 6.13, each stack of a fiber needs two maps");
}
