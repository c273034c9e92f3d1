/* SPDX-License-Identifier: MIT */
/* export.c - skua export: convert a recording for other programs */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bpf/cli/args.h"
#include "bpf/cli/outfile.h"
#include "bpf/cli/saturated.h"
#include "bpf/recording/trace_sinks.h"
#include "bpf/verbs.h"

/* @timeline: needs a common time */
struct format {
	const char *name;
	bool timeline;
	int (*write)(struct trace_set *set, FILE *file);
};

static const struct format formats[] = {
	{ "perfetto", true, trace_to_perfetto },
	{ "chrome", true, trace_to_chrome },
	{ "summary", false, trace_to_summary },
};

enum { FORMATS = sizeof(formats) / sizeof(formats[0]) };

struct options {
	const struct format *format;
	const char *out;
	struct args_files files;
};

static error_t parse_format(void *input, char *name)
{
	struct options *options = input;

	for (unsigned i = 0; i < FORMATS; i++) {
		if (strcmp(name, formats[i].name) == 0) {
			options->format = &formats[i];
			return 0;
		}
	}
	return args_refuse("--format: no '%s'; allowed: perfetto chrome "
			   "summary",
			   name);
}

static error_t check(void *input)
{
	const struct options *options = input;

	if (!options->format)
		return args_refuse("--format is needed; allowed: perfetto "
				   "chrome summary");
	if (options->files.count == 0)
		return args_refuse("a FILE is needed; allowed: one that skua "
				   "record has written");
	return 0;
}

static const struct args_verb verb = {
	.doc = "Convert a FILE that skua record has written for other "
	       "programs, or into a table. Several, such as those of the "
	       "ranks of an MPI job, become one timeline",
	.file_doc = "FILE...",
	.add_file = args_add_path,
	.file = offsetof(struct options, files),
	.check = check,
	ARGS_OPTIONS(
		{ .name = "format",
		  .key = 'f',
		  .arg = "FORMAT",
		  .doc = "perfetto (protocol buffers, for ui.perfetto.dev), "
			 "chrome (JSON, for chrome://tracing and others) or "
			 "summary (a table of types of tasks)",
		  .value = ARGS_OTHER,
		  .parse = parse_format },
		ARGS_OUTPUT(struct options,
			    "Write to FILE (default: standard output)")),
};

/* Warnings for the reader of the result. */
static void remark(const struct trace_part *part)
{
	const struct trace_about *about = trace_about(part->trace);

	if (about->cut)
		fprintf(stderr,
			"skua export: %s: the end is missing; the part before "
			"it is used\n",
			part->path);
	if (about->timeless && about->events > 0)
		fprintf(stderr,
			"skua export: %s: it has too few times to convert them: "
			"they are ticks of the processor's counter\n",
			part->path);
	if (about->left_out > 0)
		fprintf(stderr,
			"skua export: %s: %u streams are left out; allowed: "
			"%u\n",
			part->path, about->left_out, TRACE_SOURCES);
	if (about->lost > 0)
		fprintf(stderr,
			"skua export: %s: %" PRIu64 " of %" PRIu64
			" events were lost\n",
			part->path, about->lost,
			add_saturated(about->lost, about->events));
	if (part->moved)
		fprintf(stderr,
			"skua export: %s: it is not known to be of the same "
			"machine and boot as the first file: its times are "
			"placed by the wall clocks of both, and their error is "
			"the difference of these clocks\n",
			part->path);
}

/* Whether --output would overwrite one of the files. */
static bool is_input(const struct options *options)
{
	struct stat out, file;

	if (stat(options->out, &out) != 0)
		return false;
	for (size_t i = 0; i < options->files.count; i++)
		if (stat(options->files.paths[i], &file) == 0 &&
		    file.st_dev == out.st_dev && file.st_ino == out.st_ino)
			return true;
	return false;
}

/* Write to --output and close it, or write to standard output. */
static int write_out(const struct options *options, struct trace_set *set)
{
	const char *why = "it is one of the recordings; allowed: another file";
	FILE *file = stdout;
	int code;

	if (options->out)
		file = is_input(options) ? NULL
					 : outfile_fopen(options->out, &why);
	if (!file) {
		fprintf(stderr, "skua export: %s: %s\n", options->out, why);
		return EXIT_FAILED;
	}
	code = options->format->write(set, file);
	if (code)
		fprintf(stderr, "skua export: %s: %s\n", set->bad,
			strerror(-code));
	if (options->out) {
		bool bad = ferror(file);

		if (fclose(file) != 0 || bad) {
			fprintf(stderr, "skua export: %s: %s\n", options->out,
				strerror(errno));
			return EXIT_FAILED;
		}
	}
	return code ? EXIT_FAILED : EXIT_OK;
}

static int convert(const struct options *options)
{
	struct trace_set set;
	struct skua_error err;
	int code = trace_set_open(&set, options->files.paths,
				  options->files.count, &err);

	if (code == 0 && options->format->timeline)
		code = trace_set_align(&set, &err);
	if (code) {
		fprintf(stderr, "skua export: %s%s%s\n", set.bad ? set.bad : "",
			set.bad ? ": " : "", err.text);
		code = EXIT_FAILED;
	} else {
		code = write_out(options, &set);
		for (size_t i = 0; code == EXIT_OK && i < set.count; i++)
			remark(&set.parts[i]);
	}
	trace_set_close(&set);
	return code;
}

int verb_export(int argc, char **argv)
{
	struct options options = { .files.paths = calloc((size_t)argc,
							 sizeof(char *)) };
	int code = EXIT_USAGE;

	if (!options.files.paths) {
		fprintf(stderr, "skua export: %s\n", strerror(ENOMEM));
		return EXIT_FAILED;
	}
	if (args_parse_verb(&verb, "export", argc, argv, &options) == 0)
		code = convert(&options);
	free(options.files.paths);
	return code;
}
