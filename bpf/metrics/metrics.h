/* SPDX-License-Identifier: MIT */
/**
 * metrics.h - the parts of skua metrics: figures of processes for Prometheus
 */
#ifndef SKUA_BPF_METRICS_H
#define SKUA_BPF_METRICS_H

#include <stdio.h>

#include "bpf/cli/exits.h"
#include "bpf/target/target.h"

/* The two formats differ in the names of metric families and in the last
 * line. */
enum metrics_format { METRICS_OPENMETRICS, METRICS_PROMETHEUS };

/* Samples of all tasks of one type name, summed over the workers. */
struct metrics_type {
	char name[TARGET_NAME];
	struct area_type seen; /* type and poll are unused */
};

/**
 * struct metrics_runtime - a runtime at one moment
 * @pid, @comm: the process
 * @index: number of the runtime in its process, from 0
 * @version: of the library
 * @area: copy of the runtime's debug area
 * @snapshot: owned
 * @types, @type_count: owned
 */
struct metrics_runtime {
	pid_t pid;
	char comm[TARGET_NAME];
	unsigned index;
	char version[16];
	struct area_runtime area;
	struct target_snapshot snapshot;
	struct metrics_type *types;
	unsigned type_count;
};

/* struct metrics_list - the runtimes to write
 * @all: the list covers all processes; write the number of those left out
 * @stamped: write the time of the figures, for a reader that gets them later
 * @left_out: processes that cannot be shown, because their data is inconsistent
 *     or costs more to read than target_budget.h allows */
struct metrics_list {
	struct metrics_runtime *runtimes;
	unsigned count;
	size_t room;
	unsigned left_out;
	bool all, stamped;
};

/* metrics_write - write all runtimes as text */
void metrics_write(FILE *file, const struct metrics_list *list,
		   enum metrics_format format);

/* metrics_add - add the runtimes of a process. Return: 0 or -errno as in
 * target.h; the list is unchanged then */
int metrics_add(struct metrics_list *list, struct target *target);

/* metrics_add_all - add the runtimes of each process that can be read. A
 * process that fails is left out; stderr receives its number and the reason.
 * Return: 0, or -errno if /proc cannot be read */
int metrics_add_all(struct metrics_list *list);

void metrics_free(struct metrics_list *list);

/**
 * struct metrics_source - where the figures come from
 * @target: process to read; NULL: all processes
 * @exits: metrics_collect() marks @target as gone here; this also ends
 *     metrics_serve()
 * @stamped: as in struct metrics_list
 */
struct metrics_source {
	struct target *target;
	struct exits *exits;
	bool stamped;
};

/* metrics_collect - read the source and format it. Return: 0 or -errno. The
 * caller frees @text in either case; it may be NULL after an error */
int metrics_collect(const struct metrics_source *source,
		    enum metrics_format format, char **text, size_t *size);

/**
 * metrics_serve - answer GET /metrics until @source->exits ends the program
 * @address: "127.0.0.1:9464", "[::1]:0", or "localhost:PORT"
 * @exposed: allow an address that other machines can reach
 *
 * Return: 0; -EINVAL (bad address); -EPERM (other machines can reach the
 * address, and @exposed is false); or another -errno. Each error has been
 * explained on stderr.
 */
int metrics_serve(const struct metrics_source *source, const char *address,
		  bool exposed);

#endif
