/* SPDX-License-Identifier: MIT */
/* top.c - skua top: show what the workers of processes do now */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bpf/cli/args.h"
#include "bpf/target/pick_process.h"
#include "bpf/target/pick_several.h"
#include "bpf/cli/clock.h"
#include "bpf/cli/terminal.h"
#include "bpf/stats/top.h"
#include "bpf/verbs.h"

#define MS UINT64_C(1000000)

/* Time between two scans of all workers: 400 scans per second, or fewer where a
 * scan takes long, so that scanning takes at most 1/20 of a CPU. */
#define LOOK_NS     (5 * MS / 2)
#define LOOK_FACTOR 20u

/* The number of lines that show neither workers nor task types: the head and
 * the histograms. */
#define OTHER_ROWS 15u

/* The number of lines around the rows of a table of several processes. */
#define RANKS_ROWS 5u

struct options {
	struct pick pick;
	double interval; /* seconds */
	bool json, csv, once;
};

/* The watched processes, and how to show them. */
struct watch {
	const struct options *options;
	struct top_process *processes;
	size_t count;
	const struct target *failed; /* the last process that is gone */
	struct top_style style;
	bool live; /* drawn on a terminal again and again */
};

/* ---- options --------------------------------------------------------------- */

static error_t check(void *input)
{
	const struct options *options = input;

	if (options->csv && options->json)
		return args_refuse("--csv with --json; allowed: one of them");
	return pick_check(&options->pick);
}

static const struct args_verb verb = {
	.doc = "Show what the workers of a process do: how busy they are, "
	       "with which tasks, and how long those wait. Of several "
	       "processes, such as the ranks of an MPI job, show a row for "
	       "each. No process is stopped. The key q ends it",
	.check = check,
	ARGS_OPTIONS(ARGS_FLAG_OF(struct options, "csv", csv,
				  "Print a line with the names of the columns, "
				  "then a line for each runtime and interval, "
				  "with the time of day"),
		     ARGS_INTERVAL(struct options, 0.01, 3600,
				   "Length of an interval (default: 1)"),
		     ARGS_NUMBER_OF(struct options, "job", pick.job, 1,
				    ARGS_MAX_PID, "PID", PICK_JOB_HELP),
		     ARGS_JSON(struct options,
			       "Print an object for each runtime and interval"),
		     ARGS_FLAG_OF(struct options, "once", once,
				  "Print one interval and exit; the default "
				  "without a terminal"),
		     { .name = "pid",
		       .key = 'p',
		       .arg = "PID[,PID...]",
		       .doc = "The processes (default: the only one that uses "
			      "skua; if there are several, list them)",
		       .value = ARGS_OTHER,
		       .parse = pick_add,
		       .field = offsetof(struct options, pick) }),
};

/* ---- intervals ------------------------------------------------------------- */

/* Call @what for each process; a process for which it fails is gone. Return: 0 if it
 * succeeded for a process; -EAGAIN if it returned that for all that are left; otherwise the
 * last error. */
static int each(struct watch *watch, int (*what)(struct top_process *))
{
	unsigned fine = 0, again = 0;
	int failure = 0;

	for (size_t i = 0; i < watch->count; i++) {
		struct top_process *process = &watch->processes[i];
		int code = process->gone ? -ESRCH : what(process);

		if (code == -ENOMEM)
			return code;
		fine += code == 0;
		again += code == -EAGAIN;
		if (code == 0 || code == -EAGAIN || process->gone)
			continue;
		process->gone = true;
		watch->failed = process->target;
		failure = code;
	}
	return fine > 0 ? 0 : again > 0 ? -EAGAIN : failure;
}

/* Scan the workers until the interval is over. Return: 0; TERMINAL_QUIT;
 * -errno. */
static int look_on(struct watch *watch, uint64_t until_ns)
{
	uint64_t begun = now_ns(), after = begun;

	while (after < until_ns) {
		enum terminal_event event;
		uint64_t pause;
		int code = each(watch, top_process_look);

		if (code)
			return code;
		after = now_ns();
		pause = LOOK_FACTOR * (after - begun);
		pause = pause > LOOK_NS ? pause : LOOK_NS;
		if (after + pause > until_ns)
			pause = until_ns > after ? until_ns - after : 0;
		event = terminal_wait(pause);
		if (event == TERMINAL_QUIT)
			return TERMINAL_QUIT;
		begun = after = now_ns();
	}
	return 0;
}

/* Watch for one interval. Return: 0; TERMINAL_QUIT; -EAGAIN (runtimes came or
 * went at the end, so there is nothing to show); another -errno. */
static int watch_interval(struct watch *watch)
{
	uint64_t until = now_ns() + (uint64_t)(watch->options->interval * 1e9);
	int code;

	for (size_t i = 0; i < watch->count; i++)
		top_process_begin(&watch->processes[i]);
	code = look_on(watch, until);
	return code ? code : each(watch, top_process_end);
}

/* ---- showing --------------------------------------------------------------- */

static void print_text(const struct watch *watch,
		       const struct top_process *process, FILE *file)
{
	bool first = true;

	if (process->count == 0)
		fprintf(file, "process %d has no runtime now\n",
			target_pid(process->target));
	for (unsigned i = 0; i < process->count; i++) {
		const struct target_runtime *at = top_process_whole(process, i);

		if (!at)
			continue;
		if (!first)
			fputc('\n', file);
		first = false;
		top_text(file, process->target, at, &process->runtimes[i],
			 &watch->style);
	}
}

/* Print a line for each runtime. */
static bool print_lines(const struct watch *watch,
			const struct top_process *process, FILE *file)
{
	bool printed = true;

	for (unsigned i = 0; !process->gone && i < process->count; i++) {
		const struct top_runtime *runtime = &process->runtimes[i];
		const struct target_runtime *at = top_process_whole(process, i);

		if (at && watch->options->json)
			printed &= top_json(file, process->target, at, runtime);
		else if (at)
			top_csv(file, process->target, at, runtime);
	}
	return printed;
}

static bool print(void *of, FILE *file)
{
	const struct watch *watch = of;
	bool printed = true;

	if (watch->options->json || watch->options->csv) {
		for (size_t i = 0; i < watch->count; i++)
			printed &=
				print_lines(watch, &watch->processes[i], file);
		return printed;
	}
	if (watch->count == 1)
		print_text(watch, &watch->processes[0], file);
	else
		top_ranks(file, watch->processes, watch->count, &watch->style);
	return true;
}

/* With one process, half of the remaining lines are for workers, half for task types. */
static unsigned rows_for_each(const struct watch *watch)
{
	unsigned rows = terminal_rows();

	if (watch->count > 1)
		return rows > RANKS_ROWS + 2 ? rows - RANKS_ROWS : 2;
	return rows > OTHER_ROWS + 4 ? (rows - OTHER_ROWS) / 2 : 2;
}

static bool draw(struct watch *watch)
{
	watch->style.rows = rows_for_each(watch);
	watch->style.width = terminal_columns();
	return terminal_draw(print, watch);
}

static bool show(struct watch *watch)
{
	bool shown = watch->live ? draw(watch) : print(watch, stdout);

	fflush(stdout);
	return shown && !ferror(stdout);
}

/* ---- processes ------------------------------------------------------------- */

static int watch_on(struct watch *watch)
{
	int code = each(watch, top_process_match);

	while (code == 0) {
		code = watch_interval(watch);
		if (code == 0 && !show(watch))
			return -ENOMEM;
		if (code == 0 && watch->options->once)
			return 0;
		if (code == 0 || code == -EAGAIN)
			code = each(watch, top_process_match);
	}
	return code;
}

/* Say which processes one interval did not show. Return: their number. */
static size_t say_missing(const struct watch *watch)
{
	size_t missing = 0;

	for (size_t i = 0; i < watch->count; i++) {
		const struct top_process *process = &watch->processes[i];

		if (!process->gone && process->count > 0)
			continue;
		missing++;
		if (process->gone)
			fprintf(stderr, ARGS_PROGRAM " top: %s\n",
				target_reason(process->target));
		else
			fprintf(stderr,
				ARGS_PROGRAM " top: process %d has skua in it, "
					     "but no runtime now\n",
				target_pid(process->target));
	}
	return missing;
}

/* Print the reason for an error. A process that --pid names must be shown, but ranks of a job
 * may end. Return: an exit code. */
static int conclude(const struct watch *watch, int code)
{
	if (ferror(stdout)) /* args_flush() prints the error */
		return EXIT_FAILED;
	if (code < 0) {
		fprintf(stderr, ARGS_PROGRAM " top: %s\n",
			code == -ENOMEM ? "no memory"
					: target_reason(watch->failed));
		return EXIT_FAILED;
	}
	if (code == 0 && watch->options->once) {
		size_t missing = say_missing(watch);

		if (missing == watch->count ||
		    (missing > 0 && !watch->options->pick.job))
			return EXIT_FAILED;
	}
	return EXIT_OK;
}

/* Watch the processes until all have ended or the user quits. */
static int watch_processes(struct options *options, const struct picked *picked)
{
	struct watch watch = {
		.options = options,
		.processes = calloc(picked->count, sizeof(*watch.processes)),
		.style = { .line_art = terminal_is_utf8(), .rows = 1000 },
	};
	int code = -ENOMEM;

	for (; watch.processes && watch.count < picked->count; watch.count++)
		watch.processes[watch.count].target =
			picked->targets[watch.count];
	if (!options->json && !options->csv && !options->once)
		watch.live = terminal_begin();
	watch.style.bold = watch.live;
	if (!watch.live && !options->json && !options->csv)
		options->once = true;
	if (options->csv)
		top_csv_titles(stdout);
	if (watch.processes)
		code = watch_on(&watch);
	terminal_end();
	code = conclude(&watch, code);
	while (watch.count > 0)
		top_process_free(&watch.processes[--watch.count]);
	free(watch.processes);
	return code;
}

/* Open the processes. Return: an exit code: of the command, if @picked stays empty. */
static int open_processes(const struct options *options, struct picked *picked)
{
	struct target *target;
	int code;

	if (options->pick.count > 0 || options->pick.job)
		return pick_several(picked, "top", &options->pick);
	code = pick_process_or_list(&target, "top", 0, options->json);
	return target ? picked_add(picked, "top", target) : code;
}

int verb_top(int argc, char **argv)
{
	struct options options = { .interval = 1 };
	struct picked picked = { .count = 0 };
	int code = EXIT_USAGE;

	if (args_parse_verb(&verb, "top", argc, argv, &options) == 0)
		code = open_processes(&options, &picked);
	if (code == EXIT_OK && picked.count > 0)
		code = watch_processes(&options, &picked);
	picked_close(&picked);
	pick_free(&options.pick);
	/* Die of the signal that terminal code caught, as if it had not been
	 * caught. */
	if (terminal_signal())
		raise(terminal_signal());
	return code;
}
