/* SPDX-License-Identifier: MIT */
/* top.c - skua top: show what the workers of a process do now */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bpf/cli/args.h"
#include "bpf/cli/grow.h"
#include "bpf/target/pick_process.h"
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

struct options {
	uint64_t pid;
	double interval; /* seconds */
	bool json, csv, once;
};

/* The watched process, and how to show it. */
struct watch {
	const struct options *options;
	struct target *target;
	struct top_runtime *runtimes;
	unsigned count;
	size_t room;
	struct top_style style;
	bool live; /* drawn on a terminal again and again */
};

/* ---- options --------------------------------------------------------------- */

static error_t check(void *input)
{
	const struct options *options = input;

	return options->csv && options->json
		       ? args_refuse("--csv with --json; allowed: one of them")
		       : 0;
}

static const struct args_verb verb = {
	.doc = "Show what the workers of a process do: how busy they are, "
	       "with which tasks, and how long those wait. The process is "
	       "not stopped. The key q ends it",
	.check = check,
	ARGS_OPTIONS(
		ARGS_FLAG_OF(struct options, "csv", csv,
			     "Print a line with the names of the columns, "
			     "then a line for each runtime and interval, "
			     "with the time of day"),
		ARGS_INTERVAL(struct options, 0.01, 3600,
			      "Length of an interval (default: 1)"),
		ARGS_JSON(struct options,
			  "Print an object for each runtime and interval"),
		ARGS_FLAG_OF(struct options, "once", once,
			     "Print one interval and exit; the default "
			     "without a terminal"),
		ARGS_PID(struct options,
			 "The process (default: the only one that uses skua; "
			 "if there are several, list them)")),
};

/* ---- intervals ------------------------------------------------------------- */

static struct top_runtime *find(struct watch *watch,
				const struct target_runtime *at)
{
	for (unsigned i = 0; i < watch->count; i++)
		if (watch->runtimes[i].address == at->address &&
		    watch->runtimes[i].started_ns == at->area.started_ns)
			return &watch->runtimes[i];
	return NULL;
}

static int take(struct target *target, const struct target_runtime *at,
		struct top_runtime *runtime)
{
	int code = target_take_snapshot(target, at, &runtime->after);

	if (code == 0)
		threads_read(target, at, runtime->threads);
	return code;
}

static int add(struct watch *watch, const struct target_runtime *at)
{
	unsigned workers = at->area.worker_count;
	struct top_runtime *more;

	if (!grow(&watch->runtimes, sizeof(*more), watch->count, &watch->room))
		return -ENOMEM;
	more = &watch->runtimes[watch->count];
	*more = (struct top_runtime){
		.address = at->address,
		.started_ns = at->area.started_ns,
		.worker_count = workers,
		.polls = calloc(workers, sizeof(*more->polls)),
		.threads = calloc(workers, sizeof(*more->threads)),
	};
	watch->count++;
	if (!more->polls || !more->threads)
		return -ENOMEM;
	return take(watch->target, at, more);
}

/* Make the list match the process's runtimes: drop those that are gone, add new
 * ones. */
static int match(struct watch *watch)
{
	unsigned kept = 0;
	int code = target_refresh(watch->target);

	for (unsigned i = 0; i < watch->count; i++) {
		struct top_runtime *runtime = &watch->runtimes[i];

		if (!code &&
		    target_find_runtime(watch->target, runtime->address,
					runtime->started_ns))
			watch->runtimes[kept++] = *runtime;
		else
			top_free(runtime);
	}
	watch->count = kept;
	for (unsigned i = 0; !code && i < target_runtimes(watch->target); i++) {
		const struct target_runtime *at =
			target_runtime(watch->target, i);

		if (!find(watch, at))
			code = add(watch, at);
	}
	return code;
}

/* Repeat match() until no runtime comes or goes during it. The first interval
 * of a new runtime begins now. */
static int match_again(struct watch *watch)
{
	int code;

	do
		code = match(watch);
	while (code == -EAGAIN && target_alive(watch->target));
	return code;
}

static int for_each(struct watch *watch,
		    int (*what)(struct target *, const struct target_runtime *,
				struct top_runtime *))
{
	for (unsigned i = 0; i < watch->count; i++) {
		struct top_runtime *runtime = &watch->runtimes[i];
		const struct target_runtime *at = target_find_runtime(
			watch->target, runtime->address, runtime->started_ns);
		int code = at ? what(watch->target, at, runtime) : 0;

		if (code)
			return code;
	}
	return 0;
}

static int look(struct watch *watch)
{
	int code = for_each(watch, top_look);

	return code == -EAGAIN ? match_again(watch) : code;
}

/* Scan the workers until the interval is over. Return: 0; TERMINAL_QUIT;
 * -errno. */
static int look_on(struct watch *watch, uint64_t until_ns)
{
	uint64_t begun = now_ns(), after = begun;

	while (after < until_ns) {
		enum terminal_event event;
		uint64_t pause;
		int code = look(watch);

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

static int end_one(struct target *target, const struct target_runtime *at,
		   struct top_runtime *runtime)
{
	int code = 0;

	/* A runtime that is new in this interval has only the snapshot of its
	 * start. */
	if (runtime->before.worker_count == 0)
		return 0;
	code = take(target, at, runtime);
	if (!code)
		top_end(runtime);
	return code;
}

/* Watch for one interval. Return: 0; TERMINAL_QUIT; -EAGAIN (runtimes came or
 * went at the end, so there is nothing to show); another -errno. */
static int watch_interval(struct watch *watch)
{
	uint64_t until = now_ns() + (uint64_t)(watch->options->interval * 1e9);
	int code;

	for (unsigned i = 0; i < watch->count; i++)
		top_begin(&watch->runtimes[i]);
	code = look_on(watch, until);
	return code ? code : for_each(watch, end_one);
}

/* ---- showing --------------------------------------------------------------- */

/* Whether the runtime has both snapshots of the interval. A new runtime is
 * shown from the next interval on. */
static bool is_whole(const struct top_runtime *runtime)
{
	return runtime->before.worker_count != 0 &&
	       runtime->before.at_ns < runtime->after.at_ns;
}

static bool print(void *of, FILE *file)
{
	const struct watch *watch = of;
	bool printed = true, first = true;

	if (watch->count == 0 && !watch->options->json && !watch->options->csv)
		fprintf(file, "process %d has no runtime now\n",
			target_pid(watch->target));
	for (unsigned i = 0; i < watch->count; i++) {
		const struct top_runtime *runtime = &watch->runtimes[i];
		const struct target_runtime *at = target_find_runtime(
			watch->target, runtime->address, runtime->started_ns);

		if (!at || !is_whole(runtime))
			continue;
		if (watch->options->json) {
			printed &= top_json(file, watch->target, at, runtime);
			continue;
		}
		if (watch->options->csv) {
			top_csv(file, watch->target, at, runtime);
			continue;
		}
		if (!first)
			fputc('\n', file);
		first = false;
		top_text(file, watch->target, at, runtime, &watch->style);
	}
	return printed;
}

/* Half of the remaining lines are for workers, half for task types. */
static unsigned rows_for_each(void)
{
	unsigned rows = terminal_rows();

	return rows > OTHER_ROWS + 4 ? (rows - OTHER_ROWS) / 2 : 2;
}

static bool draw(struct watch *watch)
{
	watch->style.rows = rows_for_each();
	watch->style.width = terminal_columns();
	return terminal_draw(print, watch);
}

static bool show(struct watch *watch)
{
	bool shown = watch->live ? draw(watch) : print(watch, stdout);

	fflush(stdout);
	return shown && !ferror(stdout);
}

/* ---- a process ------------------------------------------------------------- */

static int watch_on(struct watch *watch)
{
	int code = match_again(watch);

	while (code == 0) {
		code = watch_interval(watch);
		if (code == 0 && !show(watch))
			return -ENOMEM;
		if (code == 0 && watch->options->once)
			return 0;
		if (code == 0 || code == -EAGAIN)
			code = match_again(watch);
	}
	return code;
}

static void watch_end(struct watch *watch)
{
	for (unsigned i = 0; i < watch->count; i++)
		top_free(&watch->runtimes[i]);
	free(watch->runtimes);
	target_close(watch->target);
}

/* Print the reason for an error. Return: an exit code. */
static int conclude(const struct watch *watch, int code)
{
	if (ferror(stdout)) /* args_flush() prints the error */
		return EXIT_FAILED;
	if (code < 0) {
		fprintf(stderr, ARGS_PROGRAM " top: %s\n",
			code == -ENOMEM ? "no memory"
					: target_reason(watch->target));
		return EXIT_FAILED;
	}
	if (code == 0 && watch->options->once && watch->count == 0) {
		fprintf(stderr,
			ARGS_PROGRAM " top: process %d has skua in it, but no "
				     "runtime now\n",
			target_pid(watch->target));
		return EXIT_FAILED;
	}
	return EXIT_OK;
}

/* Watch the process until it ends or the user quits. Closes @target. */
static int watch_process(struct options *options, struct target *target)
{
	struct watch watch = {
		.options = options,
		.target = target,
		.style = { .line_art = terminal_is_utf8(), .rows = 1000 },
	};
	int code;

	if (!options->json && !options->csv && !options->once)
		watch.live = terminal_begin();
	watch.style.bold = watch.live;
	if (!watch.live && !options->json && !options->csv)
		options->once = true;
	if (options->csv)
		top_csv_titles(stdout);
	code = watch_on(&watch);
	terminal_end();
	code = conclude(&watch, code);
	watch_end(&watch);
	return code;
}

int verb_top(int argc, char **argv)
{
	struct options options = { .interval = 1 };
	struct target *target = NULL;
	int code;

	if (args_parse_verb(&verb, "top", argc, argv, &options) != 0)
		return EXIT_USAGE;
	code = pick_process_or_list(&target, "top", options.pid, options.json);
	if (!target)
		return code;
	code = watch_process(&options, target);
	/* Die of the signal that terminal code caught, as if it had not been
	 * caught. */
	if (terminal_signal())
		raise(terminal_signal());
	return code;
}
