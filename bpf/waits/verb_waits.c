/* SPDX-License-Identifier: MIT */
/* verb_waits.c - skua waits: show locks, channels and descriptors, their waiters, and
 * deadlocks */
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "bpf/cli/args.h"
#include "bpf/target/pick_process.h"
#include "bpf/target/target_budget.h"
#include "bpf/verbs.h"
#include "bpf/waits/waits_print.h"

/* How often the process is read until its lists do not change meanwhile. */
#define MAX_ATTEMPTS 20u
/* The time between the two readings that a deadlock must be in. */
#define PAUSE_NS 20000000

struct options {
	uint64_t pid;
	bool json, each;
};

static const struct args_verb verb = {
	.doc = "Show the locks, signals and channels of a process that fibers "
	       "wait for, or that have names: their holders or items, waiters "
	       "and the longest wait; descriptors that are waited for, with "
	       "their peers; what the fibers wait for; and deadlocks, with the "
	       "stacks of their fibers. The process is not stopped",
	ARGS_OPTIONS({ .name = "each",
		       .key = 'e',
		       .doc = "List each waiter",
		       .value = ARGS_FLAG,
		       .field = offsetof(struct options, each) },
		     ARGS_JSON(struct options, "Print one object"),
		     ARGS_PID(struct options, PICK_PROCESS_HELP)),
};

static int read_once(struct target *target, struct waits *waits)
{
	int code = waits_read(target, waits);

	for (unsigned i = 0; code == -EAGAIN && i < MAX_ATTEMPTS; i++) {
		waits_free(waits);
		code = target_refresh(target);
		if (!code)
			code = waits_read(target, waits);
	}
	return code;
}

static int show(struct target *target, const struct options *options)
{
	struct flame_names *names = flame_names_new(target);
	struct waits before = { .target = NULL }, waits = { .target = NULL };
	int code = names ? read_once(target, &waits) : -ENOMEM;

	/* The process runs while it is read: a cycle may be of several moments. */
	if (!code &&
	    waits_cycle(&waits, &(uint32_t){ 0 }, NULL) != WAITS_NOBODY) {
		before = waits;
		nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
		code = read_once(target, &waits);
	}
	if (code)
		fprintf(stderr, ARGS_PROGRAM " waits: %s\n",
			code == -ENOMEM ? "no memory" : target_reason(target));
	else if (options->json)
		waits_json(&waits, &before, names);
	else
		waits_text(&waits, &before, names, options->each);
	waits_free(&before);
	waits_free(&waits);
	flame_names_free(names);
	return code ? EXIT_FAILED : EXIT_OK;
}

int verb_waits(int argc, char **argv)
{
	struct options options = { .json = false };
	struct target *target;
	int code;

	if (args_parse_verb(&verb, "waits", argc, argv, &options) != 0)
		return EXIT_USAGE;
	code = pick_process(&target, "waits", options.pid);
	if (code == EXIT_OK)
		target_budget_raise(target_budget_of(target),
				    TARGET_WORK_FIBERS);
	if (code == EXIT_OK && target_runtimes(target) == 0) {
		pick_process_remark(target, "waits");
		code = EXIT_FAILED;
	}
	if (code == EXIT_OK)
		code = show(target, &options);
	target_close(target);
	return code;
}
