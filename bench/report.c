/* SPDX-License-Identifier: MIT */
/* report.c - measure every workload, and write it down */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/cli/args.h"
#include "bench/others.h"
#include "bench/output.h"
#include "bench/report.h"
#include "bench/steals.h"
#include "bench/verbs.h"

#define ROUNDS       9
#define ROUNDS_QUICK 3

struct report_options {
	const char *out;             /* folder, or NULL */
	const struct workload *only; /* NULL: all */
	void *case_options;          /* of it; NULL: those of any report */
	const char *peers;           /* folder, or NULL: the usual one */
	bool no_peers;
	bool quick;
};

/* ---- measuring ----------------------------------------------------------- */

/* How many workers the library chooses here; 0 if it cannot start. */
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
	struct others before, after;
	char label[200];

	others_look(&before);
	if (measure(workload, options, workers, report->rounds, NULL, m) != 0) {
		report->failed++;
		report->planned--;
		return;
	}
	others_look(&after);
	m->noisy = !calibrate_quiet(&report->calibration) || !quiet ||
		   others_percent(&before, &after) > OTHERS_PERCENT;
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

/* What a visit is for. */
enum counts { ONE_AND_ALL, DOUBLING, ALL };

/* A workload with these options, on one worker and on all, or on 2, 4 ... as well;
 * or on all alone. */
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

/* A report of all workloads has the steals of these, with the first options that
 * are for workers. */
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
	fprintf(stderr, "%s, %u workers: who steals from whom\n",
		workload->name, workers);
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

static int compare_all(struct report *report, unsigned all,
		       const struct report_options *options)
{
	int err = compare_open(report->comparison, options->peers,
			       options->quick);

	if (err != 0)
		return err;
	for_each(report, all, ONE_AND_ALL, compare_one);
	if (report->err != 0)
		fputs(ARGS_PROGRAM " report: no memory\n", stderr);
	return report->err;
}

/* ---- the verb ------------------------------------------------------------ */

enum {
	OPTION_OUT = 0x100,
	OPTION_QUICK,
	OPTION_PEERS,
	OPTION_NO_PEERS,
	OPTION_WORKLOAD
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct report_options *options = state->input;

	switch (key) {
	case OPTION_OUT:
		/* Now, and not after minutes of measuring. */
		if (mkdir(arg, 0777) != 0 && errno != EEXIST)
			return args_refuse("--out: no folder '%s': %s", arg,
					   strerror(errno));
		options->out = arg;
		return 0;
	case OPTION_QUICK:
		options->quick = true;
		return 0;
	case OPTION_WORKLOAD:
		if (options->only != NULL)
			return args_refuse("--workload: one only; it was '%s' "
					   "before",
					   options->only->name);
		options->only = workload_find(arg);
		if (options->only == NULL)
			return args_refuse("--workload: no workload '%s'; "
					   "allowed: see " ARGS_PROGRAM " list",
					   arg);
		return 0;
	case OPTION_PEERS:
		if (access(arg, R_OK | X_OK) != 0)
			return args_refuse("--peers: no folder '%s': %s", arg,
					   strerror(errno));
		options->peers = arg;
		return 0;
	case OPTION_NO_PEERS:
		options->no_peers = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option argp_options[] = {
	{ .name = "out",
	  .key = OPTION_OUT,
	  .arg = "DIR",
	  .doc = "Write report.html, report.md and report.json there as "
		 "well" },
	{ .name = "quick",
	  .key = OPTION_QUICK,
	  .doc = "3 rounds each instead of 9, and less time for peers" },
	{ .name = "workload",
	  .key = OPTION_WORKLOAD,
	  .arg = "NAME",
	  .doc = "Measure this one only; behind --, with these options of it" },
	{ .name = "peers",
	  .key = OPTION_PEERS,
	  .arg = "DIR",
	  .doc = "Folder of the other schedulers' programs (default: peers, "
		 "beside this program)" },
	{ .name = "no-peers",
	  .key = OPTION_NO_PEERS,
	  .doc = "Measure skua alone" },
	{ 0 },
};

static const struct argp argp = {
	.options = argp_options,
	.parser = parse,
	.args_doc = "[-- WORKLOAD-OPTION...]",
	.doc = "Measure every workload, on one worker and on all, and compare "
	       "with the other schedulers that are built\v"
	       "Without peers it takes about three minutes, with --quick 70 "
	       "seconds; with all five peers (mostly uts, and rpc) about 30 "
	       "minutes, with --quick 6. Each run of a peer alternates "
	       "with one of skua, in a process of its own; one beside which "
	       "the machine was busy is repeated, up to 3 times.",
};

static void free_report(struct report *report)
{
	for (size_t i = 0; i < report->count; i++)
		measurement_free(&report->results[i]);
	free(report->results);
	json_decref(report->steals);
	if (report->comparison != NULL)
		compare_close(report->comparison);
}

static int measure_and_write(struct report *report,
			     const struct report_options *options)
{
	unsigned all = all_workers();
	int err = all != 0 ? measure_all(report, all) : -EIO;

	if (err == 0 && report->comparison != NULL)
		err = compare_all(report, all, options);
	if (err != 0)
		return err;
	report_print(stdout, report);
	if (options->out != NULL)
		err = report_write(options->out, report);
	if (err == 0 && options->out != NULL)
		err = report_write_page(options->out);
	return err;
}

/* Say what failed. Return: did anything? */
static bool say_failures(const struct report *report)
{
	unsigned peers =
		report->comparison != NULL ? report->comparison->failed : 0;

	if (report->failed > 0)
		fprintf(stderr, "%u of the workloads failed\n", report->failed);
	if (peers > 0)
		fprintf(stderr, "%u of the sides compared failed\n", peers);
	return report->failed > 0 || peers > 0;
}

/* Where the workload's options begin: at "--", or behind the last. */
static int own_arguments(int argc, char **argv)
{
	int n = 1;

	while (n < argc && strcmp(argv[n], "--") != 0)
		n++;
	return n;
}

/* The options of the one workload: argv[0] is "--". Return: an exit code. */
static int parse_case(struct report_options *options, int argc, char **argv)
{
	const struct workload *workload = options->only;
	char who[60];

	if (workload == NULL) {
		fputs(ARGS_PROGRAM " report: options behind -- need "
				   "--workload NAME before it\n",
		      stderr);
		return EXIT_USAGE;
	}
	options->case_options = malloc(workload->options_size);
	if (options->case_options == NULL) {
		fputs(ARGS_PROGRAM " report: no memory\n", stderr);
		return EXIT_FAILED;
	}
	memcpy(options->case_options, workload->defaults,
	       workload->options_size);
	snprintf(who, sizeof(who), "report --workload %s --", workload->name);
	return args_parse(workload->argp, who, argc, argv,
			  options->case_options) == 0
		       ? EXIT_OK
		       : EXIT_USAGE;
}

static int report_with(const struct report_options *options)
{
	struct comparison comparison = { 0 };
	struct report report = {
		.only = options->only,
		.case_options = options->case_options,
		.rounds = options->quick ? ROUNDS_QUICK : ROUNDS,
		.comparison = options->no_peers ? NULL : &comparison,
	};
	bool failed = measure_and_write(&report, options) != 0;

	failed |= say_failures(&report);
	free_report(&report);
	return failed ? EXIT_FAILED : EXIT_OK;
}

int verb_report(int argc, char **argv)
{
	struct report_options options = { 0 };
	int own = own_arguments(argc, argv), code = EXIT_OK;

	if (args_parse(&argp, "report", own, argv, &options) != 0)
		return EXIT_USAGE;
	if (own < argc)
		code = parse_case(&options, argc - own, argv + own);
	if (code == EXIT_OK)
		code = report_with(&options);
	free(options.case_options);
	return code;
}
