/* SPDX-License-Identifier: MIT */
/* doctor_counters.c - checks: the events that may be counted, and hardware
 * counters */
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/doctor/doctor.h"
#include "probes/perf_group.h"

#define LOWER_PARANOID \
	"sysctl kernel.perf_event_paranoid=2, or CAP_PERFMON for the tool"

void doctor_paranoid(const struct doctor *doctor, struct doctor_report *report)
{
	bool can = doctor_can(doctor, CAP_PERFMON);
	char text[32];
	long level;

	if (!doctor_read(doctor, "/proc/sys/kernel/perf_event_paranoid", text,
			 sizeof(text))) {
		doctor_found(report, "not there");
		doctor_lacks(report, DOCTOR_MISSING,
			     "a kernel with CONFIG_PERF_EVENTS",
			     "this kernel counts nothing");
		return;
	}
	level = strtol(text, NULL, 10);
	doctor_found(report, "%ld%s", level,
		     can ? ", but CAP_PERFMON overrides it" : "");
	if (can || level <= 1)
		return;
	if (level >= 3)
		doctor_lacks(report, DOCTOR_MISSING, LOWER_PARANOID,
			     "it forbids all counting without CAP_PERFMON");
	else
		doctor_lacks(report, DOCTOR_PARTLY,
			     "sysctl kernel.perf_event_paranoid=1, if the "
			     "kernel's part is needed",
			     "without CAP_PERFMON, only user mode of your "
			     "own processes can be counted");
}

/* Count the events of @names. @report receives the list of those that can be
 * counted, @why the reason why the first other event cannot ("": all can).
 * Return: 0 or -errno. */
static int try_to_count(const char *const *names, unsigned count,
			struct doctor_report *report, char *why, size_t size)
{
	struct perf_group_values values;
	struct perf_group *group;
	size_t used = 0;
	int err = perf_group_open(&group, PERF_GROUP_OWN, names, count, why,
				  size);

	if (err != 0)
		return err;
	why[0] = '\0';
	err = perf_group_read(group, &values);
	for (unsigned i = 0; err == 0 && i < count; i++) {
		const struct perf_group_event *event = &values.event[i];

		if (event->why[0] == '\0') {
			snprintf(report->found + used,
				 sizeof(report->found) - used, "%s%s",
				 used > 0 ? ", " : "", event->name);
			used = strlen(report->found);
		} else if (why[0] == '\0') {
			snprintf(why, size, "%s: %s", event->name, event->why);
		}
	}
	perf_group_close(group);
	return err;
}

static bool is_virtual(const struct doctor *doctor)
{
	char flags[8192];

	doctor_line(doctor, "/proc/cpuinfo", "flags", flags, sizeof(flags));
	return strstr(flags, " hypervisor") != NULL;
}

#define PMU_FOR_GUEST                                                      \
	"have the host give the machine a PMU (KVM: -cpu host,pmu=on; in " \
	"clouds: a larger or bare-metal size)"

static void no_hardware(const struct doctor *doctor,
			struct doctor_report *report)
{
	doctor_found(report, "none");
	if (is_virtual(doctor))
		doctor_lacks(report, DOCTOR_MISSING, PMU_FOR_GUEST,
			     "the host gives this virtual machine no PMU");
	else
		doctor_lacks(report, DOCTOR_MISSING,
			     "see dmesg for the kernel's messages about the "
			     "PMU",
			     "the kernel has no driver for a PMU here");
}

/* For the files of another machine, where nothing is tried: check whether its
 * kernel lists a PMU. */
static void look_for_pmu(const struct doctor *doctor,
			 struct doctor_report *report)
{
	static const char *const places[] = {
		"/sys/bus/event_source/devices/cpu/type",
		"/sys/bus/event_source/devices/cpu_core/type",
		"/sys/bus/event_source/devices/armv8_pmuv3_0/type",
	};
	char text[32];

	for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (doctor_read(doctor, places[i], text, sizeof(text))) {
			doctor_found(report, "a PMU");
			return;
		}
	}
	no_hardware(doctor, report);
}

void doctor_hardware(const struct doctor *doctor, struct doctor_report *report)
{
	static const char *const names[] = {
		"cycles",        "instructions", "branches",
		"branch-misses", "cache-misses", "cache-references"
	};
	char why[200];
	int err;

	if (doctor->root != NULL) {
		look_for_pmu(doctor, report);
		return;
	}
	err = try_to_count(names, 6, report, why, sizeof(why));
	if (err == -ENOENT) {
		no_hardware(doctor, report);
	} else if (err != 0) {
		doctor_found(report, "none");
		doctor_lacks(report, DOCTOR_MISSING, LOWER_PARANOID, "%s", why);
	} else if (why[0] != '\0') {
		doctor_lacks(report, DOCTOR_PARTLY,
			     "skua perf --list shows the events that exist "
			     "here",
			     "%s", why);
	}
}

#define SOFTWARE_FROM_PROC                                         \
	"CAP_PERFMON for the tool, or sysctl "                     \
	"kernel.perf_event_paranoid=1; otherwise skua perf reads " \
	"what it can from /proc"

void doctor_software(const struct doctor *doctor, struct doctor_report *report)
{
	static const char *const names[] = { "task-clock", "page-faults",
					     "context-switches",
					     "cpu-migrations" };
	char why[200];
	int err;

	if (doctor->root != NULL) {
		doctor_paranoid(doctor, report);
		doctor_found(report, "not tried");
		return;
	}
	err = try_to_count(names, 4, report, why, sizeof(why));
	if (err != 0)
		doctor_found(report, "none");
	if (why[0] != '\0')
		doctor_lacks(report, err != 0 ? DOCTOR_MISSING : DOCTOR_PARTLY,
			     SOFTWARE_FROM_PROC, "%s", why);
}
