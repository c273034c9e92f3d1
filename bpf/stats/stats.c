/* SPDX-License-Identifier: MIT */
/* stats.c - skua stats: show the counters of a process */
#include <errno.h>
#include <stdlib.h>

#include "bpf/cli/args.h"
#include "bpf/target/pick_process.h"
#include "bpf/stats/stats.h"
#include "bpf/target/target.h"
#include "bpf/verbs.h"

#define MAX_ATTEMPTS 20u

struct options {
	uint64_t pid;
	bool json;
};

static const struct args_verb verb = {
	.doc = "Show what the workers of a process have counted since they "
	       "began. The process is not stopped",
	ARGS_OPTIONS(
		ARGS_JSON(struct options, "Print an object for each runtime"),
		ARGS_PID(struct options, PICK_PROCESS_HELP)),
};

/* Take snapshots of all runtimes. Repeat if runtimes came or went meanwhile. */
static int take_all(struct target *target, struct target_snapshot **out)
{
	struct target_snapshot *list = NULL;
	int code = -EAGAIN;

	for (unsigned i = 0; code == -EAGAIN && i < MAX_ATTEMPTS; i++) {
		unsigned count;

		code = i > 0 ? target_refresh(target) : 0;
		count = target_runtimes(target);
		list = code ? NULL : calloc(count + 1, sizeof(*list));
		if (!list)
			return code ? code : -ENOMEM;
		for (unsigned k = 0; code == 0 && k < count; k++)
			code = target_take_snapshot(
				target, target_runtime(target, k), &list[k]);
		for (unsigned k = 0; code != 0 && k < count; k++)
			target_free_snapshot(&list[k]);
		if (code)
			free(list);
	}
	*out = code ? NULL : list;
	return code;
}

static bool print(struct target *target, const struct target_snapshot *list,
		  bool json)
{
	bool printed = true;

	for (unsigned i = 0; i < target_runtimes(target); i++) {
		const struct target_runtime *runtime =
			target_runtime(target, i);

		if (json)
			printed &=
				stats_json(stdout, target, runtime, &list[i]);
		else
			stats_text(stdout, target, runtime, &list[i]);
	}
	return printed;
}

static int show(struct target *target, bool json)
{
	struct target_snapshot *list = NULL;
	int code = take_all(target, &list);

	if (code) {
		fprintf(stderr, ARGS_PROGRAM " stats: %s\n",
			target_reason(target));
		return EXIT_FAILED;
	}
	if (target_runtimes(target) == 0) {
		pick_process_remark(target, "stats");
		code = EXIT_FAILED;
	} else if (!print(target, list, json)) {
		fprintf(stderr, ARGS_PROGRAM " stats: no memory\n");
		code = EXIT_FAILED;
	}
	for (unsigned i = 0; i < target_runtimes(target); i++)
		target_free_snapshot(&list[i]);
	free(list);
	return code;
}

int verb_stats(int argc, char **argv)
{
	struct options options = { .json = false };
	struct target *target;
	int code;

	if (args_parse_verb(&verb, "stats", argc, argv, &options) != 0)
		return EXIT_USAGE;
	code = pick_process(&target, "stats", options.pid);
	if (code == EXIT_OK)
		code = show(target, options.json);
	target_close(target);
	return code;
}
