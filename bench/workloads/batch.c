/* SPDX-License-Identifier: MIT */
/* batch.c - see batch.h */
#include "bench/workloads/batch.h"

#include "bpf/cli/args.h"

/* Keys unlike those of the workloads that have this parser below them. */
enum { OPTION_TASKS = 0x800, OPTION_REPEAT };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct batch_options *options = state->input;

	switch (key) {
	case OPTION_TASKS:
		return args_number("--tasks", arg, 1, 10000000,
				   &options->tasks);
	case OPTION_REPEAT:
		return args_number("--repeat", arg, 1, 10000000,
				   &options->repeat);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option argp_options[] = {
	{ .name = "tasks",
	  .key = OPTION_TASKS,
	  .arg = "N",
	  .doc = "Tasks in a batch" },
	{ .name = "repeat",
	  .key = OPTION_REPEAT,
	  .arg = "N",
	  .doc = "Batches in a round, one after the other" },
	{ 0 },
};

const struct argp batch_argp = { argp_options, parse, 0, 0, 0, 0, 0 };

json_t *batch_params(const void *arg)
{
	const struct batch_options *options = arg;

	return json_pack("{s:I, s:I}", "tasks", (json_int_t)options->tasks,
			 "repeat", (json_int_t)options->repeat);
}
