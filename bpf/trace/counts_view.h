/* SPDX-License-Identifier: MIT */
/* counts_view.h - show counts by worker, as text and as JSON */
#ifndef SKUA_BPF_COUNTS_VIEW_H
#define SKUA_BPF_COUNTS_VIEW_H

#include <stdbool.h>
#include <stdio.h>

#include "bpf/trace/counts.h"

/**
 * struct counts_line - a worker, which is a thread
 * @process, @thread, @index: numbers of its process, its thread, and itself
 * @key: its thread's key in the tables
 * @ended: its thread has ended
 * @worker, @times, @switches, @delays: its counts; NULL: it has none
 */
struct counts_line {
	uint32_t process, thread, index;
	uint32_t key;
	bool ended;
	const struct count_worker *worker;
	const struct count_times *times;
	const struct count_switches *switches;
	const struct count_delays *delays;
};

/* A worker and its thread, as numbered in this process's namespace. */
struct counts_known {
	uint32_t thread, index;
};

/**
 * struct counts_view - counts, and the processes they belong to
 * @attached: the counters, and why some are missing
 * @target: the process; NULL: all processes that map the file @path
 * @whole: the counts are of the whole time, not of an interval
 * @known: workers that existed at the start, even if they have no counts
 * @lines: workers, sorted by process and index
 * @ended, @ended_switches: sums of workers that ended earlier and have no line
 * @rest: sum of the @rest_count threads of the process that are no workers
 */
struct counts_view {
	const struct attachment *attached;
	struct target *target;
	const char *path;
	const struct counts *counts;
	bool whole;
	struct counts_known *known;
	unsigned known_count;
	struct counts_line *lines;
	unsigned line_count;
	struct count_worker ended;
	struct count_switches ended_switches;
	struct count_switches rest;
	unsigned rest_count;
};

/* counts_know - find the workers of the target. Return: 0; -errno, as in
 * target.h */
int counts_know(struct counts_view *view);

/* counts_arrange - make the lines from @counts, which must stay valid as long
 * as the lines. Return: 0; -ENOMEM */
int counts_arrange(struct counts_view *view, const struct counts *counts);

void counts_view_free(struct counts_view *view);

/* counts_sum - sum up all workers, or only the ended ones. Return: how many
 * they are */
unsigned counts_sum(const struct counts_view *view, bool ended,
		    struct count_worker *worker,
		    struct count_switches *switches);

/* The histograms of a view. */
enum counts_histogram {
	COUNTS_STEAL,
	COUNTS_PARKED,
	COUNTS_PREEMPTED,
	COUNTS_WAKE,
	COUNTS_HISTOGRAMS
};

extern const char *const counts_histogram_names[COUNTS_HISTOGRAMS];

/* counts_octaves - sum up a histogram over all lines and ended workers. Return:
 * the number of values in it */
uint64_t counts_octaves(const struct counts_view *view,
			enum counts_histogram which, uint64_t *octaves);

/* How to show counts. @rows, @width: 0: no limit. */
struct counts_style {
	bool line_art;
	unsigned rows, width;
};

void counts_text(FILE *file, const struct counts_view *view,
		 const struct counts_style *style);

/* counts_json - print one line of JSON. Return: false if memory is short;
 * nothing is printed then */
bool counts_json(FILE *file, const struct counts_view *view);

#endif
