/* SPDX-License-Identifier: MIT */
/**
 * workload.h - the interface of a benchmark workload
 *
 * A workload is a table of functions and a struct of options. measure.c calls
 *
 *	setup, (prepare, round, check) for a warm-up and for each round, teardown
 *
 * all from one external thread; only round() is timed. A workload that measures more
 * than the time of a round has sample() and figures(). To add a workload, write a
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
 * @workers: of @rt; 0 without
 * @ops: operations in a round; set by setup()
 * @state: the workload's own; set by setup()
 */
struct workload_run {
	const void *options;
	struct skua_runtime *rt;
	unsigned workers;
	uint64_t ops;
	void *state;
};

/**
 * struct workload
 * @name, @description: for people
 * @options: its own, up to one without a name; they set the options struct
 * @options_size: of that struct
 * @defaults: an options struct
 * @report: array of options structs that the report measures
 * @report_count: how many
 * @params: options as a JSON object, or NULL if there is no memory
 * @serial: do these options mean a run without workers? NULL: never
 * @busy_caller: the calling thread needs a CPU, too: the default number of
 *               workers is one less than the library would choose
 * @latency: the time of an operation is one of figures()'s percentiles, and
 *           is compared with other schedulers as such
 * @setup: once; 0 or -errno, and then it has cleaned up
 * @prepare: before each round; may be NULL
 * @round: the timed part; 0 or -errno
 * @check: was the round's result right? Says on stderr what was wrong.
 * @sample: after the check of each round except the warm-up: keep the
 *          measurements of the round. Return: the time of an operation, in ns. NULL:
 *          that is the time of the round divided by the operations.
 * @figures: before the teardown: the results of the samples, as a JSON object
 *          whose members are added to the result, or NULL if there is no
 *          memory; may be NULL
 * @teardown: once, after a setup() that worked
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

/* The functions that each workload has, by the beginning of their names. */
#define WORKLOAD_CALLS(of)                                                 \
	.setup = of##_setup, .prepare = of##_prepare, .round = of##_round, \
	.check = of##_check, .teardown = of##_teardown

#endif
