/* SPDX-License-Identifier: MIT */
/* report.c - measure every workload, and write it down */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/args.h"
#include "bench/machine.h"
#include "bench/output.h"
#include "bench/verbs.h"

#define ROUNDS       9
#define ROUNDS_QUICK 3

struct report_options {
	const char *out; /* folder, or NULL */
	bool quick;
};

struct report {
	unsigned rounds;
	struct measurement *results;
	size_t count;
	size_t planned;
	unsigned failed; /* not run, or wrong */
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
	char label[200];

	if (measure(workload, options, workers, report->rounds, m) != 0) {
		report->failed++;
		report->planned--;
		return;
	}
	report->count++;
	report->failed += !m->ok;
	fprintf(stderr, "[%zu/%zu] %s, %u worker%s: %.1f ns/op%s\n",
		report->count, report->planned,
		output_label(m, label, sizeof(label)), m->workers,
		m->workers == 1 ? "" : "s", m->median_ns,
		m->ok ? "" : ", WRONG RESULT");
}

/* Call @visit for each measurement that belongs in the report. */
static void for_each(struct report *report, unsigned all,
		     void (*visit)(struct report *, const struct workload *,
				   const void *options, unsigned workers))
{
	for (unsigned i = 0; workloads[i] != NULL; i++) {
		const struct workload *workload = workloads[i];
		const char *options = workload->report;

		for (unsigned n = 0; n < workload->report_count;
		     n++, options += workload->options_size) {
			unsigned most = all - workload->busy_caller;

			visit(report, workload, options, 1);
			if (most > 1 && !(workload->serial != NULL &&
					  workload->serial(options)))
				visit(report, workload, options, most);
		}
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

static int measure_all(struct report *report)
{
	unsigned all = all_workers();

	if (all == 0)
		return -EIO;
	for_each(report, all, plan_one);
	report->results = calloc(report->planned, sizeof(*report->results));
	if (report->results == NULL)
		return -ENOMEM;
	for_each(report, all, measure_one);
	return 0;
}

/* ---- writing ------------------------------------------------------------- */

static json_t *report_json(const struct report *report)
{
	json_t *results = json_array();

	for (size_t i = 0; i < report->count; i++)
		json_array_append_new(results,
				      output_json(&report->results[i]));
	return json_pack("{s:o, s:o}", "machine", machine_json(), "results",
			 results);
}

static void write_json(FILE *file, const struct report *report)
{
	json_t *object = report_json(report);

	if (object == NULL) {
		fputs(ARGS_PROGRAM " report: no memory for JSON\n", stderr);
		return;
	}
	json_dumpf(object, file, JSON_INDENT(1) | OUTPUT_JSON_FLAGS);
	fputc('\n', file);
	json_decref(object);
}

/* Why the column of instructions is empty; the same for all. */
static void print_counters_reason(FILE *file, const struct report *report)
{
	if (report->count > 0 && report->results[0].counters_reason[0] != '\0')
		fprintf(file, "\n%s\n", report->results[0].counters_reason);
}

static void print_table(FILE *file, const struct report *report)
{
	output_table(file, report->results, report->count);
	print_counters_reason(file, report);
}

static void print_legend(FILE *file, const struct report *report)
{
	fprintf(file,
		"ns/op is the median of %u rounds, min and max the shortest "
		"and the longest; /kop is per 1,000 operations. 0 workers: in "
		"the calling thread, without tasks. ok: the result was the "
		"published or separately computed one.\n\n",
		report->rounds);
}

static void write_markdown(FILE *file, const struct report *report)
{
	json_t *machine = machine_json();
	const char *key;
	json_t *value;

	fputs("# skua benchmark report\n\n", file);
	json_object_foreach(machine, key, value)
	{
		if (json_is_string(value))
			fprintf(file, "- %s: %s\n", key,
				json_string_value(value));
		else
			fprintf(file, "- %s: %" JSON_INTEGER_FORMAT "\n", key,
				json_integer_value(value));
	}
	json_decref(machine);
	fputc('\n', file);
	print_legend(file, report);
	print_table(file, report);
}

static int write_file(const char *folder, const char *name,
		      const struct report *report,
		      void (*write)(FILE *, const struct report *))
{
	char path[4096];
	FILE *file;
	bool failed;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "we");
	if (file == NULL) {
		fprintf(stderr, ARGS_PROGRAM " report: cannot write %s: %s\n",
			path, strerror(errno));
		return -EIO;
	}
	write(file, report);
	failed = ferror(file) != 0;
	failed |= fclose(file) != 0;
	if (failed) {
		fprintf(stderr, ARGS_PROGRAM " report: cannot write %s\n",
			path);
		return -EIO;
	}
	fprintf(stderr, "written: %s\n", path);
	return 0;
}

static int write_files(const char *folder, const struct report *report)
{
	int err = write_file(folder, "report.md", report, write_markdown);

	return err != 0 ? err
			: write_file(folder, "report.json", report, write_json);
}

/* ---- the verb ------------------------------------------------------------ */

enum { OPTION_OUT = 0x100, OPTION_QUICK };

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
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option argp_options[] = {
	{ .name = "out",
	  .key = OPTION_OUT,
	  .arg = "DIR",
	  .doc = "Write report.md and report.json there as well" },
	{ .name = "quick",
	  .key = OPTION_QUICK,
	  .doc = "3 rounds each instead of 9" },
	{ 0 },
};

static const struct argp argp = {
	.options = argp_options,
	.parser = parse,
	.doc = "Measure every workload, on one worker and on all",
};

int verb_report(int argc, char **argv)
{
	struct report_options options = { NULL, false };
	struct report report = { 0 };
	int err;

	if (args_parse(&argp, "report", argc, argv, &options) != 0)
		return EXIT_USAGE;
	report.rounds = options.quick ? ROUNDS_QUICK : ROUNDS;
	err = measure_all(&report);
	if (err == 0) {
		print_legend(stdout, &report);
		print_table(stdout, &report);
		if (options.out != NULL)
			err = write_files(options.out, &report);
	}
	for (size_t i = 0; i < report.count; i++)
		measurement_free(&report.results[i]);
	free(report.results);
	if (report.failed > 0)
		fprintf(stderr, "%u of the workloads failed\n", report.failed);
	return err == 0 && report.failed == 0 ? EXIT_OK : EXIT_FAILED;
}
