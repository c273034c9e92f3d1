/* SPDX-License-Identifier: MIT */
/* threads_usage.c - see threads_usage.h */
#include "bench/clients/threads_usage.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Open a file of a thread, such as /proc/12/task/13/status. */
static FILE *open_of(pid_t pid, const char *thread, const char *name)
{
	char path[300];

	snprintf(path, sizeof(path), "/proc/%d/task/%s/%s", (int)pid, thread,
		 name);
	return fopen(path, "re");
}

static void add_cpu_time(pid_t pid, const char *thread,
			 struct threads_usage *sum)
{
	FILE *file = open_of(pid, thread, "schedstat");
	uint64_t cpu_ns;

	if (file == NULL)
		return;
	if (fscanf(file, "%" SCNu64, &cpu_ns) == 1)
		sum->cpu_ns += cpu_ns;
	fclose(file);
}

static void add_switches(pid_t pid, const char *thread,
			 struct threads_usage *sum)
{
	FILE *file = open_of(pid, thread, "status");
	char line[200];

	if (file == NULL)
		return;
	while (fgets(line, sizeof(line), file) != NULL) {
		const char *count = strstr(line, "ctxt_switches:");
		uint64_t switches;

		if (count != NULL &&
		    sscanf(strchr(count, ':') + 1, "%" SCNu64, &switches) == 1)
			sum->switches += switches;
	}
	fclose(file);
}

int threads_usage_read(pid_t pid, struct threads_usage *out)
{
	char path[64];
	struct dirent *thread;
	DIR *threads;

	*out = (struct threads_usage){ 0 };
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	threads = opendir(path);
	if (threads == NULL)
		return -errno;
	while ((thread = readdir(threads)) != NULL) {
		if (thread->d_name[0] == '.')
			continue;
		add_cpu_time(pid, thread->d_name, out);
		add_switches(pid, thread->d_name, out);
	}
	closedir(threads);
	return 0;
}
