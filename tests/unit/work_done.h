/* SPDX-License-Identifier: MIT */
/* work_done.h - the context switches and the CPU time of worker threads */
#ifndef SKUA_TESTS_UNIT_WORK_DONE_H
#define SKUA_TESTS_UNIT_WORK_DONE_H

#include <dirent.h>
#include <time.h>

#include "tests/unit/support.h"

/* The work of the worker threads: a thread that was not switched to has made
 * no system call. */
struct work_done {
	unsigned threads;
	uint64_t switches;
	uint64_t sleeps; /* the switches that the thread has asked for */
	unsigned awake;  /* threads that run, or wait for a CPU */
	uint64_t cpu_ns; /* 0 where the kernel does not say */
};

static inline FILE *open_of_thread(const char *tid, const char *name)
{
	char path[300];

	snprintf(path, sizeof(path), "/proc/self/task/%s/%s", tid, name);
	return fopen(path, "re");
}

static inline bool is_worker(const char *tid)
{
	FILE *file = open_of_thread(tid, "comm");
	char name[32] = "";

	if (!file)
		return false; /* ended meanwhile */
	assert_non_null(fgets(name, sizeof(name), file));
	fclose(file);
	return strncmp(name, "skua-", 5) == 0;
}

static inline void count_switches(const char *tid, struct work_done *sum)
{
	static const char name[] = "voluntary_ctxt_switches:";
	FILE *file = open_of_thread(tid, "status");
	unsigned found = 0;
	char line[300];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		const char *at = strstr(line, name);
		uint64_t count;

		sum->awake += strncmp(line, "State:", 6) == 0 &&
			      strncmp(line, "State:\tS", 8) != 0;
		/* Both "voluntary_..." and "nonvoluntary_..." count. */
		if (!at)
			continue;
		count = strtoull(strchr(at, ':') + 1, NULL, 10);
		sum->switches += count;
		sum->sleeps += at == line ? count : 0;
		found++;
	}
	fclose(file);
	assert_int_equal(found, 2);
}

static inline uint64_t cpu_ns_of(const char *tid)
{
	FILE *file = open_of_thread(tid, "schedstat");
	unsigned long long cpu_ns = 0;

	if (file && fscanf(file, "%llu", &cpu_ns) != 1)
		cpu_ns = 0;
	if (file)
		fclose(file);
	return cpu_ns;
}

static inline struct work_done work_done(void)
{
	struct work_done sum = { 0 };
	DIR *dir = opendir("/proc/self/task");
	const struct dirent *entry;

	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.' || !is_worker(entry->d_name))
			continue;
		sum.threads++;
		count_switches(entry->d_name, &sum);
		sum.cpu_ns += cpu_ns_of(entry->d_name);
	}
	closedir(dir);
	return sum;
}

/* work_settle - return the work done once it does not grow any more: threads that park may
 * be on their way into the kernel, and wait for a CPU for any time */
static inline struct work_done work_settle(void)
{
	struct work_done before, after = work_done();

	do {
		before = after;
		nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
		after = work_done();
	} while (before.awake || after.awake ||
		 before.switches != after.switches);
	return after;
}

#endif
