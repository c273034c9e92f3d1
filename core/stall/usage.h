/* SPDX-License-Identifier: MIT */
/* usage.h - the CPU time and the waits of a thread of this process so far */
#ifndef SKUA_CORE_STALL_USAGE_H
#define SKUA_CORE_STALL_USAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum usage_state {
	USAGE_RUNNABLE, /* runs, or waits for a CPU; or unknown */
	USAGE_SLEEPS,
	USAGE_BLOCKED, /* sleeps, and takes no signals */
	USAGE_STOPPED, /* by a signal or a debugger */
};

struct usage {
	uint64_t now_ns; /* CLOCK_MONOTONIC, read before the rest */
	uint64_t cpu_ns; /* CPU time of the thread, up to now_ns */
	/* How long the thread waited for a CPU, except a wait that has not
	 * ended. A thread that sleeps has no such wait. */
	uint64_t wait_ns;
	enum usage_state state;
	bool complete; /* wait_ns and state are known */
};

/* usage_blocks - does the thread block @signal? Allocates nothing; sets
 * errno. */
bool usage_blocks(pid_t tid, int signal);

/* usage_read - read the usage of a thread. Allocates nothing; sets errno. */
void usage_read(pid_t tid, struct usage *out);

#endif
