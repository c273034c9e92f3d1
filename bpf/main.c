/* SPDX-License-Identifier: MIT */
/* main.c - the skua command: find the verb and run it */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "bpf/cli/args.h"
#include "bpf/verbs.h"
#include "skua/base.h"

struct verb {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *description;
};

static const struct verb verbs[] = {
	{ "doctor", verb_doctor,
	  "Show what works here with your privileges, and why the rest does "
	  "not" },
	{ "export", verb_export, "Convert a recording for other programs" },
	{ "flame", verb_flame,
	  "Draw where the CPU time of a process goes, by type of task" },
	{ "metrics", verb_metrics,
	  "Export the counters of processes to Prometheus" },
	{ "perf", verb_perf,
	  "Count processor and kernel events of workers, in total and per "
	  "task" },
	{ "pin", verb_pin, "Count what workers do, even while no tool runs" },
	{ "record", verb_record, "Record what the workers of a process do" },
	{ "stacks", verb_stacks, "Show the stacks of the fibers of a process" },
	{ "stats", verb_stats,
	  "Show the counters of the workers of a process" },
	{ "symbolize", verb_symbolize,
	  "Show the functions and lines of the stacks in a log" },
	{ "tasks", verb_tasks,
	  "Show the tasks that are not done, and what they wait for" },
	{ "top", verb_top, "Show what the workers of a process do, now" },
	{ "topo", verb_topo,
	  "Show the machine, where workers run, and their victims in order" },
	{ "trace", verb_trace,
	  "Count steals, sleeps and preemptions of workers by their probes" },
	{ "unpin", verb_unpin, "End the counting that pin began" },
	{ "waits", verb_waits,
	  "Show locks and channels, their waiters, and deadlocks" },
	{ "why", verb_why,
	  "Show where the time of the slowest tasks of a process went" },
};

enum { VERBS = sizeof(verbs) / sizeof(verbs[0]) };

static void print_help(FILE *file)
{
	fprintf(file, "Usage: " ARGS_PROGRAM " VERB [OPTION...]\nObserve the "
		      "scheduler in running "
		      "processes, and the machine.\n\n");
	for (unsigned i = 0; i < VERBS; i++)
		fprintf(file, "  %-10s%s\n", verbs[i].name,
			verbs[i].description);
	fprintf(file, "\nEach verb has --help; --version prints the "
		      "version.\nExit codes: 0 success, 1 failure, 2 wrong "
		      "usage.\n");
}

static void print_allowed(FILE *file)
{
	for (unsigned i = 0; i < VERBS; i++)
		fprintf(file, "%s%s", i ? ", " : "", verbs[i].name);
	fputc('\n', file);
}

int main(int argc, char **argv)
{
	if (argc >= 2 && args_is_help(argv[1])) {
		print_help(stdout);
		return args_flush(EXIT_OK);
	}
	if (argc >= 2 && strcmp(argv[1], "--version") == 0) {
		printf(ARGS_PROGRAM " %d.%d.%d\n", SKUA_VERSION_MAJOR,
		       SKUA_VERSION_MINOR, SKUA_VERSION_PATCH);
		return args_flush(EXIT_OK);
	}
	for (unsigned i = 0; argc >= 2 && i < VERBS; i++)
		if (strcmp(verbs[i].name, argv[1]) == 0)
			return args_flush(verbs[i].run(argc - 1, argv + 1));
	if (argc < 2)
		fprintf(stderr, ARGS_PROGRAM ": a verb is needed; allowed: ");
	else
		fprintf(stderr,
			ARGS_PROGRAM ": no verb '%s'; allowed: ", argv[1]);
	print_allowed(stderr);
	return EXIT_USAGE;
}
