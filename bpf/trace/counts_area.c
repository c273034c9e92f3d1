/* SPDX-License-Identifier: MIT */
/* counts_area.c - take counts from the debug area and /proc, in place of the
 * programs */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/trace/counts.h"
#include "bpf/stats/figures.h"
#include "bpf/target/target_proc.h"

/* ---- the debug area -------------------------------------------------------- */

static void fill_octaves(const struct probes_histogram *from, __u64 *to)
{
	for (unsigned i = 0; i < PROBES_BUCKETS; i++) {
		uint64_t ns = probes_bucket_ns(i);
		unsigned log = ns ? 63u - (unsigned)__builtin_clzll(ns) : 0;

		to[log < COUNT_OCTAVES ? log : COUNT_OCTAVES - 1] +=
			from->count[i];
	}
}

static int add_worker(struct target *target, struct counts *out,
		      const struct target_worker *from, unsigned index,
		      uint64_t at_ns)
{
	const struct area_counters *counters = &from->area.counters;
	struct area_times sums = figure_times(&from->area.times, at_ns);
	struct count_times times = { .steal = { 0 } };
	struct count_worker worker = {
		.process = (uint32_t)target_pid(target),
		.thread = (uint32_t)target_thread(target,
						  (uint32_t)from->area.tid),
		.worker = index,
		.steals = counters->steals,
		.tasks_stolen = counters->tasks_stolen,
		.steal_ns = from->samples.steal.sum_ns,
		.searches_failed = counters->searches_failed,
		.parks = counters->times_parked,
		.unparks = figure_total(&from->samples.park),
		.parked_ns = sums.park_ns,
		.lifo_hits = counters->lifo_hits,
		.lifo_polls = counters->tasks_polled,
		.overflows = counters->overflows + counters->overflows_single,
	};
	int err = counts_add(out, COUNTS_WORKERS, &worker.thread, &worker);

	fill_octaves(&from->samples.steal, times.steal);
	fill_octaves(&from->samples.park, times.parked);
	return err ? err
		   : counts_add(out, COUNTS_TIMES, &worker.thread, &times);
}

int counts_area(struct target *target, struct counts *out)
{
	struct target_snapshot snapshot = { .at_ns = 0 };
	int err = target_refresh(target);

	for (unsigned i = 0; !err && i < target_runtimes(target); i++) {
		err = target_take_snapshot(target, target_runtime(target, i),
					   &snapshot);
		for (unsigned k = 0; !err && k < snapshot.worker_count; k++)
			if (snapshot.workers[k].area.tid != 0)
				err = add_worker(target, out,
						 &snapshot.workers[k], k,
						 snapshot.at_ns);
		if (err == -EAGAIN) /* it is gone: go on with the others */
			err = 0;
	}
	target_free_snapshot(&snapshot);
	counts_sort(out, COUNTS_WORKERS);
	counts_sort(out, COUNTS_TIMES);
	return err;
}

/* ---- /proc ----------------------------------------------------------------- */

static uint64_t number_behind(const char *text, const char *label)
{
	const char *at = text ? strstr(text, label) : NULL;

	return at ? strtoull(at + strlen(label), NULL, 10) : 0;
}

static int add_thread(struct target *target, struct counts *out,
		      const char *thread)
{
	struct count_switches switches = {
		.process = (uint32_t)target_pid(target),
		.thread = (uint32_t)atoi(thread),
	};
	char path[300], *status, *delays;
	int err = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%s/status",
		 target_pid(target), thread);
	status = target_proc_read(-1, path);
	snprintf(path, sizeof(path), "/proc/%d/task/%s/schedstat",
		 target_pid(target), thread);
	delays = target_proc_read(-1, path);
	switches.voluntary =
		number_behind(status, "\nvoluntary_ctxt_switches:");
	switches.involuntary =
		number_behind(status, "\nnonvoluntary_ctxt_switches:");
	if (delays) /* the second number */
		switches.wake_ns = number_behind(delays, " ");
	if (status)
		err = counts_add(out, COUNTS_SWITCHES, &switches.thread,
				 &switches);
	free(status);
	free(delays);
	return err;
}

int counts_proc(struct target *target, struct counts *out)
{
	struct dirent *entry;
	char path[40];
	DIR *threads;
	int err = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", target_pid(target));
	threads = opendir(path);
	while (threads && !err && (entry = readdir(threads)) != NULL)
		if (entry->d_name[0] != '.')
			err = add_thread(target, out, entry->d_name);
	if (threads)
		closedir(threads);
	counts_sort(out, COUNTS_SWITCHES);
	return err;
}
