/* SPDX-License-Identifier: MIT */
/* why_sched.c - how long threads waited for a CPU, from /proc */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/cli/grow.h"
#include "bpf/why/ledger_parts.h"
#include "bpf/why/why.h"

static int read_thread(pid_t pid, pid_t tid, struct why_thread *out)
{
	char path[64];
	FILE *file;
	int got;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)pid,
		 (int)tid);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	out->tid = tid;
	got = fscanf(file, "%" SCNu64 " %" SCNu64, &out->run_ns,
		     &out->delay_ns);
	fclose(file);
	return got == 2 ? 0 : -EIO;
}

int why_sched_begin(struct why_sched *s, pid_t pid)
{
	struct dirent *entry;
	char path[64];
	DIR *folder;
	int code = 0;

	*s = (struct why_sched){ .pid = pid };
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	folder = opendir(path);
	if (!folder)
		return -errno;
	while (code == 0 && (entry = readdir(folder)) != NULL) {
		pid_t tid = (pid_t)atoi(entry->d_name);

		if (tid <= 0)
			continue;
		if (!grow(&s->threads, sizeof(*s->threads), s->count, &s->room))
			code = -ENOMEM;
		else
			code = read_thread(pid, tid, &s->threads[s->count]);
		s->count += code == 0;
		/* Otherwise the thread has just ended, or has no such file. */
		if (code != -ENOMEM)
			code = 0;
	}
	closedir(folder);
	if (code == 0 && s->count == 0)
		code = -ENOENT;
	return code;
}

void why_sched_end(struct why_sched *s)
{
	size_t left = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct why_thread *before = &s->threads[i];
		struct why_thread now;

		if (read_thread(s->pid, before->tid, &now) ||
		    now.run_ns < before->run_ns ||
		    now.delay_ns < before->delay_ns)
			continue;
		now.run_ns -= before->run_ns;
		now.delay_ns -= before->delay_ns;
		s->threads[left++] = now;
	}
	s->count = left;
}

void why_sched_free(struct why_sched *s)
{
	free(s->threads);
	memset(s, 0, sizeof(*s));
}

const struct why_thread *why_sched_find(const struct why_sched *s, uint32_t tid)
{
	for (size_t i = 0; i < s->count; i++)
		if ((uint32_t)s->threads[i].tid == tid)
			return &s->threads[i];
	return NULL;
}
