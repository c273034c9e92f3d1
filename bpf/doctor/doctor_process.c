/* SPDX-License-Identifier: MIT */
/* doctor_process.c - checks: memory of other processes, limits, CPU quota */
#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "bpf/doctor/doctor.h"
#include "bpf/target/target.h"
#include "bpf/target/target_memory.h"
#include "probes/environment.h"

/* ---- memory of others ------------------------------------------------------ */

/* Return an address that the process may read; 0 if its maps cannot be read. */
static uint64_t find_address(const struct doctor *doctor)
{
	char text[16384];
	char *rest = text;
	const char *line;

	if (!doctor_read(doctor, "/proc/self/maps", text, sizeof(text)))
		return 0;
	while ((line = strsep(&rest, "\n")) != NULL) {
		const char *rights = strchr(line, ' ');

		if (rights && rights[1] == 'r')
			return strtoull(line, NULL, 16);
	}
	return 0;
}

/* Try to read one byte of the process. Return: 0 or -errno. */
static int try_to_read(const struct doctor *doctor)
{
	static const char own = 1;
	char byte;
	struct iovec to = { &byte, 1 };
	struct iovec from = { (void *)(uintptr_t)&own, 1 };
	pid_t pid = doctor->pid != 0 ? doctor->pid : getpid();

	if (doctor->pid != 0) {
		uint64_t address = find_address(doctor);

		if (address == 0)
			return -EPERM;
		from.iov_base = (void *)(uintptr_t)address;
	}
	return process_vm_readv(pid, &to, 1, &from, 1, 0) == 1 ? 0 : -errno;
}

static bool is_of_other_user(const struct doctor *doctor)
{
	char path[64];
	struct stat info;

	snprintf(path, sizeof(path), "/proc/%d", doctor->pid);
	return doctor->pid != 0 && stat(path, &info) == 0 &&
	       info.st_uid != geteuid();
}

static void refuse_memory(const struct doctor *doctor,
			  struct doctor_report *report, int err, long scope)
{
	if (err == -ENOSYS)
		doctor_lacks(report, DOCTOR_MISSING,
			     "allow process_vm_readv() in the container",
			     "the system refuses process_vm_readv()");
	else if (is_of_other_user(doctor))
		doctor_lacks(report, DOCTOR_MISSING,
			     "run the tool as that user, as root, or with "
			     "CAP_SYS_PTRACE",
			     "process %d belongs to another user", doctor->pid);
	else if (scope > 0)
		doctor_lacks(report, DOCTOR_MISSING,
			     "run the tool as root or with CAP_SYS_PTRACE; or "
			     "sysctl kernel.yama.ptrace_scope=0",
			     "kernel.yama.ptrace_scope is %ld", scope);
	else
		doctor_lacks(report, DOCTOR_MISSING,
			     "run the tool as root or with CAP_SYS_PTRACE",
			     "%s (the process may have more privileges, or "
			     "may not be dumpable)",
			     strerror(-err));
}

/* No process is given: judge ptrace_scope for processes in general. */
static void judge_scope(const struct doctor *doctor,
			struct doctor_report *report, long scope)
{
	if (scope == 0 || (scope < 3 && doctor_can(doctor, CAP_SYS_PTRACE)))
		return;
	doctor_lacks(report, scope < 3 ? DOCTOR_PARTLY : DOCTOR_MISSING,
		     "run the tool as root or with CAP_SYS_PTRACE; or sysctl "
		     "kernel.yama.ptrace_scope=0",
		     "kernel.yama.ptrace_scope is %ld: %s", scope,
		     scope == 1   ? "only child processes can be read"
		     : scope == 2 ? "only with CAP_SYS_PTRACE"
				  : "no process can be read until the next "
				    "boot");
}

/* The memory of the process can be read: check that it has a runtime of
 * skua. */
static void look_for_skua(const struct doctor *doctor,
			  struct doctor_report *report)
{
	struct target *target;

	if (doctor->root == NULL && target_open(&target, doctor->pid) != 0)
		doctor_lacks(report, DOCTOR_PARTLY,
			     "skua top without --pid finds processes that "
			     "use skua",
			     "%s", target_reason(target));
	if (doctor->root == NULL)
		target_close(target);
}

void doctor_memory(const struct doctor *doctor, struct doctor_report *report)
{
	char text[16];
	long scope = 0;
	int err = 0;

	if (doctor_read(doctor, "/proc/sys/kernel/yama/ptrace_scope", text,
			sizeof(text)))
		scope = strtol(text, NULL, 10);
	if (doctor->root == NULL)
		err = try_to_read(doctor);
	if (err != 0) {
		doctor_found(report, "cannot be read");
		refuse_memory(doctor, report, err, scope);
		return;
	}
	if (doctor->pid != 0) {
		doctor_found(report, "the memory of process %d can be read",
			     doctor->pid);
		look_for_skua(doctor, report);
		return;
	}
	doctor_found(report, "ptrace_scope is %ld", scope);
	judge_scope(doctor, report, scope);
}

/* ---- limits ---------------------------------------------------------------- */

/* Copy the soft limit as /proc shows it: a number, "unlimited", or "" if not
 * listed. */
static void read_limit(const struct doctor *doctor, const char *name,
		       char *text, size_t size)
{
	char line[200];

	doctor_line(doctor, "/proc/self/limits", name, line, sizeof(line));
	snprintf(text, size, "%.*s", (int)strcspn(line, " "), line);
}

void doctor_locked(const struct doctor *doctor, struct doctor_report *report)
{
	char text[32];

	read_limit(doctor, "Max locked memory", text, sizeof(text));
	if (strcmp(text, "unlimited") == 0) {
		doctor_found(report, "no limit");
		return;
	}
	doctor_found(report, "%llu KiB", strtoull(text, NULL, 10) / 1024);
	if (doctor->pid == 0 && doctor_can(doctor, CAP_IPC_LOCK)) {
		doctor_found(report, "CAP_IPC_LOCK: no limit");
		return;
	}
	doctor_lacks(report, DOCTOR_PARTLY,
		     "ulimit -l unlimited, LimitMEMLOCK=infinity in a unit, or "
		     "CAP_IPC_LOCK",
		     "memory beyond that cannot be locked");
}

void doctor_realtime(const struct doctor *doctor, struct doctor_report *report)
{
	char text[32];

	if (doctor->pid == 0 && doctor_can(doctor, CAP_SYS_NICE)) {
		doctor_found(report, "CAP_SYS_NICE: any priority");
		return;
	}
	read_limit(doctor, "Max realtime priority", text, sizeof(text));
	if (strtoul(text, NULL, 10) > 0 || strcmp(text, "unlimited") == 0) {
		doctor_found(report, "priorities up to %s", text);
		return;
	}
	doctor_found(report, "none");
	doctor_lacks(report, DOCTOR_MISSING,
		     "ulimit -r 99, LimitRTPRIO=99 in a unit, or CAP_SYS_NICE",
		     "the limit of real-time priorities is 0");
}

void doctor_schedstat(const struct doctor *doctor, struct doctor_report *report)
{
	char text[80];

	if (doctor_read(doctor, "/proc/self/schedstat", text, sizeof(text))) {
		doctor_found(report, "run and wait times of each thread");
		return;
	}
	doctor_found(report, "none");
	doctor_lacks(report, DOCTOR_MISSING, "a kernel with CONFIG_SCHED_INFO",
		     "the kernel does not report how long threads wait for a "
		     "CPU");
}

/* ---- environment ------------------------------------------------------------ */

void doctor_environment(const struct doctor *doctor,
			struct doctor_report *report)
{
	static char text[1 << 18]; /* the rest of a longer one is left out */
	size_t bytes = doctor_read_raw(doctor, "/proc/self/environ", text,
				       sizeof(text));
	char name[48];

	doctor_found(report, bytes ? "no misspelt variable" : "not reported");
	/* The last variable that was read of a longer one may be cut. */
	if (bytes == sizeof(text) - 1)
		while (bytes > 0 && text[bytes - 1])
			text[--bytes] = '\0';
	for (size_t at = 0; at < bytes; at += strlen(text + at) + 1) {
		const char *meant = environment_meant(text + at);

		if (!meant)
			continue;
		snprintf(name, sizeof(name), "%.*s",
			 (int)strcspn(text + at, "="), text + at);
		target_printable(name, sizeof(name));
		doctor_found(report, "%s", name);
		doctor_lacks(report, DOCTOR_PARTLY,
			     "set it by its right name, and start the program "
			     "again; skua_config(5) lists all",
			     "the library ignores %s; %s was probably meant",
			     name, meant);
		return;
	}
}

/* ---- control groups -------------------------------------------------------- */

/* Return the quota of the group at @path, in CPUs; 0: the group has no limit of
 * its own. */
static double read_quota(const struct doctor *doctor, const char *path)
{
	char place[4200], text[64];
	uint64_t quota, period;

	snprintf(place, sizeof(place), "/sys/fs/cgroup%s/cpu.max", path);
	if (doctor_read(doctor, place, text, sizeof(text)))
		return sscanf(text, "%" SCNu64 " %" SCNu64, &quota, &period) ==
					       2 &&
				       period > 0
			       ? (double)quota / (double)period
			       : 0;
	snprintf(place, sizeof(place), "/sys/fs/cgroup/cpu%s/cpu.cfs_quota_us",
		 path);
	if (!doctor_read(doctor, place, text, sizeof(text)) || text[0] == '-')
		return 0;
	quota = strtoull(text, NULL, 10);
	snprintf(place, sizeof(place), "/sys/fs/cgroup/cpu%s/cpu.cfs_period_us",
		 path);
	if (!doctor_read(doctor, place, text, sizeof(text)))
		return 0;
	period = strtoull(text, NULL, 10);
	return period > 0 ? (double)quota / (double)period : 0;
}

/* Find the path of the process's control group: that of the version 1
 * controller for CPUs if there is one, otherwise that of version 2. */
static bool find_group(const struct doctor *doctor, char *path, size_t size)
{
	char text[16384];
	const char *at;

	doctor_read(doctor, "/proc/self/cgroup", text, sizeof(text));
	at = strstr(text, ":cpu,");
	if (at == NULL)
		at = strstr(text, ",cpu:");
	if (at == NULL)
		at = strstr(text, ":cpu:");
	if (at == NULL)
		at = strstr(text, "0::");
	at = at != NULL ? strchr(at, '/') : NULL;
	if (at == NULL)
		return false;
	snprintf(path, size, "%.*s", (int)strcspn(at, "\n"), at);
	return true;
}

void doctor_quota(const struct doctor *doctor, struct doctor_report *report)
{
	char path[4096], *slash;
	double least = 0;

	if (!find_group(doctor, path, sizeof(path))) {
		doctor_found(report, "no control groups");
		return;
	}
	do {
		double quota = read_quota(doctor, path);

		if (quota > 0 && (least == 0 || quota < least))
			least = quota;
		slash = strrchr(path, '/');
		if (slash != NULL)
			*slash = '\0';
	} while (slash != NULL);
	if (least == 0) {
		doctor_found(report, "none");
		return;
	}
	doctor_found(report, "the time of %.2f CPUs", least);
	doctor_lacks(report, DOCTOR_PARTLY,
		     "raise cpu.max of the group, or use no more workers "
		     "than that",
		     "threads that use it up wait for the next period");
}
