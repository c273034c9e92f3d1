/* SPDX-License-Identifier: MIT */
/* doctor_machine.c - checks: the kernel, and what it reports about the
 * machine */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/doctor/doctor.h"

void doctor_kernel(const struct doctor *doctor, struct doctor_report *report)
{
	unsigned release = doctor_release(doctor);
	char text[128];

	doctor_read(doctor, "/proc/sys/kernel/osrelease", text, sizeof(text));
	doctor_found(report, "%s", release > 0 ? text : "unknown");
	if (release < 5015)
		doctor_lacks(report, DOCTOR_PARTLY, "Linux 5.15 or later",
			     "skua is made for Linux 5.15 and later");
}

void doctor_numa(const struct doctor *doctor, struct doctor_report *report)
{
	char text[256];

	if (!doctor_read(doctor, "/sys/devices/system/node/online", text,
			 sizeof(text))) {
		doctor_found(report, "none");
		doctor_lacks(report, DOCTOR_MISSING,
			     "a kernel with CONFIG_NUMA, if there are several "
			     "nodes",
			     "the kernel reports no nodes");
		return;
	}
	if (strpbrk(text, ",-") == NULL)
		doctor_found(report, "one node");
	else
		doctor_found(report, "nodes %s", text);
}

/* x86 has the line "flags" in /proc/cpuinfo, Arm the line "CPU architecture".
 * The architecture of 64-bit Arm defines the counter as constant. */
void doctor_tsc(const struct doctor *doctor, struct doctor_report *report)
{
	char flags[8192], arm[64], clock[64];
	const char *found = "not reported";

	doctor_read(
		doctor,
		"/sys/devices/system/clocksource/clocksource0/current_clocksource",
		clock, sizeof(clock));
	doctor_line(doctor, "/proc/cpuinfo", "flags", flags, sizeof(flags));
	doctor_line(doctor, "/proc/cpuinfo", "CPU architecture", arm,
		    sizeof(arm));
	if (strstr(flags, "constant_tsc") != NULL &&
	    strstr(flags, "nonstop_tsc") != NULL)
		found = "invariant";
	else if (atoi(arm) >= 8)
		found = "constant on Arm";
	else
		doctor_lacks(report, DOCTOR_PARTLY,
			     "have the host pass the flag on (KVM: invtsc); "
			     "otherwise trust recorded times less",
			     "the processor does not say that its time stamp "
			     "counter is constant");
	doctor_found(report, "%s%s%s", found,
		     clock[0] != '\0' ? "; the clock is " : "", clock);
}

void doctor_huge_pages(const struct doctor *doctor,
		       struct doctor_report *report)
{
	char text[128], *on, *end;

	if (!doctor_read(doctor, "/sys/kernel/mm/transparent_hugepage/enabled",
			 text, sizeof(text))) {
		doctor_found(report, "none");
		doctor_lacks(report, DOCTOR_MISSING,
			     "a kernel with CONFIG_TRANSPARENT_HUGEPAGE",
			     "this kernel has no transparent huge pages");
		return;
	}
	on = strchr(text, '[');
	end = on != NULL ? strchr(on, ']') : NULL;
	if (end != NULL)
		*end = '\0';
	doctor_found(report, "%s", end != NULL ? on + 1 : "unknown");
	if (end != NULL && strcmp(on + 1, "never") == 0)
		doctor_lacks(report, DOCTOR_PARTLY,
			     "echo madvise "
			     ">/sys/kernel/mm/transparent_hugepage/enabled",
			     "they are switched off");
}

void doctor_isolated(const struct doctor *doctor, struct doctor_report *report)
{
	char text[256];

	doctor_read(doctor, "/sys/devices/system/cpu/isolated", text,
		    sizeof(text));
	if (text[0] == '\0' || text[0] == '\n')
		doctor_found(report, "none");
	else
		doctor_found(report,
			     "CPUs %s: workers run there only if configured "
			     "to",
			     text);
}

#define CPU_FREQUENCY "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"

void doctor_governor(const struct doctor *doctor, struct doctor_report *report)
{
	char text[64];

	if (!doctor_read(doctor, CPU_FREQUENCY, text, sizeof(text))) {
		doctor_found(report, "not reported");
		doctor_lacks(report, DOCTOR_PARTLY,
			     "compare measurements that were made alternately",
			     "the kernel does not set frequencies here, as in "
			     "most virtual machines; they may vary unseen");
		return;
	}
	doctor_found(report, "%s", text);
	if (strcmp(text, "performance") != 0)
		doctor_lacks(
			report, DOCTOR_PARTLY,
			"cpupower frequency-set -g performance, to measure",
			"frequencies follow the load, and are low after a "
			"pause");
}

void doctor_turbo(const struct doctor *doctor, struct doctor_report *report)
{
	char text[16];
	bool on;

	if (doctor_read(doctor, "/sys/devices/system/cpu/intel_pstate/no_turbo",
			text, sizeof(text))) {
		on = text[0] == '0';
	} else if (doctor_read(doctor, "/sys/devices/system/cpu/cpufreq/boost",
			       text, sizeof(text))) {
		on = text[0] != '0';
	} else {
		doctor_found(report, "not reported");
		return;
	}
	doctor_found(report, on ? "on" : "off");
	if (on)
		doctor_lacks(report, DOCTOR_PARTLY,
			     "switch it off to compare small differences "
			     "(no_turbo, or cpufreq/boost)",
			     "the frequency depends on how many CPUs are busy, "
			     "and how warm they are");
}

void doctor_smt(const struct doctor *doctor, struct doctor_report *report)
{
	char text[16];

	if (!doctor_read(doctor, "/sys/devices/system/cpu/smt/active", text,
			 sizeof(text)))
		doctor_found(report, "not reported");
	else if (text[0] == '1')
		doctor_found(report, "on: skua topo shows which CPUs share a "
				     "core");
	else
		doctor_found(report, "off");
}

/* Report the steal time, as a share of the time since boot in which a CPU was
 * not idle. */
void doctor_steal(const struct doctor *doctor, struct doctor_report *report)
{
	uint64_t ticks[8] = { 0 }, total = 0;
	char line[512], *at = line;
	double stolen;

	doctor_line(doctor, "/proc/stat", "cpu ", line, sizeof(line));
	for (unsigned i = 0; i < 8; i++) {
		ticks[i] = strtoull(at, &at, 10);
		if (i != 3 && i != 4) /* idle, iowait */
			total += ticks[i];
	}
	stolen = total > 0 ? 100 * (double)ticks[7] / (double)total : 0;
	doctor_found(report, "%.1f %% of busy time since the boot", stolen);
	if (stolen >= 1)
		doctor_lacks(
			report, DOCTOR_PARTLY,
			"ask the host for dedicated CPUs; repeat measurements",
			"the host took CPUs away from this virtual machine "
			"while they had work");
}
