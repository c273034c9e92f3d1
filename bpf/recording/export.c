/* SPDX-License-Identifier: MIT */
/* export.c - skua export: convert a recording for other programs */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/cli/args.h"
#include "bpf/cli/outfile.h"
#include "bpf/recording/trace_sinks.h"
#include "bpf/verbs.h"

struct format {
	const char *name;
	int (*write)(struct trace *trace, FILE *file);
};

static const struct format formats[] = {
	{ "perfetto", trace_to_perfetto },
	{ "chrome", trace_to_chrome },
	{ "summary", trace_to_summary },
};

enum { FORMATS = sizeof(formats) / sizeof(formats[0]) };

struct options {
	const struct format *format;
	const char *out;
	const char *file;
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
	if (!options->file)
		return args_refuse("a FILE is needed; allowed: one that skua "
				   "record has written");
	return 0;
}

static const struct args_verb verb = {
	.doc = "Convert a FILE that skua record has written for other "
	       "programs, or into a table",
	ARGS_FILE(struct options, "FILE", file),
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
static void remark(const struct options *options, const struct trace *trace)
{
	const struct trace_about *about = trace_about(trace);

	if (about->cut)
		fprintf(stderr,
			"skua export: %s: the end is missing; the part before "
			"it is used\n",
			options->file);
	if (about->timeless && about->events > 0)
		fprintf(stderr,
			"skua export: %s: it has too few times to convert them: "
			"they are ticks of the processor's counter\n",
			options->file);
	if (about->left_out > 0)
		fprintf(stderr,
			"skua export: %s: %u streams are left out; allowed: "
			"%u\n",
			options->file, about->left_out, TRACE_SOURCES);
	if (about->lost > 0)
		fprintf(stderr,
			"skua export: %s: %" PRIu64 " of %" PRIu64
			" events were lost\n",
			options->file, about->lost,
			about->lost + about->events);
}

/* Write to --output and close it, or write to standard output. */
static int write_out(const struct options *options, struct trace *trace)
{
	const char *why;
	FILE *file = options->out ? outfile_fopen(options->out, &why) : stdout;
	int code;

	if (!file) {
		fprintf(stderr, "skua export: %s: %s\n", options->out, why);
		return EXIT_FAILED;
	}
	code = options->format->write(trace, file);
	if (code)
		fprintf(stderr, "skua export: %s: %s\n", options->file,
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

int verb_export(int argc, char **argv)
{
	struct options options = { 0 };
	struct skua_error err;
	struct trace *trace;
	int code;

	if (args_parse_verb(&verb, "export", argc, argv, &options))
		return EXIT_USAGE;
	if (trace_open(&trace, options.file, &err)) {
		fprintf(stderr, "skua export: %s: %s\n", options.file,
			err.text);
		return EXIT_FAILED;
	}
	code = write_out(&options, trace);
	if (code == EXIT_OK)
		remark(&options, trace);
	trace_close(trace);
	return code;
}
