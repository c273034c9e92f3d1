/* SPDX-License-Identifier: MIT */
/* threads.c - see threads.h */
#include "bpf/stats/threads.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Read the first line of a thread's file in /proc. Return: false if it cannot
 * be read. */
static bool read_line(pid_t pid, pid_t tid, const char *name, char *text,
		      size_t size)
{
	char path[64];
	FILE *file;
	bool got;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)pid, (int)tid,
		 name);
	file = fopen(path, "re");
	if (!file)
		return false;
	got = fgets(text, (int)size, file) != NULL;
	fclose(file);
	return got;
}

/* Read the kernel's state letter. It follows the last ')', as the thread's name
 * before it may contain brackets, too. Return: 0 if not known. */
static char read_state(pid_t pid, pid_t tid)
{
	char text[256];
	const char *end;

	if (!read_line(pid, tid, "stat", text, sizeof(text)))
		return 0;
	end = strrchr(text, ')');
	return end && end[1] == ' ' ? end[2] : 0;
}

/* Find the worker's thread if it is another one than at the last read. The
 * search is slow with many threads, but the thread rarely changes. */
static void find_thread(struct target *target, const struct target_runtime *at,
			unsigned index, struct thread_usage *thread)
{
	uint64_t own = 0;

	if (target_read(target,
			at->workers[index] + offsetof(struct area_worker, tid),
			&own, sizeof(own)) != 0 ||
	    own > UINT32_MAX)
		own = 0;
	if (own == thread->own)
		return;
	*thread = (struct thread_usage){ .own = own };
	if (own)
		thread->tid = target_thread(target, (uint32_t)own);
}

static void read_cpu(pid_t pid, struct thread_usage *thread)
{
	bool had = thread->has_cpu;
	char text[128];

	thread->before_ns = thread->cpu_ns;
	thread->has_cpu =
		read_line(pid, thread->tid, "schedstat", text, sizeof(text)) &&
		sscanf(text, "%" SCNu64, &thread->cpu_ns) == 1;
	if (!had)
		thread->before_ns = thread->cpu_ns;
}

/* Read the thread's state. It belongs to a poll only if the same poll is under
 * way before and after it was read. */
static void read_thread(struct target *target, const struct target_runtime *at,
			unsigned index, struct thread_usage *thread)
{
	pid_t pid = target_pid(target);
	struct target_now before, after;

	thread->in_poll = false;
	thread->state = 0;
	read_cpu(pid, thread);
	if (target_look(target, at, index, &before) != 0 || !before.task)
		return;
	thread->state = read_state(pid, thread->tid);
	if (target_look(target, at, index, &after) == 0)
		thread->in_poll = before.task == after.task &&
				  before.tasks_polled == after.tasks_polled;
}

void threads_read(struct target *target, const struct target_runtime *at,
		  struct thread_usage *threads)
{
	for (unsigned i = 0; i < at->area.worker_count; i++) {
		find_thread(target, at, i, &threads[i]);
		if (threads[i].tid > 0)
			read_thread(target, at, i, &threads[i]);
	}
}

const char *thread_state(const struct thread_usage *thread,
			 const char *otherwise)
{
	if (!thread->in_poll)
		return otherwise;
	switch (thread->state) {
	case 'S':
	case 'D':
		return "blocked";
	case 'T':
	case 't':
		return "stopped";
	default:
		return otherwise;
	}
}

double thread_on_cpu(const struct thread_usage *thread, uint64_t ns)
{
	double part;

	if (!thread->has_cpu || ns == 0 || thread->cpu_ns < thread->before_ns)
		return -1;
	part = (double)(thread->cpu_ns - thread->before_ns) / (double)ns;
	return part < 1 ? part : 1;
}
