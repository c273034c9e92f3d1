/* SPDX-License-Identifier: MIT */
/**
 * workload.h - the interface of a benchmark workload
 *
 * A workload is a table of functions and a struct of options. measure.c calls
 *
 *	setup, (prepare, round, check) for a warm-up and for each round, teardown
 *
 * all from one external thread. Only round() is timed. A workload that measures more
 * than the time of a round also has sample() and figures(). To add a workload, write a
 * file like parallel_map.c and name it in workloads.c.
 */
#ifndef SKUA_BENCH_HARNESS_WORKLOAD_H
#define SKUA_BENCH_HARNESS_WORKLOAD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skua/skua.h"

/**
 * struct workload_run - one workload being measured
 * @options: the workload's options, borrowed, constant
 * @rt: live runtime, borrowed; NULL if the workload runs without workers
 * @workers: number of workers of @rt; 0 if @rt is NULL
 * @ops: operations in a round; set by setup()
 * @state: private data of the workload: see struct workload
 */
struct workload_run {
	const void *options;
	struct skua_runtime *rt;
	unsigned workers;
	uint64_t ops;
	void *state;
};

/**
 * struct workload - the functions and options of a workload
 * @name: name on the command line and in reports
 * @description: one line for `list` and --help
 * @options: the workload's own command-line options, ended by one without a name; they
 *           set the options struct
 * @options_size: size of the options struct, in bytes
 * @defaults: an options struct with the default values
 * @report: array of the options structs that the report measures
 * @report_count: number of elements of @report
 * @params: returns the options as a JSON object; NULL if there is no memory
 * @serial: returns whether these options ask for a run without workers; NULL: never
 * @busy_caller: the calling thread needs a CPU of its own: the default number of
 *               workers is one less than the library would choose
 * @latency: the time of an operation is one of the percentiles that figures() returns,
 *           and is compared with other schedulers as a latency
 * @state_bytes: size of the private data. It is zeroed, and aligned to 128 bytes, before
 *               setup(), and freed after teardown(). 0: setup() sets @state, and leaves
 *               it NULL if it fails
 * @setup: called once, first. Returns 0 or -errno
 * @prepare: called before each round, not timed; may be NULL
 * @round: the timed part. Returns 0 or -errno
 * @check: returns whether the round's result was right, and prints on stderr what was
 *         wrong
 * @sample: called after the check of each timed round, to keep its measurements.
 *          Returns the time of an operation, in ns. NULL: that time is the round's time
 *          divided by the number of operations
 * @figures: called before the teardown. Returns a JSON object whose members are added
 *           to the result; NULL if there is no memory. The pointer may be NULL
 * @teardown: called once, last, unless the state is NULL; so it also cleans up after a
 *            setup() that failed
 */
struct workload {
	const char *name;
	const char *description;

	const struct args_option *options;
	size_t options_size;
	const void *defaults;
	const void *report;
	unsigned report_count;
	json_t *(*params)(const void *options);
	bool (*serial)(const void *options);
	bool busy_caller;
	bool latency;

	size_t state_bytes;
	int (*setup)(struct workload_run *run);
	void (*prepare)(struct workload_run *run);
	int (*round)(struct workload_run *run);
	bool (*check)(struct workload_run *run);
	double (*sample)(struct workload_run *run, uint64_t round_ns);
	json_t *(*figures)(struct workload_run *run);
	void (*teardown)(struct workload_run *run);
};

/* WORKLOAD - define workload_NAME; the other members follow the description */
#define WORKLOAD(name_, description_, ...)         \
	const struct workload workload_##name_ = { \
		.name = #name_,                    \
		.description = (description_),     \
		__VA_ARGS__,                       \
	}

/* WORKLOAD_CALLS - set the functions that each workload has, and the type of its
 * private data; @of is the prefix of the names of the functions */
#define WORKLOAD_CALLS(of, state)                                          \
	.state_bytes = sizeof(state), .setup = of##_setup,                 \
	.prepare = of##_prepare, .round = of##_round, .check = of##_check, \
	.teardown = of##_teardown

#endif
