/* SPDX-License-Identifier: MIT */
/* usage.c - see usage.h */
#include "core/stall/usage.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"

/* The clock of a thread's CPU time, as pthread_getcpuclockid() and the kernel
 * define it. Unlike pthread_getcpuclockid(), this needs no pthread_t. */
static clockid_t clock_of(pid_t tid)
{
	return (clockid_t)(~(unsigned)tid << 3 | 6);
}

static uint64_t cpu_ns_of(pid_t tid)
{
	struct timespec cpu = { 0, 0 };

	clock_gettime(clock_of(tid), &cpu);
	return (uint64_t)cpu.tv_sec * NS_PER_S + (uint64_t)cpu.tv_nsec;
}

/* Read a file of the thread, or its beginning if it is longer, as a string. */
static bool read_file(pid_t tid, const char *name, char *text, size_t size)
{
	char path[64];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/%s", (int)tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	got = read(fd, text, size - 1);
	close(fd);
	if (got <= 0)
		return false;
	text[got] = '\0';
	return true;
}

/* proc_pid_stat(5): the state comes after the name, which may have any
 * characters. */
static bool read_state(pid_t tid, enum usage_state *state)
{
	char text[512];
	const char *at;

	if (!read_file(tid, "stat", text, sizeof(text)))
		return false;
	at = strrchr(text, ')');
	if (!at || at[1] != ' ')
		return false;
	switch (at[2]) {
	case 'S':
		*state = USAGE_SLEEPS;
		break;
	case 'D':
		*state = USAGE_BLOCKED;
		break;
	case 'T':
	case 't':
		*state = USAGE_STOPPED;
		break;
	default:
		*state = USAGE_RUNNABLE;
	}
	return true;
}

/* The file has "CPU-TIME WAIT-TIME SLICES"; all are 0 if the kernel does not
 * count them. */
static bool read_wait(pid_t tid, uint64_t *wait_ns)
{
	char text[100], *end;

	if (!read_file(tid, "schedstat", text, sizeof(text)) ||
	    strtoull(text, &end, 10) == 0)
		return false;
	*wait_ns = strtoull(end, &end, 10);
	return true;
}

void usage_read(pid_t tid, struct usage *out)
{
	*out = (struct usage){ .now_ns = clock_now_ns(),
			       .cpu_ns = cpu_ns_of(tid) };
	/* The state comes first: if the thread sleeps then, the wait time that
	 * is read next has all its waits up to that sleep. */
	out->complete =
		read_state(tid, &out->state) && read_wait(tid, &out->wait_ns);
	if (!out->complete)
		out->state = USAGE_RUNNABLE;
}

bool usage_blocks(pid_t tid, int signal)
{
	char text[2048];
	const char *at;

	if (!read_file(tid, "status", text, sizeof(text)))
		return false;
	at = strstr(text, "\nSigBlk:");
	return at && strtoull(at + 8, NULL, 16) >> (signal - 1) & 1;
}
