/* SPDX-License-Identifier: MIT */
/* metrics.c - skua metrics: export counters of processes to Prometheus */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/cli/args.h"
#include "bpf/metrics/metrics.h"
#include "bpf/metrics/metrics_rights.h"
#include "bpf/verbs.h"

struct options {
	uint64_t pid;
	const char *listen, *textfile, *format;
	uint64_t interval;
	bool all, expose, once;
};

static error_t check(void *input)
{
	const struct options *options = input;

	if (options->all && options->pid != 0)
		return args_refuse("--all with --pid; allowed: one of them");
	if (!options->all && options->pid == 0)
		return args_refuse("no process; allowed: --pid PID, or --all");
	if (options->listen && (options->textfile || options->once))
		return args_refuse(
			"--listen with --once or --textfile; allowed: one of "
			"them");
	if (options->interval && (!options->textfile || options->once))
		return args_refuse("--interval is only for --textfile "
				   "without --once");
	if (options->format && !options->textfile && !options->once)
		return args_refuse(
			"--format without --once or --textfile: over HTTP, "
			"the client chooses the format");
	return 0;
}

static error_t parse_format(void *input, char *name)
{
	struct options *options = input;

	if (strcmp(name, "openmetrics") != 0 && strcmp(name, "prometheus") != 0)
		return args_refuse("--format: no '%s'; allowed: openmetrics "
				   "prometheus",
				   name);
	options->format = name;
	return 0;
}

static const struct args_verb verb = {
	.doc = "Export the counters of processes to Prometheus as "
	       "OpenMetrics: over HTTP, by default to this machine only, or "
	       "in a file. The processes are not stopped",
	.check = check,
	ARGS_OPTIONS(
		ARGS_FLAG_OF(struct options, "all", all,
			     "Export all processes that run skua and can be "
			     "read"),
		ARGS_FLAG_OF(struct options, "expose", expose,
			     "Allow a --listen address that other machines "
			     "can reach"),
		ARGS_PARSED("format", parse_format, "NAME",
			    "openmetrics (default of --once), or prometheus, "
			    "the text format 0.0.4 that the node exporter "
			    "reads (default of --textfile)"),
		ARGS_NUMBER_OF(struct options, "interval", interval, 1, 86400,
			       "SECONDS",
			       "Time between writes of the file "
			       "(default: 15)"),
		ARGS_TEXT_OF(struct options, "listen", listen, "ADDRESS:PORT",
			     "Answer GET /metrics at this address (default: "
			     "127.0.0.1:9464); port 0: any free port"),
		ARGS_FLAG_OF(struct options, "once", once,
			     "Write once, to standard output or the "
			     "--textfile, and exit"),
		ARGS_PID(struct options, "Export this process"),
		ARGS_TEXT_OF(struct options, "textfile", textfile, "FILE",
			     "Write a file for the node exporter; each "
			     "update replaces it at once, and it is removed "
			     "at the end")),
};

/* ---- files ----------------------------------------------------------------- */

static int complain(const char *what, int err)
{
	fprintf(stderr, ARGS_PROGRAM " metrics: %s: %s\n", what,
		strerror(-err));
	return err;
}

/* Write to a temporary file in the same folder, then rename it to @path. */
static int replace(const char *path, const char *text, size_t size)
{
	char beside[4096];
	FILE *file;
	int err = 0;

	if ((size_t)snprintf(beside, sizeof(beside), "%s.%d.tmp", path,
			     getpid()) >= sizeof(beside))
		return complain(path, -ENAMETOOLONG);
	file = fopen(beside, "wxe");
	if (file == NULL)
		return complain(beside, -errno);
	if (fwrite(text, 1, size, file) != size)
		err = -errno;
	if (fclose(file) != 0 && err == 0)
		err = -errno;
	if (err == 0 && rename(beside, path) != 0)
		err = -errno;
	if (err == 0)
		return 0;
	unlink(beside);
	return complain(path, err);
}

static int write_once(const struct metrics_source *source,
		      const struct options *options)
{
	bool open = options->format ? options->format[0] == 'o'
				    : !options->textfile;
	size_t size;
	char *text;
	int err = metrics_collect(
		source, open ? METRICS_OPENMETRICS : METRICS_PROMETHEUS, &text,
		&size);

	if (err != 0 && source->target)
		fprintf(stderr, ARGS_PROGRAM " metrics: %s\n",
			target_reason(source->target));
	else if (err != 0)
		complain("cannot read the processes", err);
	else if (options->textfile)
		err = replace(options->textfile, text, size);
	else
		fwrite(text, 1, size, stdout);
	free(text);
	return err;
}

/* Write the file every interval. At the end it is removed, as its figures are
 * no longer true. */
static int write_often(const struct metrics_source *source,
		       const struct options *options)
{
	double interval = options->interval ? (double)options->interval : 15;
	double next = exits_now();
	int err;

	do {
		err = write_once(source, options);
		next += interval;
	} while (err == 0 && !exits_wait(source->exits, next));
	unlink(options->textfile);
	return err;
}

/* ---- the verb -------------------------------------------------------------- */

static int run(const struct metrics_source *source,
	       const struct options *options)
{
	int err;

	if (options->once)
		return write_once(source, options);
	if (options->textfile)
		err = write_often(source, options);
	else
		err = metrics_serve(source,
				    options->listen ? options->listen
						    : "127.0.0.1:9464",
				    options->expose);
	if (err != 0 || !source->exits->gone)
		return err;
	fprintf(stderr, ARGS_PROGRAM " metrics: process %ju has ended\n",
		(uintmax_t)options->pid);
	return -ESRCH;
}

int verb_metrics(int argc, char **argv)
{
	struct options options = { .pid = 0 };
	struct exits exits;
	struct metrics_source source = { .exits = &exits };
	bool serves;
	int err;

	if (args_parse_verb(&verb, "metrics", argc, argv, &options) != 0)
		return EXIT_USAGE;
	serves = !options.once && !options.textfile;
	source.stamped = options.textfile != NULL;
	err = exits_open(&exits, (pid_t)options.pid);
	if (err != 0)
		complain("cannot wait for signals", err);
	if (err == 0 && options.pid) {
		err = target_open(&source.target, (pid_t)options.pid);
		if (err != 0)
			fprintf(stderr, ARGS_PROGRAM " metrics: %s\n",
				target_reason(source.target));
	}
	/* metrics_serve() drops the privileges itself, once it listens. */
	if (err == 0 && !serves) {
		err = metrics_drop_rights(options.textfile != NULL);
		if (err != 0)
			complain("cannot drop privileges", err);
	}
	if (err == 0)
		err = run(&source, &options);
	target_close(source.target);
	exits_close(&exits);
	return err == -EINVAL || err == -EPERM ? EXIT_USAGE
	       : err != 0                      ? EXIT_FAILED
					       : EXIT_OK;
}
