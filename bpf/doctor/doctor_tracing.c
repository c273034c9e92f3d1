/* SPDX-License-Identifier: MIT */
/* doctor_tracing.c - checks: BPF, kernel types, uprobes and file systems for
 * tracers */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/doctor/doctor.h"
#include "bpf/programs/uprobe_multi.h"

/* ---- BPF ------------------------------------------------------------------- */

/* Load a program for probes that returns 0. Return: a descriptor or -errno. */
static int load_program(uint32_t attach_type)
{
	static const struct bpf_insn program[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = { .prog_type = BPF_PROG_TYPE_KPROBE,
				.insn_cnt = 2,
				.insns = (uintptr_t)program,
				.license = (uintptr_t) "GPL",
				.expected_attach_type = attach_type };
	long fd = syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));

	return fd < 0 ? -errno : (int)fd;
}

#define BPF_ADVICE "run the tool as root, or with CAP_BPF and CAP_PERFMON"

static void refuse_bpf(const struct doctor *doctor,
		       struct doctor_report *report, const char *how)
{
	char text[16];

	if (!doctor_read(doctor, "/proc/sys/kernel/unprivileged_bpf_disabled",
			 text, sizeof(text)))
		doctor_lacks(report, DOCTOR_MISSING,
			     "a kernel with CONFIG_BPF_SYSCALL",
			     "%s; this kernel has no bpf()", how);
	else
		doctor_lacks(report, DOCTOR_MISSING, BPF_ADVICE,
			     "%s; unprivileged_bpf_disabled is %s, and "
			     "programs for probes need CAP_BPF and "
			     "CAP_PERFMON in any case",
			     how, text);
}

void doctor_bpf(const struct doctor *doctor, struct doctor_report *report)
{
	int fd;

	if (doctor->root != NULL) {
		doctor_found(report, "not tried");
		if (!doctor_can(doctor, CAP_BPF) ||
		    !doctor_can(doctor, CAP_PERFMON))
			refuse_bpf(doctor, report, "no privilege");
		return;
	}
	fd = load_program(0);
	if (fd < 0) {
		doctor_found(report, "no program can be loaded");
		refuse_bpf(doctor, report, strerror(-fd));
		return;
	}
	close(fd);
	doctor_found(report, "a program for probes can be loaded");
}

void doctor_btf(const struct doctor *doctor, struct doctor_report *report)
{
	char text[16];

	if (doctor_read(doctor, "/sys/kernel/btf/vmlinux", text,
			sizeof(text))) {
		doctor_found(report, "/sys/kernel/btf/vmlinux");
		return;
	}
	doctor_found(report, "none");
	doctor_lacks(report, DOCTOR_MISSING,
		     "a kernel with CONFIG_DEBUG_INFO_BTF",
		     "/sys/kernel/btf/vmlinux is missing, so programs cannot "
		     "be adapted to this kernel");
}

/* Return 0 if the kernel has uprobe_multi links. Such a kernel refuses this
 * link with -EBADF, because "/" is no regular file; an older one fails in
 * another way. */
static int try_uprobe_multi(void)
{
	uint64_t offset = 0;
	struct uprobe_multi attr = { .attach_type = ATTACH_UPROBE_MULTI,
				     .path = (uintptr_t) "/",
				     .offsets = (uintptr_t)&offset,
				     .count = 1 };
	int program = load_program(ATTACH_UPROBE_MULTI);
	long link;
	int err;

	if (program < 0)
		return program;
	attr.prog_fd = (uint32_t)program;
	link = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	err = link < 0 ? -errno : 0;
	if (link >= 0)
		close((int)link);
	close(program);
	return err == -EBADF ? 0 : err;
}

void doctor_uprobe_multi(const struct doctor *doctor,
			 struct doctor_report *report)
{
	bool old = doctor_release(doctor) < 6006;
	int err = 0;

	if (doctor->root == NULL)
		err = try_uprobe_multi();
	else if (old)
		err = -EINVAL;
	if (err == 0) {
		doctor_found(report, "one call for many probes");
		return;
	}
	doctor_found(report, "none");
	if (old)
		doctor_lacks(report, DOCTOR_MISSING,
			     "Linux 6.6 or later; until then probes are "
			     "attached one by one",
			     "this kernel is older than 6.6");
	else
		doctor_lacks(report, DOCTOR_MISSING, BPF_ADVICE, "%s",
			     strerror(-err));
}

/* ---- uprobes --------------------------------------------------------------- */

/*
 * Attach a disabled uprobe to offset 0 of this program, its ELF header, which
 * is never executed: the kernel accepts that and changes nothing. Return: 0 or
 * -errno.
 */
static int try_uprobe(uint32_t type)
{
	struct perf_event_attr attr = { .size = sizeof(attr),
					.type = type,
					.disabled = 1,
					.config1 =
						(uintptr_t) "/proc/self/exe" };
	long fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1,
			  PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	close((int)fd);
	return 0;
}

#define UPROBE_DEVICE "/sys/bus/event_source/devices/uprobe"

void doctor_uprobes(const struct doctor *doctor, struct doctor_report *report)
{
	char type[16], format[32];
	int err = 0;

	doctor_found(report, "none");
	if (!doctor_read(doctor, UPROBE_DEVICE "/type", type, sizeof(type))) {
		doctor_lacks(report, DOCTOR_MISSING,
			     "a kernel with CONFIG_UPROBE_EVENTS",
			     UPROBE_DEVICE " is not there");
		return;
	}
	if (doctor->root == NULL)
		err = try_uprobe((uint32_t)strtoul(type, NULL, 10));
	if (err != 0) {
		doctor_lacks(report, DOCTOR_MISSING,
			     "run the tracer as root, or with CAP_PERFMON",
			     "%s", strerror(-err));
		return;
	}
	doctor_found(report, "uprobes, with the semaphores of USDT probes");
	if (doctor_read(doctor, UPROBE_DEVICE "/format/ref_ctr_offset", format,
			sizeof(format)))
		return;
	doctor_found(report, "uprobes");
	doctor_lacks(report, DOCTOR_PARTLY, "Linux 4.20 or later",
		     "the kernel does not raise semaphores, and USDT probes "
		     "stay off without them");
}

/* ---- file systems ---------------------------------------------------------- */

/* Find where a file system of that type is mounted. */
static bool find_mount(const struct doctor *doctor, const char *type,
		       char *place, size_t size)
{
	char text[65536], *line = text;

	doctor_read(doctor, "/proc/self/mounts", text, sizeof(text));
	while (line != NULL) {
		char at[200], is[64];

		if (sscanf(line, "%*s %199s %63s", at, is) == 2 &&
		    strcmp(is, type) == 0) {
			snprintf(place, size, "%s", at);
			return true;
		}
		line = strchr(line, '\n');
		line = line != NULL ? line + 1 : NULL;
	}
	return false;
}

static void look_for_mount(const struct doctor *doctor,
			   struct doctor_report *report, const char *type,
			   const char *advice, const char *why)
{
	const struct doctor this = { .root = doctor->root };
	char place[200];

	if (find_mount(&this, type, place, sizeof(place))) {
		doctor_found(report, "%s", place);
		if (doctor->root == NULL && access(place, R_OK | X_OK) != 0)
			doctor_lacks(report, DOCTOR_MISSING,
				     "run the tracer as root",
				     "it cannot be read: %s", strerror(errno));
		return;
	}
	doctor_found(report, "not mounted");
	doctor_lacks(report, DOCTOR_MISSING, advice, "%s", why);
}

void doctor_tracefs(const struct doctor *doctor, struct doctor_report *report)
{
	look_for_mount(doctor, report, "tracefs",
		       "mount -t tracefs tracefs /sys/kernel/tracing",
		       "tracers that use the kernel's tracepoints by name look "
		       "there");
}

/* Warn if other users can write there: they could create folders and links in
 * root's place. skua pin refuses such a folder. */
static void warn_of_writers(const struct doctor *doctor,
			    struct doctor_report *report, const char *place)
{
	char path[4096];
	struct stat status;

	snprintf(path, sizeof(path), "%s%s",
		 doctor->root != NULL ? doctor->root : "", place);
	if (stat(path, &status) == 0 && status.st_mode & (S_IWGRP | S_IWOTH))
		doctor_lacks(report, DOCTOR_PARTLY, "chmod 0700 /sys/fs/bpf",
			     "its mode is 0%o: other users may take the folder "
			     "of skua pin before root does",
			     status.st_mode & 07777);
}

void doctor_bpffs(const struct doctor *doctor, struct doctor_report *report)
{
	look_for_mount(doctor, report, "bpf",
		       "mount -t bpf -o mode=0700 bpf /sys/fs/bpf",
		       "programs that outlive a tool are pinned there");
	if (report->state == DOCTOR_OK)
		warn_of_writers(doctor, report, report->found);
}
