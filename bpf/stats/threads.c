/* SPDX-License-Identifier: MIT */
/* threads.c - see threads.h */
#include "bpf/stats/threads.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A file of /proc that is one short line; false if it cannot be had. */
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

/* The letter after the name of the thread, which may have brackets itself. */
static char read_state(pid_t pid, pid_t tid)
{
	char text[256];
	const char *end;

	if (!read_line(pid, tid, "stat", text, sizeof(text)))
		return 0;
	end = strrchr(text, ')');
	return end && end[1] == ' ' ? end[2] : 0;
}

/* Which thread is it? That takes long with many threads, and changes rarely. */
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

/* The state counts for a poll that is under way before and after it was read. */
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
