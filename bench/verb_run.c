/* SPDX-License-Identifier: MIT */
/* verb_run.c - measure one workload */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/cli/args.h"
#include "bench/harness/output.h"
#include "bench/verbs.h"
#include "bench/workloads/workloads.h"

#define ROUNDS_DEFAULT 5

struct run_options {
	uint64_t workers;
	uint64_t rounds;
	bool json;
	const struct workload *workload;
	void *workload_options;
};

static error_t check(void *input)
{
	const struct run_options *options = input;
	const struct workload *workload = options->workload;

	return options->workers > 0 && workload->serial != NULL &&
			       workload->serial(options->workload_options)
		       ? args_refuse(
				 "--workers is not allowed: with these "
				 "options the workload runs without workers")
		       : 0;
}

static int print_result(const struct run_options *options,
			const struct measurement *m)
{
	json_t *object;

	if (!options->json) {
		output_text(stdout, m);
		return m->ok ? EXIT_OK : EXIT_FAILED;
	}
	object = output_json(m);
	if (object == NULL) {
		fputs(ARGS_PROGRAM " run: no memory for the result\n", stderr);
		return EXIT_FAILED;
	}
	json_dumpf(object, stdout, JSON_COMPACT | OUTPUT_JSON_FLAGS);
	putchar('\n');
	json_decref(object);
	return m->ok ? EXIT_OK : EXIT_FAILED;
}

/* Parse the options of this verb and of the workload, and measure it. */
static int run_workload(struct run_options *options, int argc, char **argv)
{
	const struct workload *workload = options->workload;
	const struct args_verb verb = {
		.doc = workload->description,
		.check = check,
		ARGS_OPTIONS(
			ARGS_NUMBER_OF(struct run_options, "workers", workers,
				       0, SKUA_MAX_WORKERS, "N",
				       "Worker threads (default 0: as many as "
				       "the library chooses)"),
			ARGS_NUMBER_OF(struct run_options, "rounds", rounds, 1,
				       MEASURE_MAX_ROUNDS, "N",
				       "Timed rounds, after one of warm-up "
				       "(default 5)"),
			ARGS_JSON(struct run_options,
				  "Print the result as a line of JSON")),
		.more = workload->options,
		.more_header = "The workload's options:",
		.more_options = options->workload_options,
	};
	struct measurement m;
	char who[40];
	int code;

	snprintf(who, sizeof(who), "run %s", workload->name);
	if (args_parse_verb(&verb, who, argc, argv, options) != 0)
		return EXIT_USAGE;
	if (measure(workload, options->workload_options,
		    (unsigned)options->workers, (unsigned)options->rounds, NULL,
		    &m) != 0)
		return EXIT_FAILED;
	code = print_result(options, &m);
	measurement_free(&m);
	return code;
}

/* Write the names of all workloads into @text, as "a, b, c". */
static const char *workload_names(char *text, size_t size)
{
	text[0] = '\0';
	for (unsigned i = 0; workloads[i] != NULL; i++) {
		size_t used = strlen(text);

		snprintf(text + used, size - used, "%s%s", i == 0 ? "" : ", ",
			 workloads[i]->name);
	}
	return text;
}

static int print_help(void)
{
	char names[400];

	printf("Usage: " ARGS_PROGRAM " run WORKLOAD [OPTION...]\n"
	       "Measure a workload: %s.\n"
	       "Its options: " ARGS_PROGRAM " run WORKLOAD --help\n",
	       workload_names(names, sizeof(names)));
	return EXIT_OK;
}

static int refuse_name(const char *name)
{
	char names[400];

	workload_names(names, sizeof(names));
	if (name == NULL || name[0] == '-')
		fprintf(stderr,
			ARGS_PROGRAM " run: a workload is needed before any "
				     "options; allowed: %s\n",
			names);
	else
		fprintf(stderr,
			ARGS_PROGRAM " run: no workload '%s'; allowed: %s\n",
			name, names);
	return EXIT_USAGE;
}

int verb_run(int argc, char **argv)
{
	struct run_options options = { .rounds = ROUNDS_DEFAULT };
	const char *name = argv[1]; /* NULL if there is none */
	int code;

	if (argc > 1 &&
	    (strcmp(name, "--help") == 0 || strcmp(name, "-?") == 0))
		return print_help();
	if (argc > 1)
		options.workload = workload_find(name);
	if (options.workload == NULL)
		return refuse_name(name);
	options.workload_options = malloc(options.workload->options_size);
	if (options.workload_options == NULL) {
		fputs(ARGS_PROGRAM " run: no memory\n", stderr);
		return EXIT_FAILED;
	}
	memcpy(options.workload_options, options.workload->defaults,
	       options.workload->options_size);
	code = run_workload(&options, argc - 1, argv + 1);
	free(options.workload_options);
	return code;
}
