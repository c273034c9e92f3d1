/* SPDX-License-Identifier: MIT */
/* report.c - measure every workload */
#include "bench/report/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/cli/args.h"
#include "bench/harness/cpu_contention.h"
#include "bench/harness/output.h"
#include "bench/report/steals.h"
#include "bench/workloads/workloads.h"

/* Return the default number of workers on this machine; 0 if no runtime can
 * start. */
static unsigned all_workers(void)
{
	const struct skua_config config = { .size = sizeof(config) };
	struct skua_runtime *rt;
	struct skua_error error;
	unsigned workers;

	if (skua_runtime_create(&rt, &config, &error) != 0) {
		fprintf(stderr, ARGS_PROGRAM " report: no runtime: %s\n",
			error.text);
		return 0;
	}
	workers = skua_runtime_workers(rt);
	skua_runtime_destroy(rt);
	return workers;
}

static void measure_one(struct report *report, const struct workload *workload,
			const void *options, unsigned workers)
{
	struct measurement *m = &report->results[report->count];
	bool quiet = calibrate_quiet(&report->calibration);
	struct cpu_contention before, after;
	char label[200];

	cpu_contention_read(&before);
	if (measure(workload, options, workers, report->rounds, NULL, m) != 0) {
		report->failed++;
		report->planned--;
		return;
	}
	cpu_contention_read(&after);
	m->noisy = !calibrate_quiet(&report->calibration) || !quiet ||
		   cpu_contention_percent(&before, &after) >
			   CPU_CONTENTION_MAX_PERCENT;
	report->count++;
	report->failed += !m->ok;
	fprintf(stderr, "[%zu/%zu] %s, %u worker%s: %.1f ns/op%s\n",
		report->count, report->planned,
		output_label(m->workload->name, m->params, label,
			     sizeof(label)),
		m->workers, m->workers == 1 ? "" : "s", m->median_ns,
		m->ok ? "" : ", WRONG RESULT");
}

typedef void visit_fn(struct report *report, const struct workload *workload,
		      const void *options, unsigned workers);

/* The numbers of workers with which a case is measured: 1 and all; 1, 2, 4,
 * ... and all; or all. */
enum counts { ONE_AND_ALL, DOUBLING, ALL };

/* Call @visit for a workload with these options, once for each number of workers that
 * @counts asks for. */
static void for_case(struct report *report, unsigned all, enum counts counts,
		     visit_fn *visit, const struct workload *workload,
		     const void *options)
{
	bool serial = workload->serial != NULL && workload->serial(options);
	unsigned most = serial ? 1 : all - workload->busy_caller;

	if (counts != ALL)
		visit(report, workload, options, 1);
	if (counts == DOUBLING)
		for (unsigned workers = 2; workers < most; workers *= 2)
			visit(report, workload, options, workers);
	if (most > 1)
		visit(report, workload, options, most);
}

/* Call @visit for each measurement that belongs in the report. */
static void for_each(struct report *report, unsigned all, enum counts counts,
		     visit_fn *visit)
{
	if (report->case_options != NULL) {
		for_case(report, all, counts, visit, report->only,
			 report->case_options);
		return;
	}
	for (unsigned i = 0; workloads[i] != NULL; i++) {
		const struct workload *workload = workloads[i];
		const char *options = workload->report;

		if (report->only != NULL && report->only != workload)
			continue;
		for (unsigned n = 0; n < workload->report_count;
		     n++, options += workload->options_size)
			for_case(report, all, counts, visit, workload, options);
	}
}

static void plan_one(struct report *report, const struct workload *workload,
		     const void *options, unsigned workers)
{
	(void)workload;
	(void)options;
	(void)workers;
	report->planned++;
}

static void compare_one(struct report *report, const struct workload *workload,
			const void *options, unsigned workers)
{
	if (report->err == 0)
		report->err = compare_case(report->comparison, workload,
					   options, workers);
}

/* Return whether to record the steals of a workload. A report of one workload does so with
 * all its options. A report of all workloads does so for the ones named here, with their
 * first options that use workers. */
static bool has_steals(const struct report *report,
		       const struct workload *workload)
{
	static const char *const names[] = { "parallel_map",
					     "spawn_many_worker", "imbalance",
					     "uts", "cilksort" };

	size_t last = json_array_size(report->steals);
	json_t *before =
		last > 0 ? json_array_get(report->steals, last - 1) : NULL;
	const char *name =
		json_string_value(json_object_get(before, "workload"));

	if (report->only != NULL)
		return true;
	if (name != NULL && strcmp(name, workload->name) == 0)
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], workload->name) == 0)
			return true;
	return false;
}

static void record_one(struct report *report, const struct workload *workload,
		       const void *options, unsigned workers)
{
	if (!has_steals(report, workload))
		return;
	fprintf(stderr, "%s, %u workers: recording steals\n", workload->name,
		workers);
	json_array_append_new(report->steals,
			      steals_record(workload, options, workers));
}

static int measure_all(struct report *report, unsigned all)
{
	for_each(report, all, DOUBLING, plan_one);
	report->results = calloc(report->planned, sizeof(*report->results));
	report->steals = json_array();
	if (report->results == NULL || report->steals == NULL)
		return -ENOMEM;
	calibrate_start(&report->calibration);
	for_each(report, all, DOUBLING, measure_one);
	for_each(report, all, ALL, record_one);
	return 0;
}

static int compare_all(struct report *report, unsigned all, const char *peers,
		       bool quick)
{
	int err = compare_open(report->comparison, peers, quick);

	if (err != 0)
		return err;
	for_each(report, all, ONE_AND_ALL, compare_one);
	if (report->err != 0)
		fputs(ARGS_PROGRAM " report: no memory\n", stderr);
	return report->err;
}

int report_measure(struct report *report, const char *peers, bool quick)
{
	unsigned all = all_workers();
	int err = all != 0 ? measure_all(report, all) : -EIO;

	if (err == 0 && report->comparison != NULL)
		err = compare_all(report, all, peers, quick);
	return err;
}

void report_free(struct report *report)
{
	for (size_t i = 0; i < report->count; i++)
		measurement_free(&report->results[i]);
	free(report->results);
	json_decref(report->steals);
	if (report->comparison != NULL)
		compare_close(report->comparison);
}
