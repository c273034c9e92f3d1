/* SPDX-License-Identifier: MIT */
/* exits.c - see exits.h */
#include "bpf/cli/exits.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { FD_SIGNAL, FD_PROCESS, FD_SAID, FDS };

int exits_open(struct exits *exits, pid_t pid)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	*exits = (struct exits){ .signalled = false };
	for (unsigned i = 0; i < FDS; i++)
		exits->fds[i] = (struct pollfd){ .fd = -1, .events = POLLIN };
	exits->fds[FD_SIGNAL].fd = signalfd(-1, &signals, SFD_CLOEXEC);
	exits->fds[FD_SAID].fd = eventfd(0, EFD_CLOEXEC);
	if (exits->fds[FD_SIGNAL].fd < 0 || exits->fds[FD_SAID].fd < 0)
		return -errno;
	if (pid == 0)
		return 0;
	exits->fds[FD_PROCESS].fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (exits->fds[FD_PROCESS].fd < 0 && errno != ESRCH)
		return -errno;
	exits->gone = exits->fds[FD_PROCESS].fd < 0;
	return 0;
}

double exits_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

bool exits_wait(struct exits *exits, double until)
{
	while (!exits->signalled && !exits->gone) {
		double left = until - exits_now();
		struct timespec timeout = { (time_t)left, 0 };

		if (left <= 0)
			return false;
		timeout.tv_nsec = (long)((left - (double)timeout.tv_sec) * 1e9);
		if (ppoll(exits->fds, FDS, &timeout, NULL) <= 0)
			continue;
		exits->signalled = exits->fds[FD_SIGNAL].revents != 0;
		exits->gone = exits->fds[FD_PROCESS].revents != 0 ||
			      exits->fds[FD_SAID].revents != 0;
	}
	return true;
}

void exits_say_gone(const struct exits *exits)
{
	const uint64_t one = 1;
	ssize_t written = write(exits->fds[FD_SAID].fd, &one, sizeof(one));

	(void)written; /* cannot fail: the counter is far from full */
}

void exits_close(struct exits *exits)
{
	for (unsigned i = 0; i < FDS; i++)
		if (exits->fds[i].fd >= 0)
			close(exits->fds[i].fd);
}
