/* SPDX-License-Identifier: MIT */
/* report_output.c - print a report as Markdown and as JSON */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bpf/cli/args.h"
#include "bench/report/diff/report_diff.h"
#include "bench/report/compare_output.h"
#include "bench/report/machine.h"
#include "bench/harness/out_folder.h"
#include "bench/harness/output.h"
#include "bench/report/report.h"

/* ---- writing ------------------------------------------------------------- */

static json_t *report_json(const struct report *report)
{
	json_t *results = json_array(), *object;
	int noisy = 0;

	for (size_t i = 0; i < report->count; i++) {
		const struct measurement *m = &report->results[i];
		json_t *result = output_json(m);

		json_object_set_new(result, "noisy", json_boolean(m->noisy));
		json_array_append_new(results, result);
		noisy += m->noisy;
	}
	object = json_pack("{s:i, s:o, s:o, s:O, s:{s:I, s:i, s:i, s:i}}",
			   "format", REPORT_DIFF_FORMAT, "machine",
			   machine_json(), "results", results, "steals",
			   report->steals, "calibration", "best_ns",
			   (json_int_t)report->calibration.best_ns[0], "runs",
			   (int)report->count, "repeated", 0, "noisy", noisy);
	if (object == NULL || report->comparison == NULL ||
	    compare_add_json(object, report->comparison) == 0)
		return object;
	json_decref(object);
	return NULL;
}

static void write_json(FILE *file, const void *report)
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

/* Print why the column of instructions is empty. The reason is the same for
 * all rows. */
static void print_counters_reason(FILE *file, const struct report *report)
{
	if (report->count > 0 && report->results[0].counters_reason[0] != '\0')
		fprintf(file, "\n%s\n", report->results[0].counters_reason);
}

static void print_legend(FILE *file, const struct report *report)
{
	fprintf(file,
		"ns/op is the median over %u rounds, min and max are the "
		"shortest and the longest; /kop is per 1,000 operations. 0 "
		"workers: run in the calling thread, without tasks. ok: the "
		"result equals the published or separately computed one.\n\n",
		report->rounds);
}

static void print_noise(FILE *file, const struct report *report)
{
	size_t noisy = 0;

	for (size_t i = 0; i < report->count; i++)
		noisy += report->results[i].noisy;
	if (noisy > 0)
		fprintf(file,
			"\n%zu of %zu measurements were made while the machine was "
			"busy with other work: treat them with care\n",
			noisy, report->count);
}

static void print_table(FILE *file, const struct report *report)
{
	print_legend(file, report);
	output_table(file, report->results, report->count);
	output_forkjoin_table(file, report->results, report->count);
	print_counters_reason(file, report);
	print_noise(file, report);
}

void report_print(FILE *file, const struct report *report)
{
	if (report->comparison != NULL) {
		fputs("## Compared with other schedulers\n\n", file);
		compare_print(file, report->comparison);
		fputs("## All workloads\n\n", file);
	}
	print_table(file, report);
}

static void write_markdown(FILE *file, const void *report)
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
	report_print(file, report);
}

int report_write(const char *folder, const struct report *report)
{
	int err = out_folder_write(folder, "report.md", write_markdown, report);

	return err != 0 ? err
			: out_folder_write(folder, "report.json", write_json,
					   report);
}
