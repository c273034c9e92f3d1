/* SPDX-License-Identifier: MIT */
/**
 * metrics.h - the parts of skua metrics: what processes say, for Prometheus
 */
#ifndef SKUA_BPF_METRICS_H
#define SKUA_BPF_METRICS_H

#include <stdio.h>

#include "bpf/cli/exits.h"
#include "bpf/target/target.h"

/* How OpenMetrics and the older text format differ: in the names of families,
 * and in the end. */
enum metrics_format { METRICS_OPENMETRICS, METRICS_PROMETHEUS };

/* Samples of the tasks of a name, in all workers. */
struct metrics_type {
	char name[TARGET_NAME];
	struct area_type seen; /* except type and poll */
};

/**
 * struct metrics_runtime - a runtime at some moment
 * @pid, @comm: of its process
 * @index: which of the process's it is
 * @area: copied; @version: of the library
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

/* @all: it is of all processes, and says so
 * @stamped: it says when it was made, for a reader that gets it later
 * @left_out: processes that cannot be shown, as they are not as they should be, or
 * cost more than they may: target_budget.h */
struct metrics_list {
	struct metrics_runtime *runtimes;
	unsigned count;
	size_t room;
	unsigned left_out;
	bool all, stamped;
};

/* metrics_write - all of them, as text */
void metrics_write(FILE *file, const struct metrics_list *list,
		   enum metrics_format format);

/* metrics_add - what the runtimes of a process say. Return: 0 or -errno, of
 * target.h: then the list is as before */
int metrics_add(struct metrics_list *list, struct target *target);

/* metrics_add_all - of each process that can be read; no process makes it fail. Says
 * on stderr which are left out. Return: 0 or -errno, of /proc */
int metrics_add_all(struct metrics_list *list);

void metrics_free(struct metrics_list *list);

/**
 * struct metrics_source - where the figures come from
 * @target: NULL: from all processes
 * @exits: told when the target is no more
 */
struct metrics_source {
	struct target *target;
	struct exits *exits;
	bool stamped; /* as that of struct metrics_list */
};

/* metrics_collect - a text to be freed. Return: 0 or -errno */
int metrics_collect(const struct metrics_source *source,
		    enum metrics_format format, char **text, size_t *size);

/**
 * metrics_serve - answer GET /metrics until @source->exits
 * @address: "127.0.0.1:9464", "[::1]:0", or "localhost:PORT"
 * @exposed: may other machines reach the address?
 *
 * Return: 0; -EINVAL (a bad address); -EPERM (other machines reach the address, and
 * @exposed is false); or another -errno. An error has been explained on stderr.
 */
int metrics_serve(const struct metrics_source *source, const char *address,
		  bool exposed);

#endif
