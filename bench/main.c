/* SPDX-License-Identifier: MIT */
/* main.c - skua-bench: run the verb that the command line names */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "bpf/cli/args.h"
#include "bench/verbs.h"
#include "bench/workloads/workloads.h"

struct verb {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *usage;
	const char *description;
};

static const struct verb verbs[] = {
	{ "list", verb_list, "list", "List the workloads" },
	{ "run", verb_run, "run WORKLOAD [OPTION...]", "Measure a workload" },
	{ "report", verb_report, "report [OPTION...]",
	  "Measure all workloads, and compare with other schedulers" },
	{ "compare", verb_compare, "compare [OPTION...] A B",
	  "Print the changes between two reports" },
};

enum { VERBS = sizeof(verbs) / sizeof(verbs[0]) };

static void print_help(FILE *file)
{
	fprintf(file, "Usage: " ARGS_PROGRAM " VERB [OPTION...]\n"
		      "Measure the scheduler.\n\n");
	for (unsigned i = 0; i < VERBS; i++)
		fprintf(file, "  %-26s%s\n", verbs[i].usage,
			verbs[i].description);
	fprintf(file,
		"\nEach verb and each workload has a --help: " ARGS_PROGRAM
		" run uts --help\n"
		"Exit codes: 0 success, 1 failure or wrong result, "
		"2 usage.\n");
}

int verb_list(int argc, char **argv)
{
	static const struct argp argp = {
		.doc = "List the workloads, one on each line",
	};

	if (args_parse(&argp, "list", argc, argv, NULL) != 0)
		return EXIT_USAGE;
	for (unsigned i = 0; workloads[i] != NULL; i++)
		printf("%-24s %s\n", workloads[i]->name,
		       workloads[i]->description);
	return EXIT_OK;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr,
			ARGS_PROGRAM ": a verb is needed; "
				     "allowed: list, run, report, compare\n");
		return EXIT_USAGE;
	}
	if (args_is_help(argv[1])) {
		print_help(stdout);
		return args_flush(EXIT_OK);
	}
	for (unsigned i = 0; i < VERBS; i++)
		if (strcmp(verbs[i].name, argv[1]) == 0)
			return args_flush(verbs[i].run(argc - 1, argv + 1));
	fprintf(stderr,
		ARGS_PROGRAM ": no verb '%s'; "
			     "allowed: list, run, report, compare\n",
		argv[1]);
	return EXIT_USAGE;
}
