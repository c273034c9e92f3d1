/* SPDX-License-Identifier: MIT */
/* verb_compare.c - print the changes between two reports */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/cli/args.h"
#include "bench/report/diff/report_diff_output.h"
#include "bench/harness/output.h"
#include "bench/verbs.h"

/* Two runs of the same program, minutes apart, differ by less than this on a
 * shared machine (bench/README.md). */
#define MIN_PERCENT_DEFAULT 5

struct compare_options {
	const char *path[2];
	unsigned paths;
	uint64_t least_percent;
	bool json;
	bool all;
	bool fail_on_slower;
};

/* ---- files ----------------------------------------------------------------- */

static int complain(const char *path, const char *why)
{
	fprintf(stderr, ARGS_PROGRAM " compare: %s: %s\n", path, why);
	return -EINVAL;
}

/* Read a whole file, which may be a pipe. The caller frees the result; NULL
 * with errno set on failure. */
static char *read_all(FILE *file, size_t *length)
{
	char *text = NULL;
	size_t room = 0, got = 1;

	for (*length = 0; got > 0; *length += got) {
		if (*length == room) {
			char *grown = reallocarray(text, room + 4096, 2);

			if (grown == NULL)
				break;
			text = grown;
			room = (room + 4096) * 2;
		}
		got = fread(text + *length, 1, room - *length, file);
	}
	if (got == 0 && !ferror(file))
		return text;
	free(text);
	return NULL;
}

static int read_file(const char *path, json_t **out)
{
	char *text = NULL, why[200];
	size_t length;
	FILE *file;
	int err = 0;

	errno = 0;
	file = fopen(path, "re");
	if (file != NULL)
		text = read_all(file, &length);
	if (text == NULL)
		err = complain(path, strerror(errno != 0 ? errno : EIO));
	else if (report_diff_read(text, length, out, why, sizeof(why)) != 0)
		err = complain(path, why);
	free(text);
	if (file != NULL)
		fclose(file);
	return err;
}

/* ---- the verb -------------------------------------------------------------- */

static error_t add_path(void *input, char *text)
{
	struct compare_options *options = input;

	if (options->paths == 2)
		return args_refuse("a third file, '%s'; allowed: two", text);
	options->path[options->paths++] = text;
	return 0;
}

static error_t check(void *input)
{
	const struct compare_options *options = input;

	return options->paths < 2
		       ? args_refuse("two files are needed; allowed: "
				     "report.json, or lines of " ARGS_PROGRAM
				     " run --json")
		       : 0;
}

static const struct args_verb verb = {
	.doc = "Print the workloads that are slower or faster in B than in A, "
	       "beyond noise: each file is a report.json or the output of run --json, "
	       "or several of either, concatenated\v"
	       "It compares the time of an operation; the median of latencies "
	       "and slowdowns, their p99 (if a round has 100 times or more) and "
	       "p999 (1000 or more); and instructions, if both files have them.\n"
	       "A figure has changed if four conditions hold: its medians differ "
	       "by --least; its rounds differ by more than chance explains (Mann "
	       "and Whitney's test, with Holm's correction for all figures: the "
	       "probability that any reported change is wrong is at most 5 %, if "
	       "rounds are independent); the medians of its runs also differ by "
	       "more than chance explains or, with too few runs to tell, do not "
	       "overlap; and each file has runs on a quiet machine. Three rounds "
	       "in both files are too few to tell anything; many figures need "
	       "more rounds.\n"
	       "Exit codes: 0 compared, whatever changed; 1 failure, also if the "
	       "files share no workload, and, with --fail-on-slower, if anything "
	       "is slower or wrong or nothing can be judged; 2 usage.",
	.file_doc = "A B",
	.add_file = add_path,
	.check = check,
	ARGS_OPTIONS(
		ARGS_FLAG_OF(struct compare_options, "all", all,
			     "Also show the rows that did not change"),
		ARGS_FLAG_OF(
			struct compare_options, "fail-on-slower",
			fail_on_slower,
			"Exit with 1 if anything is slower beyond noise, or "
			"wrong, or if nothing can be judged; print on stderr "
			"what cannot be judged"),
		ARGS_JSON(struct compare_options, "Print all rows as JSON"),
		ARGS_NUMBER_OF(struct compare_options, "least", least_percent,
			       0, 1000, "PERCENT",
			       "Smallest difference that is a change (default "
			       "5); twice that if a file has a single run of "
			       "the workload")),
};

static int print_json(const struct report_diff *diff, json_t *lines,
		      const struct compare_options *options)
{
	json_t *object = report_diff_json(diff, lines);
	json_t *files = json_pack("[s, s]", options->path[0], options->path[1]);

	if (object == NULL || files == NULL) {
		json_decref(object);
		json_decref(files);
		return complain(
			options->path[1],
			"a name is not valid UTF-8, or there is no memory");
	}
	json_object_set_new(object, "files", files);
	json_object_set_new(object, "least_percent",
			    json_integer((json_int_t)options->least_percent));
	json_dumpf(object, stdout, JSON_INDENT(1) | OUTPUT_JSON_FLAGS);
	putchar('\n');
	json_decref(object);
	return 0;
}

/* Print on stderr how many figures and workloads could not be judged. */
static void warn(const struct report_diff *diff)
{
	size_t judged = report_diff_judged(diff);
	size_t few = diff->counts[CHANGE_FEW];
	size_t noisy = diff->counts[CHANGE_NOISY];
	size_t only = json_array_size(diff->only[0]);

	if (few + noisy > 0)
		fprintf(stderr,
			ARGS_PROGRAM " compare: %s%zu of %zu figures cannot be "
				     "judged: %zu have too few values, %zu are "
				     "beside noise\n",
			judged == 0 ? "failed: " : "", few + noisy, diff->count,
			few, noisy);
	if (only > 0)
		fprintf(stderr,
			ARGS_PROGRAM " compare: %zu workload%s of A cannot be "
				     "judged: not in B\n",
			only, only == 1 ? "" : "s");
}

static bool is_worse(const struct report_diff *diff)
{
	return diff->counts[CHANGE_SLOWER] > 0 ||
	       diff->counts[CHANGE_WRONG] > 0 || report_diff_judged(diff) == 0;
}

static int print(const struct report_diff *diff, json_t *const files[2],
		 const struct compare_options *options)
{
	json_t *lines = report_diff_remarks(diff, files);
	int err = 0;

	if (options->json)
		err = print_json(diff, lines, options);
	else
		report_diff_print(diff, lines, options->all);
	json_decref(lines);
	return err;
}

static int compare_files(const struct compare_options *options,
			 json_t *const files[2])
{
	struct report_diff diff;
	int err = 0;

	if (report_diff_find(&diff, files,
			     (double)options->least_percent / 100) != 0) {
		complain(options->path[1], strerror(ENOMEM));
		return EXIT_FAILED;
	}
	if (diff.rows == 0)
		err = complain(options->path[1],
			       "it shares no workload with the other file");
	else
		err = print(&diff, files, options);
	if (err == 0 && options->fail_on_slower) {
		warn(&diff);
		err = is_worse(&diff) ? -EINVAL : 0;
	}
	report_diff_free(&diff);
	return err != 0 ? EXIT_FAILED : EXIT_OK;
}

int verb_compare(int argc, char **argv)
{
	struct compare_options options = { .least_percent =
						   MIN_PERCENT_DEFAULT };
	json_t *files[2] = { NULL, NULL };
	int code = EXIT_FAILED;

	if (args_parse_verb(&verb, "compare", argc, argv, &options) != 0)
		return EXIT_USAGE;
	if (read_file(options.path[0], &files[0]) == 0 &&
	    read_file(options.path[1], &files[1]) == 0)
		code = compare_files(&options, files);
	json_decref(files[0]);
	json_decref(files[1]);
	return code;
}
