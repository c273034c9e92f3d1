/* SPDX-License-Identifier: MIT */
/* verb_report.c - measure every workload, and print or write a report */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/cli/args.h"
#include "bench/harness/out_folder.h"
#include "bench/report/report.h"
#include "bench/verbs.h"
#include "bench/workloads/workloads.h"

#define ROUNDS       9
#define ROUNDS_QUICK 3

struct report_options {
	const char *out;             /* folder for the files; NULL: none */
	const struct workload *only; /* NULL: all */
	void *case_options; /* options of @only; NULL: the report's usual ones */
	const char *peers;  /* folder of the peers; NULL: the default one */
	bool no_peers;
	bool quick;
};

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
		return out_folder_parse(arg, &options->out);
	case OPTION_QUICK:
		options->quick = true;
		return 0;
	case OPTION_WORKLOAD:
		if (options->only != NULL)
			return args_refuse("--workload twice, first '%s'; "
					   "allowed: once",
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
	  .doc = "Measure this workload only; after --, its options" },
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
	       "Without peers it takes about three minutes, or 70 seconds with "
	       "--quick. With all five peers it takes about 30 minutes, or 6 "
	       "with --quick, mostly for uts and rpc. Each run of a peer alternates "
	       "with one of skua, in a process of its own; a run during "
	       "which the machine was busy is repeated, up to 3 times.",
};

static int measure_and_write(struct report *report,
			     const struct report_options *options)
{
	int err = report_measure(report, options->peers, options->quick);

	if (err != 0)
		return err;
	report_print(stdout, report);
	if (options->out != NULL)
		err = report_write(options->out, report);
	if (err == 0 && options->out != NULL)
		err = report_write_page(options->out);
	return err;
}

/* Print on stderr how much failed. Return: whether anything failed. */
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

/* Return the index in argv at which the workload's options begin: that of
 * "--", or argc. */
static int own_arguments(int argc, char **argv)
{
	int n = 1;

	while (n < argc && strcmp(argv[n], "--") != 0)
		n++;
	return n;
}

/* Parse the options of the workload that --workload names; argv[0] is "--".
 * Return: an exit code. */
static int parse_case(struct report_options *options, int argc, char **argv)
{
	const struct workload *workload = options->only;
	char who[60];

	if (workload == NULL) {
		fputs(ARGS_PROGRAM " report: options after -- need "
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
	return args_parse_verb(
		       &(struct args_verb){ .options = workload->options }, who,
		       argc, argv, options->case_options) == 0
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
	report_free(&report);
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
