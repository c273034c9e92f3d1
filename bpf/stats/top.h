/* SPDX-License-Identifier: MIT */
/**
 * top.h - the parts of skua top: observe a runtime for an interval
 *
 * An interval begins and ends with a snapshot. In between, all workers are
 * scanned some hundred times per second. The scans show which tasks the workers
 * are busy with, and reveal a poll that does not end, which no counter shows.
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
	TOP_TASKS,   /* tasks of one type, or one poll function */
	TOP_SHORT,   /* tasks whose polls are too short to identify */
	TOP_OTHERS,  /* tasks for which the table had no room */
	TOP_JOBS,    /* fork-join jobs */
	TOP_BETWEEN, /* between polls: the scheduler itself */
};

/**
 * struct top_kind - tasks that are shown as one line
 * @what: kind of activity
 * @type, @poll: for TOP_TASKS: the type, or if that is 0 the poll function
 * @looks: how many scans found a worker busy with them; fractions come from
 *     TOP_SHORT
 * @workers: such scans by worker, without fractions
 * @rows: sums of the type's rows for the interval, except the longest times,
 *     which are those since the start of the runtime
 * @longest_ns: the longest poll that scans found under way
 * @in_worker, @in_ns: the worker that has been in one poll of them, and for how
 *     long; in_ns is 0 if there is none
 * @in_longer: that poll began before the first scan; it has taken longer than
 *     @in_ns
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
	bool in_longer;
};

/* struct top_poll - the poll that a worker was last seen in
 * @task: 0: none
 * @number: tasks polled up to then, which identifies the poll
 * @first_ns, @last_ns: times of the first and last scan that saw it
 * @type, @poll: of the task, if @known; @label: as in struct target_now
 * @known: @type and @poll could be read
 * @begun: it began before the first scan, so its length is not known */
struct top_poll {
	uint64_t task, number;
	uint64_t first_ns, last_ns;
	uint64_t type, poll, label;
	bool known;
	bool begun;
};

/**
 * struct top_runtime - a runtime that is watched
 * @before, @after: snapshots of the interval's start and end
 * @polls, @threads: for each worker
 * @looks: scans of all workers in the interval
 * @busy_looks: how often one of these scans found a worker busy
 */
struct top_runtime {
	uint64_t address, started_ns;
	struct target_snapshot before, after;
	struct top_poll *polls;
	struct thread_usage *threads;
	unsigned worker_count;
	uint64_t looks, busy_looks;
	struct top_kind kinds[TOP_KINDS];
	unsigned kind_count;
};

/**
 * struct top_process - a process that is watched
 * @target: borrowed
 * @runtimes, @count: as of the last top_process_match()
 * @gone: it has ended, or cannot be read any more
 */
struct top_process {
	struct target *target;
	struct top_runtime *runtimes;
	unsigned count;
	size_t room;
	bool gone;
};

/* top_process_match - make the list match the process's runtimes. The first interval of
 * a new runtime begins now. Return: 0, or -errno as in target.h */
int top_process_match(struct top_process *process);

/* top_process_begin - begin an interval; top_process_look - scan all workers once. Return:
 * as top_process_match() */
void top_process_begin(struct top_process *process);
int top_process_look(struct top_process *process);

/* top_process_end - end the interval. Return: also -EAGAIN (runtimes came or went at its
 * end: those that are not whole have nothing to show) */
int top_process_end(struct top_process *process);

/* top_process_whole - return the runtime in target.h of a runtime that has both snapshots
 * of the interval, or NULL. A new runtime is shown from the next interval on */
const struct target_runtime *
top_process_whole(const struct top_process *process, unsigned index);
void top_process_free(struct top_process *process);

/* A worker's activity in an interval; rates are per second. */
struct top_rates {
	double seconds;
	double busy;   /* share of the time, 0 to 1 */
	double on_cpu; /* share of the time with a CPU; < 0: not known */
	double polls, spawns, steals, parks;
	double lifo; /* share of the polls; below 0: no polls */
};

/* top_rates - return the rates of worker @index; top_rates_all - of all workers
 * together */
struct top_rates top_rates(const struct top_runtime *runtime, unsigned index);
struct top_rates top_rates_all(const struct top_runtime *runtime);

/* top_begin - begin an interval: the snapshot `after` becomes `before`, and the
 * scans of the last interval are discarded */
void top_begin(struct top_runtime *runtime);

/* top_look - scan all workers once. Return: as target_look() */
int top_look(struct target *target, const struct target_runtime *at,
	     struct top_runtime *runtime);

/* top_end - end an interval, once `after` has been taken: complete the kinds
 * and sort them, the busiest first */
void top_end(struct top_runtime *runtime);

/* top_kind_name - write the name of the kind to @name, TARGET_NAME bytes */
void top_kind_name(struct target *target, const struct top_kind *kind,
		   char *name);

/* top_poll_name - write the name and the label of the poll, which is known: "serve (get)". @text:
 * TOP_POLL_NAME bytes */
#define TOP_POLL_NAME (2 * TARGET_NAME + 4)
void top_poll_name(struct target *target, const struct top_poll *poll,
		   char *text);

/* top_share - return the kind's share of the busy time of all workers, 0 to
 * 1 */
double top_share(const struct top_runtime *runtime,
		 const struct top_kind *kind);

/* top_busiest - return the worker that spent most time on the kind; @part
 * receives the share of the interval that this took */
unsigned top_busiest(const struct top_runtime *runtime,
		     const struct top_kind *kind, double *part);

/* top_over - return about how many polls of the interval exceeded the stall
 * limit of the runtime; 0 without a limit */
uint64_t top_over(const struct target_runtime *at,
		  const struct top_runtime *runtime);

/* top_kind_polls - return the polls per second; below 0: not known */
double top_kind_polls(const struct top_runtime *runtime,
		      const struct top_kind *kind);

void top_free(struct top_runtime *runtime);

/* How to show an interval. @rows: limit for workers, and for kinds. */
struct top_style {
	bool line_art;
	bool bold;
	unsigned rows;
	unsigned width; /* columns; 0: no limit */
};

void top_text(FILE *file, struct target *target,
	      const struct target_runtime *at,
	      const struct top_runtime *runtime, const struct top_style *style);

/* top_ranks - print a table of several processes, with a row for each and a row for all
 * together. @style: its rows are the limit for processes */
void top_ranks(FILE *file, const struct top_process *processes, size_t count,
	       const struct top_style *style);

/* top_csv_titles - print the line of titles; top_csv - print an interval as a
 * line */
void top_csv_titles(FILE *file);
void top_csv(FILE *file, struct target *target, const struct target_runtime *at,
	     const struct top_runtime *runtime);

/* top_json - print one line of JSON. Return: false if memory is short; nothing
 * is printed then */
bool top_json(FILE *file, struct target *target,
	      const struct target_runtime *at,
	      const struct top_runtime *runtime);

#endif
