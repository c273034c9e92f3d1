/* SPDX-License-Identifier: MIT */
/* process.h - what the process has: threads and descriptors */
#ifndef SKUA_TESTS_UNIT_PROCESS_H
#define SKUA_TESTS_UNIT_PROCESS_H

#include <dirent.h>

#include "tests/unit/support.h"

static inline unsigned count_entries(const char *path)
{
	DIR *dir = opendir(path);
	unsigned count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* A thread that was joined may be listed for a moment longer. */
static inline void wait_for_threads(unsigned count)
{
	while (count_entries("/proc/self/task") > count)
		sched_yield();
}

struct belongings {
	unsigned threads;
	unsigned files;
};

static inline struct belongings belongings(void)
{
	return (struct belongings){ count_entries("/proc/self/task"),
				    count_entries("/proc/self/fd") };
}

static inline void expect_belongings(struct belongings before)
{
	wait_for_threads(before.threads);
	assert_int_equal(count_entries("/proc/self/fd"), before.files);
}

/* end - destroy; returns when all that the runtime had is gone */
static inline void end(struct skua_runtime *rt, struct belongings before)
{
	assert_int_equal(skua_runtime_destroy(rt), 0);
	expect_belongings(before);
}

/* process_settle - group setup: a sanitizer's own thread starts with the first
 * one, and the C library keeps the stacks; both before anything is counted */
static inline int process_settle(void **state)
{
	struct skua_runtime *rt = runtime_new(3, 0);
	unsigned threads = count_entries("/proc/self/task") - 3;
	int code = skua_runtime_destroy(rt);

	(void)state;
	wait_for_threads(threads);
	return code;
}

#endif
