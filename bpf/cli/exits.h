/* SPDX-License-Identifier: MIT */
/* exits.h - waits until a time, a signal, or the end of a process */
#ifndef SKUA_BPF_CLI_EXITS_H
#define SKUA_BPF_CLI_EXITS_H

#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>

/* @signalled: SIGINT or SIGTERM came. @gone: the process has ended. */
struct exits {
	struct pollfd fds[3];
	bool signalled, gone;
};

/* exits_open - block SIGINT and SIGTERM, so that exits_wait() reports them.
 * @pid: 0: no process. Return: 0 or -errno. The caller calls exits_close() in
 * any case */
int exits_open(struct exits *exits, pid_t pid);

/* exits_wait - wait until a time, in seconds of CLOCK_MONOTONIC, or until a
 * signal or the end of the process. Return: false if the time came first */
bool exits_wait(struct exits *exits, double until);

/* exits_say_gone - make exits_wait() report the process as gone, because it has
 * executed another program. Threads: any */
void exits_say_gone(const struct exits *exits);

void exits_close(struct exits *exits);

/* exits_now - return CLOCK_MONOTONIC in seconds */
double exits_now(void);

#endif
