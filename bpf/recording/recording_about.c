/* SPDX-License-Identifier: MIT */
/* recording_about.c - see recording_about.h */
#include "bpf/recording/recording_about.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "bpf/cli/clock.h"
#include "bpf/target/target_proc.h"

_Static_assert(TRACE_NO_RANK == TARGET_NO_RANK, "one meaning in both");

struct trace_meta recording_meta(const struct target *target)
{
	struct trace_meta meta = { .pid = (uint32_t)target_pid(target),
				   .counter = trace_counter_here(),
				   .start = trace_now(),
				   .realtime_ns = clock_read_ns(CLOCK_REALTIME),
				   .area_abi = AREA_ABI };
	char name[TARGET_NAME];
	struct utsname system;

	target_comm(target, name);
	snprintf(meta.program, sizeof(meta.program), "%s", name);
	/* Without a runtime yet, the version of the library is unknown. */
	if (target_runtimes(target) > 0)
		memcpy(meta.library, target_runtime(target, 0)->version,
		       sizeof(meta.library));
	if (uname(&system) == 0)
		snprintf(meta.kernel, sizeof(meta.kernel), "%.63s",
			 system.release);
	return meta;
}

/* Two commands have the same CLOCK_MONOTONIC if the machine has not been booted in between,
 * and they are in the same time namespace. */
static void name_clock(char *text, size_t size)
{
	char *boot =
		target_proc_read(AT_FDCWD, "/proc/sys/kernel/random/boot_id");
	char space[32] = "";

	/* Kernels without time namespaces do not have the link. */
	if (readlink("/proc/self/ns/time", space, sizeof(space) - 1) < 0)
		space[0] = '\0';
	if (boot)
		snprintf(text, size, "%.36s %.24s", boot, space);
	free(boot);
}

struct trace_origin recording_origin(const struct target *target)
{
	struct trace_origin origin = { .rank = target_rank(target) };
	struct utsname system;

	if (uname(&system) == 0)
		snprintf(origin.host, sizeof(origin.host), "%.63s",
			 system.nodename);
	name_clock(origin.clock, sizeof(origin.clock));
	return origin;
}
