/* SPDX-License-Identifier: MIT */
/* ends.h - wait, until a signal or the end of a process */
#ifndef SKUA_BPF_ENDS_H
#define SKUA_BPF_ENDS_H

#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>

/* @signalled: by Ctrl-C or SIGTERM; @gone: the process is no more */
struct ends {
	struct pollfd fds[3];
	bool signalled, gone;
};

/* ends_open - from here on the signals end no program. @pid: 0: no process.
 * Return: 0 or -errno. To be closed in any case */
int ends_open(struct ends *ends, pid_t pid);

/* ends_wait - until that second of CLOCK_MONOTONIC, or what ends it. Return: did
 * something end it? */
bool ends_wait(struct ends *ends, double until);

/* ends_say_gone - the process is no more what it was. Threads: any */
void ends_say_gone(const struct ends *ends);

void ends_close(struct ends *ends);

/* ends_now - seconds of CLOCK_MONOTONIC */
double ends_now(void);

#endif
