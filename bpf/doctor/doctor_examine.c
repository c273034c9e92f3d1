/* SPDX-License-Identifier: MIT */
/* doctor_examine.c - the table of checks, and functions that the checks
 * share */
#include <fcntl.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/doctor/doctor.h"

static const struct {
	const char *name;
	doctor_check *check;
} checks[] = {
	{ "kernel", doctor_kernel },
	{ "perf_event_paranoid", doctor_paranoid },
	{ "hardware_counters", doctor_hardware },
	{ "software_counters", doctor_software },
	{ "process_memory", doctor_memory },
	{ "bpf", doctor_bpf },
	{ "btf", doctor_btf },
	{ "uprobes", doctor_uprobes },
	{ "uprobe_multi", doctor_uprobe_multi },
	{ "tracefs", doctor_tracefs },
	{ "bpffs", doctor_bpffs },
	{ "schedstat", doctor_schedstat },
	{ "cgroup_quota", doctor_quota },
	{ "locked_memory", doctor_locked },
	{ "realtime", doctor_realtime },
	{ "environment", doctor_environment },
	{ "io_uring", doctor_uring },
	{ "open_files", doctor_files },
	{ "epoll_watches", doctor_watches },
	{ "memory_maps", doctor_maps },
	{ "numa", doctor_numa },
	{ "invariant_tsc", doctor_tsc },
	{ "transparent_hugepages", doctor_huge_pages },
	{ "isolated_cpus", doctor_isolated },
	{ "cpu_governor", doctor_governor },
	{ "cpu_turbo", doctor_turbo },
	{ "smt", doctor_smt },
	{ "steal_time", doctor_steal },
};

_Static_assert(sizeof(checks) / sizeof(checks[0]) == DOCTOR_CHECKS,
	       "callers have room for so many");

void doctor_examine(const struct doctor *doctor, struct doctor_report *reports)
{
	for (unsigned i = 0; i < DOCTOR_CHECKS; i++) {
		reports[i] = (struct doctor_report){ .name = checks[i].name,
						     .advice = "" };
		checks[i].check(doctor, &reports[i]);
	}
}

void doctor_found(struct doctor_report *report, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(report->found, sizeof(report->found), format, list);
	va_end(list);
}

void doctor_lacks(struct doctor_report *report, enum doctor_state state,
		  const char *advice, const char *why_format, ...)
{
	va_list list;

	report->state = state;
	report->advice = advice;
	va_start(list, why_format);
	vsnprintf(report->why, sizeof(report->why), why_format, list);
	va_end(list);
}

/* Build the real path: below the root, and /proc/PID for /proc/self. */
static void locate(const struct doctor *doctor, const char *path, char *out,
		   size_t size)
{
	static const char self[] = "/proc/self/";
	const char *root = doctor->root != NULL ? doctor->root : "";

	if (doctor->pid != 0 && strncmp(path, self, sizeof(self) - 1) == 0)
		snprintf(out, size, "%s/proc/%d/%s", root, doctor->pid,
			 path + sizeof(self) - 1);
	else
		snprintf(out, size, "%s%s", root, path);
}

size_t doctor_read_raw(const struct doctor *doctor, const char *path,
		       char *text, size_t size)
{
	char place[4096];
	size_t used = 0;
	ssize_t got;
	int fd;

	text[0] = '\0';
	locate(doctor, path, place, sizeof(place));
	/* O_NONBLOCK: a tree that somebody prepared may have a FIFO there. */
	fd = open(place, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return 0;
	while (used < size - 1 &&
	       (got = read(fd, text + used, size - 1 - used)) > 0)
		used += (size_t)got;
	close(fd);
	text[used] = '\0';
	return used;
}

bool doctor_read(const struct doctor *doctor, const char *path, char *text,
		 size_t size)
{
	size_t used = doctor_read_raw(doctor, path, text, size);

	if (used == 0)
		return false;
	text[used - (text[used - 1] == '\n')] = '\0';
	for (char *c = text; *c != '\0'; c++)
		if ((*c < ' ' && *c != '\n' && *c != '\t') || *c == 127)
			*c = '?';
	return true;
}

void doctor_line(const struct doctor *doctor, const char *path, const char *key,
		 char *text, size_t size)
{
	char file[16384], *line;

	text[0] = '\0';
	doctor_read(doctor, path, file, sizeof(file));
	for (line = file; line != NULL; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, strlen(key)) == 0)
			break;
	}
	if (line == NULL)
		return;
	line += strlen(key);
	line += strspn(line, ": \t");
	snprintf(text, size, "%.*s", (int)strcspn(line, "\n"), line);
}

unsigned doctor_release(const struct doctor *doctor)
{
	unsigned major, minor;
	char text[128];

	if (!doctor_read(doctor, "/proc/sys/kernel/osrelease", text,
			 sizeof(text)) ||
	    sscanf(text, "%3u.%3u", &major, &minor) != 2)
		return 0;
	return 1000 * major + minor;
}

bool doctor_can(const struct doctor *doctor, unsigned capability)
{
	const struct doctor this = { .root = doctor->root };
	char text[64];
	uint64_t has;

	doctor_line(&this, "/proc/self/status", "CapEff", text, sizeof(text));
	has = strtoull(text, NULL, 16);
	if ((capability == CAP_PERFMON || capability == CAP_BPF) &&
	    has >> CAP_SYS_ADMIN & 1)
		return true;
	return has >> capability & 1;
}
