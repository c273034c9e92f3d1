/* SPDX-License-Identifier: MIT */
/* perf_proc.c - see perf_proc.h */
#include "probes/perf_proc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Room for a file of /proc/PID/task/TID; `sched` is the longest. */
#define ROOM 8192

/* Fields of `stat`, counted from the field with the state, which is 0. */
enum {
	STAT_MINOR_FAULTS = 7,
	STAT_MAJOR_FAULTS = 9,
	STAT_USER = 11,
	STAT_SYSTEM
};

bool perf_proc_has(const struct perf_event_attr *attr)
{
	if (attr->type != PERF_TYPE_SOFTWARE)
		return false;
	switch (attr->config) {
	case PERF_COUNT_SW_TASK_CLOCK:
	case PERF_COUNT_SW_CONTEXT_SWITCHES:
	case PERF_COUNT_SW_CPU_MIGRATIONS:
	case PERF_COUNT_SW_PAGE_FAULTS:
	case PERF_COUNT_SW_PAGE_FAULTS_MIN:
	case PERF_COUNT_SW_PAGE_FAULTS_MAJ:
		return true;
	default:
		return false;
	}
}

/* read_file - read a file of a thread; /proc/TID itself exists for each thread, but
 * describes its process */
static int read_file(pid_t tid, const char *name, char text[ROOM])
{
	char path[80];
	size_t length;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", tid, tid, name);
	file = fopen(path, "re");
	if (file == NULL) {
		snprintf(path, sizeof(path), "/proc/%d", tid);
		return errno != ENOENT      ? -errno
		       : access(path, F_OK) ? -ESRCH
					    : -ENOENT;
	}
	length = fread(text, 1, ROOM - 1, file);
	text[length] = '\0';
	fclose(file);
	return length > 0 ? 0 : -ESRCH; /* the thread has ended meanwhile */
}

/* read_stat - read field @index after the program's name, which may have any character */
static int read_stat(pid_t tid, unsigned index, uint64_t *out)
{
	char text[ROOM], *at;
	int err = read_file(tid, "stat", text);

	if (err != 0)
		return err;
	at = strrchr(text, ')');
	for (unsigned i = 0; at != NULL && i <= index; i++)
		at = strchr(at + 1, ' ');
	if (at == NULL)
		return -ENOENT;
	*out = strtoull(at, NULL, 10);
	return 0;
}

/* read_stats - add up two fields of `stat` */
static int read_stats(pid_t tid, unsigned a, unsigned b, uint64_t *out)
{
	uint64_t first, second;
	int err = read_stat(tid, a, &first);

	if (err == 0)
		err = read_stat(tid, b, &second);
	if (err == 0)
		*out = first + second;
	return err;
}

/* add_line - add the number after the colon in the line that begins with @key */
static int add_line(const char *text, const char *key, uint64_t *out)
{
	size_t length = strlen(key);

	for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, length) != 0)
			continue;
		line = strchr(line, ':');
		if (line == NULL)
			return -ENOENT;
		*out += strtoull(line + 1, NULL, 10);
		return 0;
	}
	return -ENOENT;
}

static int read_switches(pid_t tid, uint64_t *out)
{
	char text[ROOM];
	int err = read_file(tid, "status", text);

	*out = 0;
	if (err == 0)
		err = add_line(text, "voluntary_ctxt_switches", out);
	if (err == 0)
		err = add_line(text, "nonvoluntary_ctxt_switches", out);
	return err;
}

static int read_migrations(pid_t tid, uint64_t *out)
{
	char text[ROOM];
	int err = read_file(tid, "sched", text);

	*out = 0;
	return err != 0 ? err : add_line(text, "se.nr_migrations", out);
}

/* read_clock - read CPU time in nanoseconds; if the kernel does not tell it, rounded to
 * clock ticks */
static int read_clock(pid_t tid, uint64_t *out)
{
	char text[ROOM];
	int err = read_file(tid, "schedstat", text);

	if (err == 0) {
		*out = strtoull(text, NULL, 10);
		return 0;
	}
	err = read_stats(tid, STAT_USER, STAT_SYSTEM, out);
	*out *= UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK);
	return err;
}

int perf_proc_read(pid_t tid, uint64_t config, uint64_t *out)
{
	*out = 0;
	switch (config) {
	case PERF_COUNT_SW_TASK_CLOCK:
		return read_clock(tid, out);
	case PERF_COUNT_SW_CONTEXT_SWITCHES:
		return read_switches(tid, out);
	case PERF_COUNT_SW_CPU_MIGRATIONS:
		return read_migrations(tid, out);
	case PERF_COUNT_SW_PAGE_FAULTS:
		return read_stats(tid, STAT_MINOR_FAULTS, STAT_MAJOR_FAULTS,
				  out);
	case PERF_COUNT_SW_PAGE_FAULTS_MIN:
		return read_stat(tid, STAT_MINOR_FAULTS, out);
	case PERF_COUNT_SW_PAGE_FAULTS_MAJ:
		return read_stat(tid, STAT_MAJOR_FAULTS, out);
	default:
		return -ENOENT;
	}
}
