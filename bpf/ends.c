/* SPDX-License-Identifier: MIT */
/* ends.c - see ends.h */
#include "bpf/ends.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { FD_SIGNAL, FD_PROCESS, FD_SAID, FDS };

int ends_open(struct ends *ends, pid_t pid)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	*ends = (struct ends){ .signalled = false };
	for (unsigned i = 0; i < FDS; i++)
		ends->fds[i] = (struct pollfd){ .fd = -1, .events = POLLIN };
	ends->fds[FD_SIGNAL].fd = signalfd(-1, &signals, SFD_CLOEXEC);
	ends->fds[FD_SAID].fd = eventfd(0, EFD_CLOEXEC);
	if (ends->fds[FD_SIGNAL].fd < 0 || ends->fds[FD_SAID].fd < 0)
		return -errno;
	if (pid == 0)
		return 0;
	ends->fds[FD_PROCESS].fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (ends->fds[FD_PROCESS].fd < 0 && errno != ESRCH)
		return -errno;
	ends->gone = ends->fds[FD_PROCESS].fd < 0;
	return 0;
}

double ends_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

bool ends_wait(struct ends *ends, double until)
{
	while (!ends->signalled && !ends->gone) {
		double left = until - ends_now();
		struct timespec timeout = { (time_t)left, 0 };

		if (left <= 0)
			return false;
		timeout.tv_nsec = (long)((left - (double)timeout.tv_sec) * 1e9);
		if (ppoll(ends->fds, FDS, &timeout, NULL) <= 0)
			continue;
		ends->signalled = ends->fds[FD_SIGNAL].revents != 0;
		ends->gone = ends->fds[FD_PROCESS].revents != 0 ||
			     ends->fds[FD_SAID].revents != 0;
	}
	return true;
}

void ends_say_gone(const struct ends *ends)
{
	const uint64_t one = 1;
	ssize_t written = write(ends->fds[FD_SAID].fd, &one, sizeof(one));

	(void)written; /* it cannot block, and is not full */
}

void ends_close(struct ends *ends)
{
	for (unsigned i = 0; i < FDS; i++)
		if (ends->fds[i].fd >= 0)
			close(ends->fds[i].fd);
}
