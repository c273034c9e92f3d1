/* SPDX-License-Identifier: MIT */
/* counts_view.h - what was counted, by worker: as text, and as JSON */
#ifndef SKUA_BPF_COUNTS_VIEW_H
#define SKUA_BPF_COUNTS_VIEW_H

#include <stdbool.h>
#include <stdio.h>

#include "bpf/trace/counts.h"

/**
 * struct counts_line - a worker, that is a thread
 * @key: of its thread in the tables
 * @ended: it has
 * @worker: NULL, as the others: nothing was counted of it
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

/* A worker, by its thread as gettid() has it here. */
struct counts_known {
	uint32_t thread, index;
};

/**
 * struct counts_view - counts, and the processes they are of
 * @attached: the counters, and why some are missing
 * @target: NULL: all processes that have the file @path
 * @whole: since the beginning
 * @known: workers that there were then, also if nothing was counted of them
 * @lines: of workers, by index
 * @ended, @ended_switches: the sums of those that ended before, and are in no line
 * @rest: the sum of all other threads of the process, which are @rest_count
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

/* counts_know - find the workers of its target. Return: 0; -errno, as of target.h */
int counts_know(struct counts_view *view);

/* counts_arrange - make the lines of @counts, which stay as long as those. Return: 0;
 * -ENOMEM */
int counts_arrange(struct counts_view *view, const struct counts *counts);

void counts_view_free(struct counts_view *view);

/* counts_sum - of all workers, or of those that have ended. Return: how many */
unsigned counts_sum(const struct counts_view *view, bool ended,
		    struct count_worker *worker,
		    struct count_switches *switches);

/* The histograms. */
enum counts_histogram {
	COUNTS_STEAL,
	COUNTS_PARKED,
	COUNTS_PREEMPTED,
	COUNTS_WAKE,
	COUNTS_HISTOGRAMS
};

extern const char *const counts_histogram_names[COUNTS_HISTOGRAMS];

/* counts_octaves - one of them, of all lines. Return: how many are in it */
uint64_t counts_octaves(const struct counts_view *view,
			enum counts_histogram which, uint64_t *octaves);

/* How it is shown. @rows, @width: 0: any */
struct counts_style {
	bool line_art;
	unsigned rows, width;
};

void counts_text(FILE *file, const struct counts_view *view,
		 const struct counts_style *style);

/* counts_json - a line. Return: false: no memory, and nothing is printed */
bool counts_json(FILE *file, const struct counts_view *view);

#endif
