/* SPDX-License-Identifier: MIT */
/* exits.h - wait, until a signal or the end of a process */
#ifndef SKUA_BPF_CLI_EXITS_H
#define SKUA_BPF_CLI_EXITS_H

#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>

/* @signalled: by Ctrl-C or SIGTERM; @gone: the process is no more */
struct exits {
	struct pollfd fds[3];
	bool signalled, gone;
};

/* exits_open - from here on the signals end no program. @pid: 0: no process.
 * Return: 0 or -errno. To be closed in any case */
int exits_open(struct exits *exits, pid_t pid);

/* exits_wait - until that second of CLOCK_MONOTONIC, or what ends it. Return: did
 * something end it? */
bool exits_wait(struct exits *exits, double until);

/* exits_say_gone - the process is no more what it was. Threads: any */
void exits_say_gone(const struct exits *exits);

void exits_close(struct exits *exits);

/* exits_now - seconds of CLOCK_MONOTONIC */
double exits_now(void);

#endif
