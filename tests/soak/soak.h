/* SPDX-License-Identifier: MIT */
/**
 * soak.h - the belongings of a process, which must not grow
 *
 * A soak program makes rounds. After each, nothing is running, and it counts bytes of heap
 * in use, resident memory, threads, descriptors and mappings. The largest count of each in
 * the last quarter of the time may exceed the largest of the quarter before by the
 * tolerances below: for threads and descriptors that is nothing. One block of 32 bytes in
 * 10,000 tasks is seen within minutes. SKUA_SOAK_SECONDS is how long the program runs; the
 * default is 600.
 */
#ifndef SKUA_TESTS_SOAK_SOAK_H
#define SKUA_TESTS_SOAK_SOAK_H

#include <dirent.h>
#include <malloc.h>
#include <sched.h>
#include <unistd.h>

#include "tests/stress/stress.h"

#define SOAK_DEFAULT_SECONDS 600u
#define SOAK_QUARTERS        4u
#define SOAK_NS_PER_S        UINT64_C(1000000000)

/* Four chunks of the slab, of which workers keep some blocks each; and what
 * malloc() keeps by thread. */
#define SOAK_HEAP_TOLERANCE_BYTES (UINT64_C(32) << 10)
/* Stacks and arenas, as they come and go. */
#define SOAK_RSS_TOLERANCE_BYTES (UINT64_C(2) << 20)
#define SOAK_MAPPINGS_TOLERANCE  UINT64_C(32)

enum soak_kind {
	SOAK_HEAP,
	SOAK_RSS,
	SOAK_THREADS,
	SOAK_FILES,
	SOAK_MAPPINGS,
	SOAK_KINDS
};

static const char *const soak_kind_names[] = { "bytes of heap",
					       "resident bytes", "threads",
					       "descriptors", "mappings" };
static const uint64_t soak_tolerances[] = { SOAK_HEAP_TOLERANCE_BYTES,
					    SOAK_RSS_TOLERANCE_BYTES, 0, 0,
					    SOAK_MAPPINGS_TOLERANCE };

/* soak_entries - count the entries of a folder */
static inline uint64_t soak_entries(const char *path)
{
	DIR *dir = opendir(path);
	uint64_t count = 0;

	if (!dir)
		stress_fail("cannot read %s", path);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* soak_threads - count the threads. A thread that was joined may be listed for a moment
 * longer. */
static inline uint64_t soak_threads(uint64_t expected)
{
	uint64_t count = soak_entries("/proc/self/task");

	for (unsigned i = 0; i < 10000 && count > expected; i++) {
		sched_yield();
		count = soak_entries("/proc/self/task");
	}
	return count;
}

static inline uint64_t soak_resident_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	uint64_t pages = 0;

	if (!file || fscanf(file, "%*u %" SCNu64, &pages) != 1)
		stress_fail("cannot read /proc/self/statm");
	fclose(file);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static inline uint64_t soak_mappings(void)
{
	FILE *file = fopen("/proc/self/maps", "r");
	uint64_t count = 0;
	int c;

	if (!file)
		stress_fail("cannot read /proc/self/maps");
	while ((c = fgetc(file)) != EOF)
		count += c == '\n';
	fclose(file);
	return count;
}

/* The largest of each quarter of the time. */
static uint64_t soak_largest[SOAK_QUARTERS][SOAK_KINDS];

/* soak_sample - count all kinds for a quarter of the time, while nothing is running */
static inline void soak_sample(uint64_t quarter, uint64_t threads_expected)
{
	struct mallinfo2 heap = mallinfo2();
	const uint64_t now[SOAK_KINDS] = { heap.uordblks + heap.hblkhd,
					   soak_resident_bytes(),
					   soak_threads(threads_expected),
					   soak_entries("/proc/self/fd"),
					   soak_mappings() };

	for (unsigned i = 0; i < SOAK_KINDS; i++)
		if (now[i] > soak_largest[quarter][i])
			soak_largest[quarter][i] = now[i];
}

/* soak_check_growth - end the program if anything has grown */
static inline void soak_check_growth(void)
{
	const uint64_t *before = soak_largest[SOAK_QUARTERS - 2];
	const uint64_t *last = soak_largest[SOAK_QUARTERS - 1];

	for (unsigned i = 0; i < SOAK_KINDS; i++) {
		if (before[i] == 0 || last[i] == 0)
			stress_fail("too short: a quarter has no sample");
		if (last[i] > before[i] + soak_tolerances[i])
			stress_fail("%s: %" PRIu64 ", and %" PRIu64
				    " a quarter of the time later; %" PRIu64
				    " more are allowed",
				    soak_kind_names[i], before[i], last[i],
				    soak_tolerances[i]);
	}
}

/* soak_ns - the time for which the program runs */
static inline uint64_t soak_ns(void)
{
	const char *text = getenv("SKUA_SOAK_SECONDS");
	char *end;
	unsigned long seconds;

	if (!text || !*text)
		return SOAK_DEFAULT_SECONDS * SOAK_NS_PER_S;
	seconds = strtoul(text, &end, 10);
	if (*end || seconds < 4 || seconds > 1000000)
		stress_fail("SKUA_SOAK_SECONDS: \"%s\", allowed is 4 to "
			    "1000000",
			    text);
	return seconds * SOAK_NS_PER_S;
}

#endif
