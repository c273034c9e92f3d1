/* SPDX-License-Identifier: MIT */
/* usage.h - what a thread of this process has had so far, as the kernel says */
#ifndef SKUA_CORE_OS_USAGE_H
#define SKUA_CORE_OS_USAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum usage_state {
	USAGE_RUNNABLE, /* has a CPU, or waits for one; or the state is not known */
	USAGE_SLEEPS,
	USAGE_BLOCKED, /* sleeps, and takes no signals meanwhile */
	USAGE_STOPPED, /* by a signal or a debugger */
};

struct usage {
	uint64_t now_ns; /* CLOCK_MONOTONIC, before the rest was read */
	uint64_t cpu_ns; /* it had a CPU, up to now */
	/* It waited for a CPU, except for a wait that is not over. If it sleeps, that
	 * is all. */
	uint64_t wait_ns;
	enum usage_state state;
	bool complete; /* wait_ns and state are known */
};

/* usage_blocks - does the thread block the signal? As usage_read(). */
bool usage_blocks(pid_t tid, int signal);

/* usage_read - allocates nothing; sets errno */
void usage_read(pid_t tid, struct usage *out);

#endif
