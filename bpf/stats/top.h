/* SPDX-License-Identifier: MIT */
/**
 * top.h - the parts of skua top: what is seen of a runtime in an interval
 *
 * An interval begins and ends with a snapshot. In between the workers are looked
 * at, some hundred times a second: that tells which tasks they are busy with, and
 * shows a poll that does not end, of which no counter tells.
 */
#ifndef SKUA_BPF_TOP_H
#define SKUA_BPF_TOP_H

#include <stdio.h>

#include "bpf/stats/figures.h"
#include "bpf/stats/threads.h"
#include "bpf/target/target.h"

#define TOP_KINDS 128u

/* The activities of a worker. */
enum top_what {
	TOP_TASKS,   /* of a type or, without, with a poll function */
	TOP_SHORT,   /* tasks whose polls are too short to be told apart */
	TOP_OTHERS,  /* tasks for which there is no room in a table */
	TOP_JOBS,    /* of fork-join */
	TOP_BETWEEN, /* polls: the scheduler itself */
};

/**
 * struct top_kind - tasks that are shown as one
 * @type, @poll: of TOP_TASKS: the type is not 0, or else the function is not
 * @looks: how often a worker was seen to be busy with them; part of one where it
 *         was shared out
 * @workers: the same by worker
 * @rows: what the rows of their type say of the interval; longest times are those
 *        since the beginning
 * @longest_ns: the longest poll that was seen to be under way
 * @in_worker, @in_ns: which worker is in one poll of them for how long; in_ns is 0
 *         if none is
 */
struct top_kind {
	enum top_what what;
	uint64_t type, poll;
	double looks;
	uint32_t *workers;
	struct area_type rows;
	uint64_t longest_ns;
	unsigned in_worker;
	uint64_t in_ns;
	bool in_longer; /* it had begun before anybody looked */
};

/* The poll that a worker was last seen in. */
struct top_poll {
	uint64_t task, number;
	uint64_t first_ns, last_ns;
	uint64_t type, poll;
	bool known; /* those two are */
	bool begun; /* before the first look: for how long is not known */
};

/**
 * struct top_runtime - a runtime that is watched
 * @looks: rounds of looks at all workers
 * @busy_looks: of all looks, those at a busy worker
 */
struct top_runtime {
	uint64_t address, started_ns;
	bool seen; /* it was there at the last refresh */
	struct target_snapshot before, after;
	struct top_poll *polls;
	struct thread_usage *threads;
	unsigned worker_count;
	uint64_t looks, busy_looks;
	struct top_kind kinds[TOP_KINDS];
	unsigned kind_count;
};

/* The activity of a worker in an interval; rates are by second. */
struct top_rates {
	double seconds;
	double busy;   /* part of the time, 0 to 1 */
	double on_cpu; /* likewise: it had a CPU; below 0: not known */
	double polls, spawns, steals, parks;
	double lifo; /* part of the polls; below 0: there were none */
};

/* Those of worker @index, or of all. */
struct top_rates top_rates(const struct top_runtime *runtime, unsigned index);
struct top_rates top_rates_all(const struct top_runtime *runtime);

/* top_begin - a new interval: after is before now, and nothing was seen */
void top_begin(struct top_runtime *runtime);

/* top_look - see what its workers do. Return: as target_look() */
int top_look(struct target *target, const struct target_runtime *at,
	     struct top_runtime *runtime);

/* top_end - when after was taken: make the kinds what they are, the busiest first */
void top_end(struct top_runtime *runtime);

/* top_kind_name - to @name, TARGET_NAME bytes */
void top_kind_name(struct target *target, const struct top_kind *kind,
		   char *name);

/* top_share - the part of the busy time of all workers, 0 to 1 */
double top_share(const struct top_runtime *runtime,
		 const struct top_kind *kind);

/* top_busiest - which worker is most busy with that kind, and for which part of
 * the interval */
unsigned top_busiest(const struct top_runtime *runtime,
		     const struct top_kind *kind, double *part);

/* top_over - about how many polls of the interval took longer than the limit of
 * the runtime; 0 without a limit */
uint64_t top_over(const struct target_runtime *at,
		  const struct top_runtime *runtime);

/* top_kind_polls - by second; below 0: it is not told */
double top_kind_polls(const struct top_runtime *runtime,
		      const struct top_kind *kind);

void top_free(struct top_runtime *runtime);

/* How an interval is shown. @rows: of workers, and of kinds, at most. */
struct top_style {
	bool line_art;
	bool bold;
	unsigned rows;
	unsigned width; /* 0: any */
};

void top_text(FILE *file, struct target *target,
	      const struct target_runtime *at,
	      const struct top_runtime *runtime, const struct top_style *style);

/* top_csv_titles - the first line; top_csv - the line of an interval */
void top_csv_titles(FILE *file);
void top_csv(FILE *file, struct target *target, const struct target_runtime *at,
	     const struct top_runtime *runtime);

/* top_json - a line. Return: false: no memory, and nothing is printed */
bool top_json(FILE *file, struct target *target,
	      const struct target_runtime *at,
	      const struct top_runtime *runtime);

#endif
